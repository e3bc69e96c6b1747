package headway;

import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.streaming.StreamingQueryProgress;
import scala.runtime.BoxedUnit;

/**
 * The query that a control source belongs to, seen from inside: who it is, and how far its rows have come.
 *
 * <p>To be made and asked on the thread of the query, which Spark tells whose it is. An input is told by the metric that counts
 * its rows, `headway:NAME/PATIENCE_MS` (see `plan.py`).
 */
final class QuerySelf {
    private static final String METRICS = "headway:";
    private static final int FIRST_LETTERS = 400;
    private static final long LATEST = 253_055_232_000_000L; // see `model/time.py`
    private static final Pattern NEWEST = Pattern.compile("\"newest\": (-?\\d+)");
    private static final Pattern FOREMOST = Pattern.compile("\"foremost\": (-?\\d+)");
    private static final Pattern ROWS = Pattern.compile("\"rows\": (\\d+)");

    private final String id;
    private final String run;
    private final Map<String, Long> newest = new TreeMap<>(); // by metric; null where no row was seen yet
    private StreamExecution query;
    private StreamingQueryProgress last;
    private boolean ran;
    private boolean hadRows;

    QuerySelf() {
        SparkContext context = SparkContext.getOrCreate();
        id = context.getLocalProperty("sql.streaming.queryId");
        run = context.getLocalProperty("spark.jobGroup.id"); // a run's jobs are a group of this name
    }

    String id() {
        return id;
    }

    /** Which of the runs of the query: it has a new one whenever it is started. */
    String run() {
        return run;
    }

    /** Take in the report of the last batch, if there was one since the last look. */
    void look() {
        ran = false;
        if (!known()) {
            return;
        }
        StreamingQueryProgress progress = query.lastProgress();
        // An idle query reports too, of no batch.
        if (progress == null || progress == last || !progress.durationMs().containsKey("addBatch")) {
            return;
        }
        last = progress;
        ran = true;
        hadRows = false;
        newest.replaceAll((metric, before) -> {
            Row told = progress.observedMetrics().get(metric);
            if (told == null) {
                return before;
            }
            String tally = told.getAs("tally");
            Long rows = number(tally, ROWS);
            hadRows |= rows != null && rows > 0;
            Long now = number(tally, NEWEST);
            if (now == null) {
                Long foremost = number(tally, FOREMOST); // all of its rows are ahead of this machine's clock: then that is wrong
                now = foremost == null ? null : Long.valueOf(Math.min(foremost, LATEST));
            }
            return now == null || before != null && before > now ? before : now;
        });
    }

    /** Whether a batch has run between the last two looks. */
    boolean ran() {
        return ran;
    }

    /** Whether that batch had rows. */
    boolean hadRows() {
        return ran && hadRows;
    }

    /** The watermark of stock Spark: the newest row, minus the patience, of the input that is furthest behind; null as long
     * as one of them has had no row. */
    Long watermark() {
        Long least = null;
        for (Map.Entry<String, Long> input : newest.entrySet()) {
            if (input.getValue() == null) {
                return null;
            }
            long own = input.getValue() - patience(input.getKey());
            least = least == null ? own : Math.min(least, own);
        }
        return least;
    }

    /** How long after its end a window is waited for, by the most patient of the inputs. */
    long patience() {
        known();
        return newest.keySet().stream().mapToLong(QuerySelf::patience).max().orElse(0);
    }

    private boolean known() {
        if (query == null && id != null) {
            query = SparkSession.active().sharedState().activeStreamingQueries().get(UUID.fromString(id));
            if (query != null) {
                query.analyzedPlan().foreach(node -> {
                    if (node instanceof CollectMetrics metrics && metrics.name().startsWith(METRICS)) {
                        newest.put(metrics.name(), null);
                    }
                    return BoxedUnit.UNIT;
                });
            }
        }
        return query != null;
    }

    private static long patience(String metric) {
        return Long.parseLong(metric.substring(metric.lastIndexOf('/') + 1));
    }

    /** A figure of an input's tally: a text that begins with them and can be long. */
    private static Long number(String tally, Pattern pattern) {
        Matcher found = pattern.matcher(tally).region(0, Math.min(FIRST_LETTERS, tally.length()));
        return found.find() ? Long.valueOf(found.group(1)) : null;
    }
}
