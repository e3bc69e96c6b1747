package headway;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RuntimeConfig;
import scala.Function2;
import scala.Option;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * What a user does in `foreachBatch` goes by the user's settings, not by those that were chosen for the stream: a merge into a
 * large table wants more than one partition. The stream's own plan for this batch has been made by then.
 */
public final class OwnWork extends AbstractFunction2<Dataset<Row>, Object, BoxedUnit> {
    private final Function2<Dataset<Row>, Object, BoxedUnit> work;
    private final String[] ours;

    /** `ours` are settings that the user has not made: without them the session's defaults hold. */
    public OwnWork(Function2<Dataset<Row>, Object, BoxedUnit> work, String ours) {
        this.work = work;
        this.ours = ours.split(",");
    }

    @Override
    public BoxedUnit apply(Dataset<Row> batch, Object number) {
        RuntimeConfig conf = batch.sparkSession().conf();
        Map<String, String> before = new LinkedHashMap<>();
        for (String key : ours) {
            Option<String> value = conf.getOption(key);
            if (value.isDefined()) {
                before.put(key, value.get());
                conf.unset(key);
            }
        }
        try {
            return work.apply(batch, number);
        } finally {
            before.forEach(conf::set);
        }
    }
}
