package headway;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a batch tells of its sub-streams, in one pass over all rows: an aggregate of a row's moment and delay in ms, its value
 * and its group.
 *
 * <p>Its answer is JSON: `{"subs": [[index, rows, delay, delay^2, value, value^2, value^3, delay * value], ..], "keys":
 * [[group, rows, value, value^2], ..]}`, sums all of them; of groups the largest.
 */
public final class SubStreams extends TypedImperativeAggregate<SubStreams.Sums> implements Serializable {
    private static final int MOST_KEYS = 4_096; // that are kept apart; rows of others are taken whole anyway
    private static final int TOLD_KEYS = 256;
    private final List<Expression> given;
    private final long subMs;
    private final int into;
    private final int from;

    private SubStreams(List<Expression> given, long subMs, int into, int from) {
        this.given = given;
        this.subMs = subMs;
        this.into = into;
        this.from = from;
    }

    /** Moment and delay in ms, value, group (a number, or null where there are none). */
    public static Column column(Column moment, Column delay, Column value, Column group, long subMs) {
        List<Expression> given = List.of(
                ExpressionUtils.expression(moment), ExpressionUtils.expression(delay),
                ExpressionUtils.expression(value), ExpressionUtils.expression(group));
        return ExpressionUtils.column(new SubStreams(given, subMs, 0, 0).toAggregateExpression());
    }

    /** Sums by sub-stream and by group. */
    static final class Sums {
        final Map<Long, double[]> subs = new HashMap<>();
        final Map<Long, double[]> keys = new HashMap<>();
        private long last = Long.MIN_VALUE;
        private double[] lastSums;

        double[] sub(long index) {
            if (index != last) { // rows of one moment come together
                lastSums = subs.computeIfAbsent(index, any -> new double[7]);
                last = index;
            }
            return lastSums;
        }

        void add(Sums other) {
            other.subs.forEach((index, sums) -> plus(subs.computeIfAbsent(index, any -> new double[7]), sums));
            other.keys.forEach((key, sums) -> plus(keys.computeIfAbsent(key, any -> new double[3]), sums));
        }

        private static void plus(double[] to, double[] sums) {
            for (int i = 0; i < to.length; i++) {
                to[i] += sums[i];
            }
        }
    }

    @Override
    public Sums createAggregationBuffer() {
        return new Sums();
    }

    @Override
    public Sums update(Sums sums, InternalRow row) {
        Object moment = given.get(0).eval(row);
        if (moment == null) {
            return sums; // no event time, or a control row
        }
        double delay = number(given.get(1).eval(row));
        double value = number(given.get(2).eval(row));
        double[] sub = sums.sub(Math.floorDiv((Long) moment, subMs));
        sub[0]++;
        sub[1] += delay;
        sub[2] += delay * delay;
        sub[3] += value;
        sub[4] += value * value;
        sub[5] += value * value * value;
        sub[6] += delay * value;
        Object key = given.get(3).eval(row);
        if (key != null) {
            double[] group = sums.keys.get((Long) key);
            if (group == null && sums.keys.size() < MOST_KEYS) {
                sums.keys.put((Long) key, group = new double[3]);
            }
            if (group != null) {
                group[0]++;
                group[1] += value;
                group[2] += value * value;
            }
        }
        return sums;
    }

    private static double number(Object value) {
        double found = value == null ? 0.0 : ((Number) value).doubleValue();
        return Double.isFinite(found) ? found : 0.0;
    }

    @Override
    public Sums merge(Sums sums, Sums other) {
        sums.add(other);
        return sums;
    }

    @Override
    public Object eval(Sums sums) {
        List<Map.Entry<Long, double[]>> largest = new ArrayList<>(sums.keys.entrySet());
        largest.sort((a, b) -> Double.compare(b.getValue()[0], a.getValue()[0]));
        String subs = json(new ArrayList<>(sums.subs.entrySet()));
        String keys = json(largest.subList(0, Math.min(TOLD_KEYS, largest.size())));
        return UTF8String.fromString("{\"subs\": " + subs + ", \"keys\": " + keys + "}");
    }

    private static String json(List<Map.Entry<Long, double[]>> entries) {
        StringJoiner all = new StringJoiner(", ", "[", "]");
        for (Map.Entry<Long, double[]> entry : entries) {
            StringJoiner one = new StringJoiner(", ", "[", "]").add(entry.getKey().toString());
            for (double sum : entry.getValue()) {
                one.add(Double.toString(sum));
            }
            all.add(one.toString());
        }
        return all.toString();
    }

    @Override
    public byte[] serialize(Sums sums) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            for (Map<Long, double[]> map : List.of(sums.subs, sums.keys)) {
                out.writeInt(map.size());
                for (Map.Entry<Long, double[]> entry : map.entrySet()) {
                    out.writeLong(entry.getKey());
                    for (double sum : entry.getValue()) {
                        out.writeDouble(sum);
                    }
                }
            }
        } catch (IOException never) {
            throw new UncheckedIOException(never);
        }
        return bytes.toByteArray();
    }

    @Override
    public Sums deserialize(byte[] bytes) {
        Sums sums = new Sums();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            read(in, sums.subs, 7);
            read(in, sums.keys, 3);
        } catch (IOException never) {
            throw new UncheckedIOException(never);
        }
        return sums;
    }

    private static void read(DataInputStream in, Map<Long, double[]> map, int width) throws IOException {
        for (int left = in.readInt(); left > 0; left--) {
            long key = in.readLong();
            double[] sums = new double[width];
            for (int i = 0; i < width; i++) {
                sums[i] = in.readDouble();
            }
            map.put(key, sums);
        }
    }

    @Override
    public DataType dataType() {
        return DataTypes.StringType;
    }

    @Override
    public boolean nullable() {
        return false;
    }

    @Override
    public Seq<Expression> children() {
        return CollectionConverters.asScala(given).toSeq();
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
        return new SubStreams(new ArrayList<>(CollectionConverters.asJava(children)), subMs, into, from);
    }

    @Override
    public int mutableAggBufferOffset() {
        return into;
    }

    @Override
    public int inputAggBufferOffset() {
        return from;
    }

    @Override
    public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
        return new SubStreams(given, subMs, offset, from);
    }

    @Override
    public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
        return new SubStreams(given, subMs, into, offset);
    }

    @Override
    public int productArity() {
        return 4;
    }

    @Override
    public Object productElement(int n) {
        return switch (n) {
            case 0 -> children();
            case 1 -> subMs;
            case 2 -> into;
            default -> from;
        };
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof SubStreams;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SubStreams that && given.equals(that.given) && subMs == that.subMs && into == that.into
                && from == that.from;
    }

    @Override
    public int hashCode() {
        return given.hashCode();
    }
}
