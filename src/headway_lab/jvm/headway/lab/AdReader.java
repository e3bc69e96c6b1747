package headway.lab;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.IntFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/** The ad events that arrive from one moment to another: see `workloads/ysb.py`, which knows the same events in numpy. */
final class AdReader implements PartitionReader<InternalRow> {
    private static final UTF8String ADDRESS = UTF8String.fromString("1.2.3.4");
    private static final UTF8String[] NUMBERS = names(1 << 12, Integer::toString);

    /** The columns that can be wanted of an event. */
    private enum Of { EVENT_TIME, ARRIVAL, USER_ID, PAGE_ID, AD_ID, AD_TYPE, EVENT_TYPE, IP_ADDRESS }

    /** What makes the events of one advertiser, and the columns that are wanted of them; no gaps: events come evenly. */
    record Plan(
            long seed, long rate, long epochMs, int[] delaysMs, int[] gaps, int ads, String[] adTypes, String[] eventTypes,
            String[] columns)
            implements Serializable {

        static Plan of(CaseInsensitiveStringMap options, String[] columns) {
            return new Plan(
                    options.getLong("seed", 0),
                    options.getLong("rate", 1),
                    options.getLong("epoch", 0),
                    numbers(options.get("delays")),
                    options.containsKey("gaps") ? numbers(options.get("gaps")) : new int[0],
                    options.getInt("ads", 1),
                    options.get("ad_types").split(","),
                    options.get("event_types").split(","),
                    columns);
        }

        private static int[] numbers(String text) {
            return Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
        }

        /** When an event happens, in thousandths of a mean gap after the epoch. */
        long thousandths(long index) {
            int block = gaps.length;
            return block == 0 ? index * 1000 : index / block * block * 1000 + gaps[(int) (index % block)];
        }

        /** The first event that happens so many ms after the epoch, or later. */
        long first(long ms) {
            long wanted = ms * rate;
            if (gaps.length == 0) {
                return Math.floorDiv(wanted + 999, 1000);
            }
            long length = gaps.length * 1000L;
            long block = Math.floorDiv(wanted, length);
            int rest = (int) Math.floorMod(wanted, length);
            int low = 0;
            for (int high = gaps.length; low < high; ) { // equal ones are possible: the first of them
                int middle = (low + high) >>> 1;
                if (gaps[middle] < rest) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            return block * gaps.length + low;
        }
    }

    record Interval(Plan plan, long since, long until) implements InputPartition {}

    record Factory() implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition interval) {
            return new AdReader((Interval) interval);
        }
    }

    private final Plan plan;
    private final long since;
    private final long until;
    private final long last;
    private final long begun;
    private final UTF8String[] adTypes;
    private final UTF8String[] eventTypes;
    private final Of[] wanted;
    private long index;
    private long eventMs;
    private long arrivalMs;
    private long hash;

    AdReader(Interval interval) {
        plan = interval.plan();
        since = interval.since();
        until = interval.until();
        // Whatever arrives from `since` on happened no earlier than the longest delay before.
        long longest = Arrays.stream(plan.delaysMs()).max().orElse(0);
        index = plan.first(Math.max(since - plan.epochMs() - longest, 0)) - 1;
        last = plan.first(until - plan.epochMs()) - 1;
        begun = XXH64.hashLong(plan.seed(), 42L);
        adTypes = names(plan.adTypes().length, n -> plan.adTypes()[n]);
        eventTypes = names(plan.eventTypes().length, n -> plan.eventTypes()[n]);
        wanted = Arrays.stream(plan.columns()).map(name -> Of.valueOf(name.toUpperCase(Locale.ROOT))).toArray(Of[]::new);
    }

    @Override
    public boolean next() {
        while (++index <= last) {
            hash = XXH64.hashLong(index, begun);
            eventMs = plan.epochMs() + plan.thousandths(index) / plan.rate();
            arrivalMs = eventMs + plan.delaysMs()[bits(0, 10)];
            if (since <= arrivalMs && arrivalMs < until) {
                return true;
            }
        }
        return false;
    }

    @Override
    public InternalRow get() {
        Object[] values = new Object[wanted.length];
        for (int c = 0; c < values.length; c++) {
            values[c] = value(wanted[c]);
        }
        return new GenericInternalRow(values);
    }

    private Object value(Of column) {
        return switch (column) {
            case EVENT_TIME -> eventMs * 1000;
            case ARRIVAL -> arrivalMs * 1000;
            case USER_ID -> NUMBERS[bits(48, 8) % 100];
            case PAGE_ID -> NUMBERS[bits(56, 8) % 100];
            case AD_ID -> number(bits(10, 20) % plan.ads());
            case AD_TYPE -> adTypes[bits(40, 8) % adTypes.length];
            case EVENT_TYPE -> eventTypes[bits(30, 10) % eventTypes.length];
            case IP_ADDRESS -> ADDRESS;
        };
    }

    private int bits(int first, int width) {
        return (int) (hash >>> first) & ((1 << width) - 1);
    }

    private static UTF8String number(int n) {
        return n < NUMBERS.length ? NUMBERS[n] : UTF8String.fromString(Integer.toString(n));
    }

    private static UTF8String[] names(int count, IntFunction<String> name) {
        UTF8String[] made = new UTF8String[count];
        Arrays.setAll(made, n -> UTF8String.fromString(name.apply(n)));
        return made;
    }

    @Override
    public void close() {}
}
