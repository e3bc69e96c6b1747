package headway;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.StringJoiner;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.util.NumericHistogram;

/** What a batch tells of its rows: how many, how far they have come, how late they came. Times are in ms. */
final class Tally {
    // What is asked of a row, in this order; more may follow.
    private static final int MARK = 0; // null in control rows
    private static final int TIME = 1;
    private static final int FUTURE = 2; // null, or the true time of a row that is beyond the horizon
    private static final int ARRIVAL = 3; // null where nobody says
    private static final int NOW = 4;
    static final int MORE = 5;
    private static final int DELAYS = 32; // bins that are told
    private static final int PART_DELAYS = 16;
    private static final int OLD = 128;
    private final long leadMs; // rows further ahead of our clock than this do not say how far their stream has come
    private final Part[] parts;
    private long rows;
    private long timed;
    private long future;
    private long newest = Long.MIN_VALUE;
    private long foremost = Long.MIN_VALUE;
    private long oldest = Long.MAX_VALUE;
    private final Bins delays = new Bins();
    private final NumericHistogram old = Bins.empty(OLD); // by cells of time
    private long moment; // of the last row
    private long delay;
    private long now;

    /** Of one partition. */
    private static final class Part {
        long newest = Long.MIN_VALUE;
        long fastest = Long.MAX_VALUE;
        final Bins delays = new Bins();
    }

    Tally(long leadMs, int parts) {
        this.leadMs = leadMs;
        this.parts = new Part[parts];
        for (int part = 0; part < parts; part++) {
            this.parts[part] = new Part();
        }
    }

    /** Takes a row in; whether it is of a moment, which is then known with its delay. */
    boolean take(Expression[] given, InternalRow row) {
        if (given[MARK].eval(row) == null) {
            return false;
        }
        rows++;
        if (given[FUTURE].eval(row) != null) {
            future++;
            return false;
        }
        Object time = given[TIME].eval(row);
        if (time == null) {
            return false; // it could not be read, and every window would drop it unseen
        }
        moment = Math.floorDiv((Long) time, 1000L);
        now = Math.floorDiv((Long) given[NOW].eval(row), 1000L);
        Object arrival = given[ARRIVAL].eval(row);
        // Kafka says "one millisecond before 1970" of a record without a timestamp.
        delay = (arrival == null || (Long) arrival < 0 ? now : (Long) arrival / 1000) - moment;
        timed++;
        if (moment <= now + leadMs) {
            newest = Math.max(newest, moment);
        }
        foremost = Math.max(foremost, moment);
        oldest = Math.min(oldest, moment);
        delays.add(delay);
        return true;
    }

    long moment() {
        return moment;
    }

    long delay() {
        return delay;
    }

    boolean olderThan(long ms) {
        return moment < now - ms;
    }

    /** The row is of this partition. */
    void part(int number, boolean tails) {
        Part part = parts[number];
        if (moment <= now + leadMs) {
            part.newest = Math.max(part.newest, moment);
        }
        part.fastest = Math.min(part.fastest, delay);
        if (tails) {
            part.delays.add(delay);
        }
    }

    /** The row is of this cell, which is old. */
    void old(long cell) {
        old.add(cell);
    }

    /** So many rows were of this cell. */
    void old(long cell, long rows) {
        NumericHistogram one = Bins.empty(1);
        one.addBin(cell, rows, 0);
        one.setUsedBins(1);
        old.merge(one);
    }

    void add(Tally other) {
        rows += other.rows;
        timed += other.timed;
        future += other.future;
        newest = Math.max(newest, other.newest);
        foremost = Math.max(foremost, other.foremost);
        oldest = Math.min(oldest, other.oldest);
        delays.add(other.delays);
        old.merge(other.old);
        for (int part = 0; part < parts.length; part++) {
            parts[part].newest = Math.max(parts[part].newest, other.parts[part].newest);
            parts[part].fastest = Math.min(parts[part].fastest, other.parts[part].fastest);
            parts[part].delays.add(other.parts[part].delays);
        }
    }

    /** The members of a JSON object, which may have more. */
    StringJoiner json() {
        StringJoiner told = new StringJoiner(", ", "{", "}")
                .add("\"rows\": " + rows)
                .add("\"timed\": " + timed)
                .add("\"future\": " + future)
                .add("\"newest\": " + known(newest))
                .add("\"foremost\": " + known(foremost))
                .add("\"oldest\": " + known(oldest))
                .add("\"delays\": " + delays.json(DELAYS))
                .add("\"old\": " + Bins.json(old));
        for (int part = 0; part < parts.length; part++) {
            told.add("\"newest_" + part + "\": " + known(parts[part].newest));
            told.add("\"fastest_" + part + "\": " + known(parts[part].fastest));
            told.add("\"delays_" + part + "\": " + parts[part].delays.json(PART_DELAYS));
        }
        return told;
    }

    private static String known(long number) {
        return number == Long.MIN_VALUE || number == Long.MAX_VALUE ? "null" : Long.toString(number);
    }

    void write(DataOutputStream out) throws IOException {
        for (long number : new long[] {rows, timed, future, newest, foremost, oldest}) {
            out.writeLong(number);
        }
        delays.write(out);
        out.writeInt(old.getUsedBins());
        for (int bin = 0; bin < old.getUsedBins(); bin++) {
            out.writeDouble(old.getBin(bin).x);
            out.writeDouble(old.getBin(bin).y);
        }
        for (Part part : parts) {
            out.writeLong(part.newest);
            out.writeLong(part.fastest);
            part.delays.write(out);
        }
    }

    void read(DataInputStream in) throws IOException {
        rows = in.readLong();
        timed = in.readLong();
        future = in.readLong();
        newest = in.readLong();
        foremost = in.readLong();
        oldest = in.readLong();
        delays.read(in);
        int bins = in.readInt();
        for (int bin = 0; bin < bins; bin++) {
            old.addBin(in.readDouble(), in.readDouble(), bin);
        }
        old.setUsedBins(bins);
        for (Part part : parts) {
            part.newest = in.readLong();
            part.fastest = in.readLong();
            part.delays.read(in);
        }
    }
}
