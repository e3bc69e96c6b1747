package headway;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * Late rows that a side table should hold and does not, by query and input, since this JVM was started.
 *
 * <p>Tasks count them wherever they run, and Spark brings the counts to the driver, from tasks that succeeded. There is one of
 * these for each folder, which the driver keeps.
 */
public final class LateLoss extends AccumulatorV2<LateLoss.Rows, List<LateLoss.Rows>> {
    /** So many rows of one input, refused by one query. */
    public record Rows(String query, String source, long rows) implements Serializable {}

    private static final Map<String, LateLoss> OF = new ConcurrentHashMap<>();
    private final Map<List<String>, Long> lost = new ConcurrentHashMap<>();

    /** That of a folder; on the driver. */
    static LateLoss of(String folder) {
        return OF.compute(folder, (name, known) -> {
            if (known != null && AccumulatorContext.get(known.id()).isDefined()) {
                return known;
            }
            LateLoss made = new LateLoss();
            SparkContext.getOrCreate().register(made);
            return made;
        });
    }

    /** What was lost of a folder's rows so far. */
    public static List<Rows> unkept(String folder) {
        LateLoss known = OF.get(folder);
        return known == null ? List.of() : known.value();
    }

    @Override
    public void add(Rows more) {
        lost.merge(List.of(more.query(), more.source()), more.rows(), Long::sum);
    }

    @Override
    public void merge(AccumulatorV2<Rows, List<Rows>> other) {
        other.value().forEach(this::add);
    }

    @Override
    public List<Rows> value() {
        return lost.entrySet().stream().map(e -> new Rows(e.getKey().get(0), e.getKey().get(1), e.getValue())).toList();
    }

    @Override
    public boolean isZero() {
        return lost.isEmpty();
    }

    @Override
    public AccumulatorV2<Rows, List<Rows>> copy() {
        LateLoss same = new LateLoss();
        same.lost.putAll(lost);
        return same;
    }

    @Override
    public void reset() {
        lost.clear();
    }
}
