package headway;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Seq;

/**
 * What a batch tells of an input that is sampled: a tally as of any other, and sums by sub-streams and groups.
 *
 * <p>`subs`, `[[index, rows, delay, delay^2, value, value^2, value^3, delay * value], ..]`; rows of sub-streams that are too old
 * for that are told as `old`; `keys`, `[[group, rows, value, value^2], ..]`, the largest.
 */
public final class SubStreams extends OnePass<SubStreams.Sums> {
    private static final int MOST_KEYS = 4_096; // that are kept apart; rows of others are taken whole anyway
    private static final int TOLD_KEYS = 256;
    private static final int MOST_SUBS = 36_000; // an hour: who reads what came in a week has more, and they help nobody
    private static final double MOST = 1e60; // its third power is still a number, and a value like that wants all rows anyway
    private final long leadMs;
    private final long subMs;

    private SubStreams(Expression[] given, long[] set, int into, int from) {
        super(given, set, into, from);
        leadMs = set[0];
        subMs = set[1];
    }

    /** `given` as a tally wants it; then value, and group (or null), a number. */
    public static Column column(Seq<Column> given, long leadMs, long subMs) {
        return new SubStreams(expressions(given), new long[] {leadMs, subMs}, 0, 0).asColumn();
    }

    /** Sums by sub-stream and by group, and of all rows. */
    static final class Sums {
        final Tally tally;
        final TreeMap<Long, double[]> subs = new TreeMap<>();
        final Map<Long, double[]> keys = new HashMap<>();
        private long last = Long.MIN_VALUE;
        private double[] lastSums;

        Sums(long leadMs) {
            tally = new Tally(leadMs, 0);
        }

        double[] sub(long index) {
            if (index != last) { // rows of one moment come together
                lastSums = subs.computeIfAbsent(index, any -> new double[7]);
                last = index;
                if (subs.size() > MOST_SUBS) {
                    forget();
                }
            }
            return lastSums;
        }

        private void forget() {
            Map.Entry<Long, double[]> oldest = subs.pollFirstEntry();
            tally.old(oldest.getKey(), Math.max(1, (long) oldest.getValue()[0])); // none yet: a row is just about to be counted
            last = Long.MIN_VALUE; // it may have been that one
        }

        void add(Sums other) {
            tally.add(other.tally);
            other.subs.forEach((index, sums) -> plus(subs.computeIfAbsent(index, any -> new double[7]), sums));
            other.keys.forEach((key, sums) -> plus(keys.computeIfAbsent(key, any -> new double[3]), sums));
            while (subs.size() > MOST_SUBS) {
                forget();
            }
        }

        private static void plus(double[] to, double[] sums) {
            for (int i = 0; i < to.length; i++) {
                to[i] += sums[i];
            }
        }
    }

    @Override
    public Sums createAggregationBuffer() {
        return new Sums(leadMs);
    }

    @Override
    public Sums update(Sums sums, InternalRow row) {
        if (!sums.tally.take(given, row)) {
            return sums;
        }
        double delay = sums.tally.delay();
        double value = number(given[Tally.MORE].eval(row));
        double[] sub = sums.sub(Math.floorDiv(sums.tally.moment(), subMs));
        sub[0]++;
        sub[1] += delay;
        sub[2] += delay * delay;
        sub[3] += value;
        sub[4] += value * value;
        sub[5] += value * value * value;
        sub[6] += delay * value;
        Object key = given[Tally.MORE + 1].eval(row);
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
        return Double.isNaN(found) ? 0.0 : Math.max(-MOST, Math.min(MOST, found));
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
        return UTF8String.fromString(sums.tally.json()
                .add("\"subs\": " + json(new ArrayList<>(sums.subs.entrySet())))
                .add("\"keys\": " + json(largest.subList(0, Math.min(TOLD_KEYS, largest.size()))))
                .toString());
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
    void write(Sums sums, DataOutputStream out) throws IOException {
        sums.tally.write(out);
        for (Map<Long, double[]> map : List.of(sums.subs, sums.keys)) {
            out.writeInt(map.size());
            for (Map.Entry<Long, double[]> entry : map.entrySet()) {
                out.writeLong(entry.getKey());
                for (double sum : entry.getValue()) {
                    out.writeDouble(sum);
                }
            }
        }
    }

    @Override
    void read(Sums sums, DataInputStream in) throws IOException {
        sums.tally.read(in);
        read(in, sums.subs, 7);
        read(in, sums.keys, 3);
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
    OnePass<Sums> like(Expression[] given, int into, int from) {
        return new SubStreams(given, set, into, from);
    }
}
