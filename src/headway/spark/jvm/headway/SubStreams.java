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
import java.util.TreeMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.NumericHistogram;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a batch tells of an input that is sampled, in one pass over all rows, since every one of them pays for it. The same is
 * told of other inputs by half a dozen of Spark's aggregates (see `watermark.py`).
 *
 * <p>Its answer is JSON. `rows`, those `timed`, the `newest` that is not from the future and the `oldest` in ms, a histogram of
 * `delays`; `subs`, `[[index, rows, delay, delay^2, value, value^2, value^3, delay * value], ..]`, sums by sub-streams; `old`, a
 * histogram of the sub-streams of rows that are too old for that; `keys`, `[[group, rows, value, value^2], ..]`, the largest.
 */
public final class SubStreams extends TypedImperativeAggregate<SubStreams.Sums> implements Serializable {
    private static final int MOST_KEYS = 4_096; // that are kept apart; rows of others are taken whole anyway
    private static final int TOLD_KEYS = 256;
    private static final int MOST_SUBS = 36_000; // an hour: who reads what came in a week has more, and they help nobody
    private static final double MOST = 1e60; // its third power is still a number, and a value like that wants all rows anyway
    private static final int DELAYS = 32; // bins
    private static final int OLD = 128;
    private static final long HOUR_MS = 3_600_000;
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

    /** In this order: a mark, null in control rows; event time, arrival (or null) and now; value; group (or null), a number. */
    public static Column column(Seq<Column> given, long subMs) {
        List<Expression> each = CollectionConverters.asJava(given).stream().map(ExpressionUtils::expression).toList();
        return ExpressionUtils.column(new SubStreams(each, subMs, 0, 0).toAggregateExpression());
    }

    /** Sums by sub-stream and by group, and of all rows. */
    static final class Sums {
        long rows;
        long timed;
        long newest = Long.MIN_VALUE;
        long oldest = Long.MAX_VALUE;
        final NumericHistogram delays = histogram(DELAYS);
        final NumericHistogram old = histogram(OLD);
        final TreeMap<Long, double[]> subs = new TreeMap<>();
        final Map<Long, double[]> keys = new HashMap<>();
        private long last = Long.MIN_VALUE;
        private double[] lastSums;

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
            NumericHistogram gone = histogram(1);
            gone.addBin(oldest.getKey(), Math.max(1, oldest.getValue()[0]), 0); // none yet: a row is just about to be counted
            gone.setUsedBins(1);
            old.merge(gone);
            last = Long.MIN_VALUE; // it may have been that one
        }

        void add(Sums other) {
            rows += other.rows;
            timed += other.timed;
            newest = Math.max(newest, other.newest);
            oldest = Math.min(oldest, other.oldest);
            delays.merge(other.delays);
            old.merge(other.old);
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

    private static NumericHistogram histogram(int bins) {
        NumericHistogram made = new NumericHistogram();
        made.allocate(bins);
        return made;
    }

    @Override
    public Sums createAggregationBuffer() {
        return new Sums();
    }

    @Override
    public Sums update(Sums sums, InternalRow row) {
        if (given.get(0).eval(row) == null) {
            return sums; // a control row
        }
        sums.rows++;
        Object time = given.get(1).eval(row);
        if (time == null) {
            return sums; // it could not be read, and every window would drop it unseen
        }
        sums.timed++;
        long moment = Math.floorDiv((Long) time, 1000L);
        Object arrival = given.get(2).eval(row);
        long now = Math.floorDiv((Long) given.get(3).eval(row), 1000L);
        // Kafka says "one millisecond before 1970" where a record has no timestamp.
        double delay = (arrival == null || (Long) arrival < 0 ? now : (Long) arrival / 1000) - moment;
        double value = number(given.get(4).eval(row));
        if (moment <= now + HOUR_MS) {
            sums.newest = Math.max(sums.newest, moment);
        }
        sums.oldest = Math.min(sums.oldest, moment);
        sums.delays.add(delay);
        double[] sub = sums.sub(Math.floorDiv(moment, subMs));
        sub[0]++;
        sub[1] += delay;
        sub[2] += delay * delay;
        sub[3] += value;
        sub[4] += value * value;
        sub[5] += value * value * value;
        sub[6] += delay * value;
        Object key = given.get(5).eval(row);
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
        return UTF8String.fromString(new StringJoiner(", ", "{", "}")
                .add("\"rows\": " + sums.rows)
                .add("\"timed\": " + sums.timed)
                .add("\"newest\": " + (sums.newest == Long.MIN_VALUE ? "null" : sums.newest))
                .add("\"oldest\": " + (sums.oldest == Long.MAX_VALUE ? "null" : sums.oldest))
                .add("\"delays\": " + json(sums.delays))
                .add("\"old\": " + json(sums.old))
                .add("\"subs\": " + json(new ArrayList<>(sums.subs.entrySet())))
                .add("\"keys\": " + json(largest.subList(0, Math.min(TOLD_KEYS, largest.size()))))
                .toString());
    }

    private static String json(NumericHistogram histogram) {
        StringJoiner all = new StringJoiner(", ", "[", "]");
        for (int b = 0; b < histogram.getUsedBins(); b++) {
            NumericHistogram.Coord bin = histogram.getBin(b);
            all.add("{\"x\": " + bin.x + ", \"y\": " + bin.y + "}");
        }
        return all.toString();
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
            for (long number : new long[] {sums.rows, sums.timed, sums.newest, sums.oldest}) {
                out.writeLong(number);
            }
            for (NumericHistogram histogram : List.of(sums.delays, sums.old)) {
                out.writeInt(histogram.getUsedBins());
                for (int b = 0; b < histogram.getUsedBins(); b++) {
                    out.writeDouble(histogram.getBin(b).x);
                    out.writeDouble(histogram.getBin(b).y);
                }
            }
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
            sums.rows = in.readLong();
            sums.timed = in.readLong();
            sums.newest = in.readLong();
            sums.oldest = in.readLong();
            for (NumericHistogram histogram : List.of(sums.delays, sums.old)) {
                int bins = in.readInt();
                for (int b = 0; b < bins; b++) {
                    histogram.addBin(in.readDouble(), in.readDouble(), b);
                }
                histogram.setUsedBins(bins);
            }
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
