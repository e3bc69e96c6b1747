package headway.lab;

import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * How far wall time has come, cut wherever Spark asks for a batch, and standing still from `end` on.
 *
 * <p>With `boot`, the wall time at which the monotonic clock stood at zero, it goes on by that clock: as for rows that come from
 * another machine, it means nothing to it that this one's clock is set.
 */
final class WallTime {
    private final long epochMs;
    private final long endMs;
    private final long bootMs;

    WallTime(CaseInsensitiveStringMap options) {
        epochMs = options.getLong("epoch", 0);
        endMs = options.getLong("end", Long.MAX_VALUE);
        bootMs = options.getLong("boot", 0);
    }

    MillisOffset first() {
        return new MillisOffset(epochMs);
    }

    MillisOffset next(MillisOffset start) {
        // The wall clock may be set back, and the epoch may lie ahead; an offset must never decrease.
        long wall = bootMs == 0 ? System.currentTimeMillis() : bootMs + System.nanoTime() / 1_000_000;
        long now = Math.min(wall, endMs);
        return new MillisOffset(Math.max(now, start.ms()));
    }
}
