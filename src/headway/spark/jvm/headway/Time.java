package headway;

import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** How far wall time has come, cut wherever Spark asks for a batch, and standing still from `end` on. */
final class Time {
    private final long epochMs;
    private final long endMs;

    Time(CaseInsensitiveStringMap options) {
        epochMs = options.getLong("epoch", 0);
        endMs = options.getLong("end", Long.MAX_VALUE);
    }

    Offset first() {
        return Fields.of("{\"ms\": " + epochMs + "}");
    }

    Fields next(Fields start) {
        // The wall clock may be set back, and the epoch may lie ahead; an offset must never decrease.
        long now = Math.min(System.currentTimeMillis(), endMs);
        return start.with("ms", Math.max(now, start.get("ms")));
    }
}
