package headway;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.StringJoiner;
import java.util.stream.IntStream;
import org.apache.spark.sql.util.NumericHistogram;

/**
 * A histogram of whole numbers: exact below 32, then in bins of a sixteenth of their value, each with the mean of what is in it.
 *
 * <p>A number finds its bin by its leading bits, so that adding one costs the same however many bins there are. Spark's own
 * histogram, with bins where the numbers are, looks for the two that are closest for almost every number. It is used in the
 * end, to tell many bins by few.
 */
final class Bins {
    private static final int EXACT = 32;
    private long[] counts = new long[0]; // grown when a number needs it
    private double[] sums = new double[0];

    void add(long number) {
        add(bin(number), 1, number);
    }

    private void add(int bin, long count, double sum) {
        if (bin >= counts.length) {
            counts = Arrays.copyOf(counts, bin + EXACT);
            sums = Arrays.copyOf(sums, bin + EXACT);
        }
        counts[bin] += count;
        sums[bin] += sum;
    }

    /** Numbers below zero take turns with the others: most often there are none, and no room is needed for them. */
    private static int bin(long number) {
        return number >= 0 ? 2 * magnitude(number) : 2 * magnitude(~number) + 1;
    }

    private static int magnitude(long number) {
        if (number < EXACT) {
            return (int) number;
        }
        int octave = Long.SIZE - 1 - Long.numberOfLeadingZeros(number); // 5 or more
        return EXACT + (octave - 5) * 16 + (int) (number >>> (octave - 4) & 15);
    }

    void add(Bins other) {
        other.used().forEach(bin -> add(bin, other.counts[bin], other.sums[bin]));
    }

    private IntStream used() {
        return IntStream.range(0, counts.length).filter(bin -> counts[bin] > 0);
    }

    /** `[{"x": .., "y": ..}, ..]`, at most so many bins: the closest become one. */
    String json(int most) {
        double[][] used = used().mapToObj(bin -> new double[] {sums[bin] / counts[bin], counts[bin]})
                .sorted(Comparator.comparingDouble(bin -> bin[0]))
                .toArray(double[][]::new);
        NumericHistogram all = empty(Math.max(1, used.length));
        for (int bin = 0; bin < used.length; bin++) {
            all.addBin(used[bin][0], used[bin][1], bin);
        }
        all.setUsedBins(used.length);
        if (used.length <= most) {
            return json(all);
        }
        NumericHistogram few = empty(most);
        few.merge(all);
        return json(few);
    }

    static NumericHistogram empty(int bins) {
        NumericHistogram made = new NumericHistogram();
        made.allocate(bins);
        return made;
    }

    static String json(NumericHistogram histogram) {
        StringJoiner all = new StringJoiner(", ", "[", "]");
        for (int b = 0; b < histogram.getUsedBins(); b++) {
            NumericHistogram.Coord bin = histogram.getBin(b);
            all.add("{\"x\": " + bin.x + ", \"y\": " + bin.y + "}");
        }
        return all.toString();
    }

    void write(DataOutputStream out) throws IOException {
        int[] used = used().toArray();
        out.writeInt(used.length);
        for (int bin : used) {
            out.writeInt(bin);
            out.writeLong(counts[bin]);
            out.writeDouble(sums[bin]);
        }
    }

    void read(DataInputStream in) throws IOException {
        for (int left = in.readInt(); left > 0; left--) {
            add(in.readInt(), in.readLong(), in.readDouble());
        }
    }
}
