package headway;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Asks the controller at every read, and blocks until it may go on: while it blocks, Spark plans no batch.
 *
 * <p>Without a gate, or where the gate says so, the query goes on as in stock Spark: its rows alone move the watermark.
 */
final class ControlStream extends OneRowStream<ControlOffset> implements SupportsTriggerAvailableNow {
    private static final long LOST_MS = 1_000; // between two batches of a query that has lost its gate
    private static final long IDLE_MS = 100; // between two looks for rows, where the last found none
    private static final long MOST_AHEAD_MS = 10_000; // what seems further ahead was announced by another clock

    private final long shiftMs;
    private final QuerySelf self = new QuerySelf();
    private final ControlLine line;
    private String said;
    private long wentOn = System.nanoTime() - LOST_MS * 1_000_000; // when a read last ended without the gate
    private boolean moved; // whether that read moved the watermark
    private long ahead = Long.MIN_VALUE; // the watermark that was announced ahead, and until when it must not be swept
    private long aheadUntil;

    ControlStream(CaseInsensitiveStringMap options, String checkpoint) {
        shiftMs = options.getLong("shift_ms", 0);
        line = new ControlLine(options, self, checkpoint);
        // Say hello as early as can be: whoever starts the query waits for it.
        line.connected();
    }

    @Override
    public ControlOffset initialOffset() {
        return ControlOffset.first();
    }

    @Override
    public ControlOffset deserializeOffset(String json) {
        return ControlOffset.of(json);
    }

    /** Nothing to settle: a read that finds nothing new returns the offset it was given, and then the run ends. */
    @Override
    public void prepareForTriggerAvailableNow() {}

    @Override
    ControlOffset next(ControlOffset start) {
        self.look();
        while (true) {
            JsonNode answer = line.ask(start.json());
            if (answer != null && answer.has("offset")) {
                said = null;
                ControlOffset end = ControlOffset.of(answer.get("offset"));
                if (answer.has("now")) {
                    awaits(end.wm(), answer.get("now").longValue());
                }
                return end;
            }
            boolean lost = answer == null && line.unknown() == null;
            if (lost) {
                say("the gate cannot be reached: query " + self.id() + " goes on ungated, by its rows");
            } else if (answer == null) {
                say(line.unknown());
            }
            long early = early(start);
            if (early <= 0) {
                sleep(lost ? LOST_MS - (System.nanoTime() - wentOn) / 1_000_000 : self.ran() ? 0 : IDLE_MS);
                wentOn = System.nanoTime();
                return byRows(start);
            }
            sleep(Math.min(early, LOST_MS)); // and ask again meanwhile
        }
    }

    /** How many ms too early it would be to sweep the watermark of `start`: it may have been announced ahead of its time. */
    private long early(ControlOffset start) {
        if (!start.live()) {
            return 0;
        }
        if (start.wm() != ahead) { // an earlier run of this query was told of it: only the wall clock is left
            awaits(start.wm(), System.currentTimeMillis());
        }
        return aheadUntil - System.nanoTime() / 1_000_000;
    }

    /** A watermark is announced at the moment `now` of the clock that rules it; from here on by the clock that cannot be set. */
    private void awaits(long watermark, long now) {
        ahead = watermark;
        aheadUntil = System.nanoTime() / 1_000_000 + Math.min(watermark - now, MOST_AHEAD_MS) + self.patience();
    }

    /** What stock Spark would do. An offset that stays as it is makes no batch, unless a source has rows or Spark has more to
     * put out; so a run that is to end does. */
    private ControlOffset byRows(ControlOffset start) {
        Long watermark = self.watermark();
        boolean moves = watermark != null && watermark > start.wm();
        // How much of a stream is taken rides in the offset, and how sure answers are: a batch with rows, and one that puts
        // out, needs a new one.
        boolean sampled = start.sampled() != null && (self.hadRows() || moved);
        moved = moves;
        return moves || sampled ? start.byRows(watermark) : start;
    }

    @Override
    long[] row(ControlOffset start, ControlOffset end) {
        return end.wm() <= start.wm() ? null : new long[] {(end.wm() + shiftMs) * 1000};
    }

    @Override
    public void stop() {
        line.hangUp();
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(Math.max(0, ms));
        } catch (InterruptedException stopped) {
            throw new UncheckedIOException(new InterruptedIOException("the query was stopped"));
        }
    }

    /** Once, until it is something else. */
    private void say(String text) {
        if (!text.equals(said)) {
            System.err.println("headway: " + text);
            said = text;
        }
    }
}
