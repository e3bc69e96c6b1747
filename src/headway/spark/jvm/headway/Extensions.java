package headway;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.internal.SQLConf;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * For `spark.sql.extensions`: takes from a streaming query's physical plan what no task needs, where `spark.headway.lean`
 * is set.
 *
 * Spark serialises an operator with all below it several times per batch, once for each aggregate and each state store,
 * only to see whether it could. And every operator carries the logical plan it came from, which is most of those bytes.
 */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectColumnar(session -> new Unlinked());
        return BoxedUnit.UNIT;
    }

    /** Runs when all rules that look at the logical plan have run. */
    private static final class Unlinked extends ColumnarRule {
        @Override
        public Rule<SparkPlan> postColumnarTransitions() {
            return new Unlink();
        }
    }

    private static final class Unlink extends Rule<SparkPlan> {
        @Override
        public SparkPlan apply(SparkPlan plan) {
            if (wanted() && plan.logicalLink().exists(link -> link.isStreaming())) {
                plan.foreach(node -> {
                    node.unsetTagValue(SparkPlan.LOGICAL_PLAN_TAG());
                    node.unsetTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG());
                    return BoxedUnit.UNIT;
                });
            }
            return plan;
        }

        private static boolean wanted() {
            return Boolean.parseBoolean(SQLConf.get().getConfString("spark.headway.lean", "false"));
        }
    }
}
