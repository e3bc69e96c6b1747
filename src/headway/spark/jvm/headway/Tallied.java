package headway;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/** A batch's tally in one pass, since every row pays for it; `watermark.py` asks Spark's own aggregates where there is no jar. */
public final class Tallied extends OnePass<Tally> {
    private final long leadMs;
    private final long leastMs;
    private final long cellMs;
    private final int parts;
    private final boolean tails;

    private Tallied(Expression[] given, long[] set, int into, int from) {
        super(given, set, into, from);
        leadMs = set[0];
        leastMs = set[1];
        cellMs = set[2];
        parts = (int) set[3];
        tails = set[4] != 0;
    }

    /** `given` as a tally wants it, and the number of a row's partition, if any are told apart; rows older than `leastMs` are told by cells of `cellMs`; `tails`: parts' delays as well. */
    public static Column column(Seq<Column> given, long leadMs, long leastMs, long cellMs, long parts, boolean tails) {
        long[] set = {leadMs, leastMs, cellMs, parts, tails ? 1 : 0};
        return new Tallied(expressions(given), set, 0, 0).asColumn();
    }

    @Override
    public Tally createAggregationBuffer() {
        return new Tally(leadMs, parts);
    }

    @Override
    public Tally update(Tally tally, InternalRow row) {
        if (!tally.take(given, row)) {
            return tally;
        }
        if (tally.olderThan(leastMs)) {
            tally.old(Math.floorDiv(tally.moment(), cellMs));
        }
        if (parts > 0) {
            Object part = given[Tally.MORE].eval(row);
            if (part != null) {
                tally.part((Integer) part, tails);
            }
        }
        return tally;
    }

    @Override
    public Tally merge(Tally tally, Tally other) {
        tally.add(other);
        return tally;
    }

    @Override
    public Object eval(Tally tally) {
        return UTF8String.fromString(tally.json().toString());
    }

    @Override
    void write(Tally tally, DataOutputStream out) throws IOException {
        tally.write(out);
    }

    @Override
    void read(Tally tally, DataInputStream in) throws IOException {
        tally.read(in);
    }

    @Override
    OnePass<Tally> like(Expression[] given, int into, int from) {
        return new Tallied(given, set, into, from);
    }
}
