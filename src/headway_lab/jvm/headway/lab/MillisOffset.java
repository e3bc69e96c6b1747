package headway.lab;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** How far a clock has come, written as the Python clock writes it: a checkpoint serves both. */
final class MillisOffset extends Offset {
    private static final Pattern TEXT = Pattern.compile("\"ms\"\\s*:\\s*(-?\\d+)");
    private final long ms;

    MillisOffset(long ms) {
        this.ms = ms;
    }

    static MillisOffset of(String json) {
        Matcher found = TEXT.matcher(json);
        if (!found.find()) {
            throw new IllegalStateException("headway: no ms in the offset " + json);
        }
        return new MillisOffset(Long.parseLong(found.group(1)));
    }

    long ms() {
        return ms;
    }

    @Override
    public String json() {
        return "{\"ms\": " + ms + "}";
    }
}
