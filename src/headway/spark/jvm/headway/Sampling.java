package headway;

import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * How much of a stream is taken, as figures in its plan: a mark there, for which `SamplingRule` puts in, batch by batch, what
 * the batch's control offset says. So a batch that is run again after a crash takes the same rows.
 *
 * <p>An offset that says nothing of it, or a batch without an offset, wants all there is.
 */
public final class Sampling implements Serializable {
    private static final double MILLION = 1e6;
    private static final double UNIT = 0x1p-53; // times a hash of 53 bits: from 0 up to 1

    private final String told; // the offset; null in a mark
    private final double share;
    private final double[] arrived;
    private final long subMs;
    private final long everyMs;
    private final long firstMs;
    private final double seen;
    private final double unsure;
    private final double z;
    private final double widest;
    private final Map<Long, Double> keys = new HashMap<>();

    private Sampling(String told, Sampled sampled) {
        this.told = told;
        share = sampled.share() / MILLION;
        seen = sampled.seen() / MILLION;
        unsure = sampled.unsure() / MILLION;
        z = sampled.z() / MILLION;
        widest = sampled.widest() / MILLION;
        subMs = sampled.subMs();
        everyMs = sampled.everyMs();
        firstMs = sampled.firstMs();
        arrived = new double[(int) Math.max(1, everyMs / subMs)];
        for (int place = 0; place < arrived.length; place++) {
            arrived[place] = place < sampled.arrived().size() ? sampled.arrived().get(place) / MILLION : 1.0;
        }
        sampled.keys().forEach((key, part) -> keys.put(key, part / MILLION));
    }

    static Sampling of(ControlOffset offset) {
        boolean all = offset == null || offset.sampled() == null;
        return new Sampling(offset == null ? "nothing" : offset.json(), all ? Sampled.ALL : offset.sampled());
    }

    boolean bound() {
        return told != null;
    }

    /** With which probability a row of this moment, in ms, and of this group is taken. */
    public static Column rateOf(Column moment, Column group) {
        return mark("rate", List.of(moment, group), DataTypes.DoubleType);
    }

    /** Whether such a row is taken, by a hash of it. */
    public static Column isTaken(Column moment, Column group, Column hash) {
        return mark("takes", List.of(moment, group, hash), DataTypes.BooleanType);
    }

    /** The mean or the total of y, or the number of rows, of these sums in the order of `Answer`. */
    public static Column answer(String kind, scala.collection.immutable.Seq<Column> sums) {
        return mark(kind, CollectionConverters.asJava(sums), Answer.TYPE);
    }

    /** The quantile of this share: of rows n, of u, and the percentiles from 0 to 100 and, last, the one that is wanted. */
    public static Column quantileOf(Column share, Column rows, Column weight, Column percentiles) {
        return mark("quantile", List.of(share, rows, weight, percentiles), Answer.TYPE);
    }

    /** Which share of the window was there of which these are the rows taken. They only keep Spark from working it out early. */
    public static Column shareSeen(Column rows) {
        return mark("seen", List.of(rows), DataTypes.DoubleType);
    }

    private static Column mark(String method, List<Column> given, DataType type) {
        List<Expression> arguments = given.stream().map(ExpressionUtils::expression).toList();
        return ExpressionUtils.column(new Sampling(null, Sampled.ALL).call(method, arguments, type));
    }

    Expression call(String method, List<Expression> arguments, DataType type) {
        return new Invoke(
                new Literal(this, new ObjectType(Sampling.class)), method, type,
                CollectionConverters.asScala(arguments).toSeq(),
                CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(), true, false, true);
    }

    public double rate(long moment, long group) {
        require();
        double wanted = keys.isEmpty() ? share : keys.getOrDefault(group, share);
        int place = (int) (Math.floorMod(moment - firstMs, everyMs) / subMs);
        return Math.min(1.0, wanted / Math.max(arrived[Math.min(place, arrived.length - 1)], 1e-9));
    }

    public boolean takes(long moment, long group, long hash) {
        return (hash >>> 11) * UNIT < rate(moment, group);
    }

    public InternalRow mean(
            long n, double u, double uu, double uy, double uyy, double uyyy, double uuy, double uuyy) {
        require();
        return new Answer(n, u, uu, uy, uyy, uyyy, uuy, uuyy).mean(seen, z, widest);
    }

    public InternalRow total(
            long n, double u, double uu, double uy, double uyy, double uyyy, double uuy, double uuyy) {
        require();
        return new Answer(n, u, uu, uy, uyy, uyyy, uuy, uuyy).total(seen, unsure, z, widest);
    }

    /** The same of ones: where there are none, that is their number. */
    public InternalRow number(
            long n, double u, double uu, double uy, double uyy, double uyyy, double uuy, double uuyy) {
        InternalRow answer = total(n, u, uu, uy, uyy, uyyy, uuy, uuyy);
        return n > 0 ? answer : new GenericInternalRow(new Object[] {0.0, 0.0, 0.0, n, seen, false});
    }

    public InternalRow quantile(double share, long n, double u, ArrayData percentiles) {
        require();
        if (n == 0) {
            return new GenericInternalRow(new Object[] {null, null, null, n, seen, false});
        }
        Answer sums = new Answer(n, u, 0, 0, 0, 0, 0, 0);
        int last = percentiles.numElements() - 1;
        double off = sums.rankOff(share, seen, sums.enough() ? z : widest);
        int low = (int) Math.max(0, Math.floor((share - off) * (last - 1)));
        int high = (int) Math.min(last - 1, Math.ceil((share + off) * (last - 1)));
        double estimate = percentiles.getDouble(last);
        return new GenericInternalRow(new Object[] {
            estimate, off == 0 ? estimate : percentiles.getDouble(low), off == 0 ? estimate : percentiles.getDouble(high), n,
            seen, off == 0 || sums.enough()
        });
    }

    public double seen(ArrayData rows) {
        require();
        return seen;
    }

    private void require() {
        if (!bound()) {
            throw new IllegalStateException("headway: nobody says how much to take: headway.Extensions is not among"
                    + " spark.sql.extensions");
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Sampling that && Objects.equals(told, that.told);
    }

    @Override
    public int hashCode() {
        return Objects.hashCode(told);
    }

    @Override
    public String toString() {
        return bound() ? "sampling by " + told : "sampling";
    }
}
