package headway;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator;
import org.apache.spark.sql.internal.SQLConf;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * For `spark.sql.extensions`: tells side tables which rows are late (`LateRule`), and takes from a streaming query's physical
 * plan what no task needs, where `spark.headway.lean` is set.
 *
 * Spark serialises an operator with all below it several times per batch, once for each aggregate and each state store,
 * only to see whether it could. And every operator carries the logical plan it came from. So the logical plans go, and what
 * is below such an operator is cut off from it.
 */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectColumnar(session -> new BatchPlans());
        extensions.injectColumnar(session -> new LeanPlans());
        return BoxedUnit.UNIT;
    }

    /** Tells a batch's plan what only this batch knows. Runs before the other: a plan that has been cut cannot be followed. */
    private static final class BatchPlans extends ColumnarRule {
        @Override
        public Rule<SparkPlan> preColumnarTransitions() {
            Rule<SparkPlan> late = new LateRule();
            Rule<SparkPlan> sampling = new SamplingRule();
            return new Rule<>() {
                @Override
                public SparkPlan apply(SparkPlan plan) {
                    return sampling.apply(late.apply(plan));
                }
            };
        }
    }

    /** Runs when all rules that look at the logical plan have run. */
    private static final class LeanPlans extends ColumnarRule {
        @Override
        public Rule<SparkPlan> postColumnarTransitions() {
            return new Lean();
        }
    }

    private static final class Lean extends Rule<SparkPlan> {
        @Override
        public SparkPlan apply(SparkPlan plan) {
            SQLConf conf = SQLConf.get();
            boolean wanted = Boolean.parseBoolean(conf.getConfString("spark.headway.lean", "false"));
            if (!wanted || !plan.logicalLink().exists(link -> link.isStreaming()) || adaptive(plan, conf)) {
                return plan;
            }
            // Generated code is made for chains of operators; a cut would part them.
            SparkPlan lean = conf.wholeStageEnabled() ? plan : cut(plan);
            lean.foreach(node -> {
                node.unsetTagValue(SparkPlan.LOGICAL_PLAN_TAG());
                node.unsetTagValue(SparkPlan.LOGICAL_PLAN_INHERITED_TAG());
                return BoxedUnit.UNIT;
            });
            return lean;
        }

        /**
         * Whether Spark may plan it again while it runs, stage by stage, from the logical plans: it does so with no plan that
         * has state. What comes here may be one stage of many, so an exchange is nothing to go by.
         */
        private static boolean adaptive(SparkPlan plan, SQLConf conf) {
            return conf.adaptiveExecutionEnabled() && alsoStreams(conf)
                    && !plan.exists(node -> node instanceof StatefulOperator);
        }

        private static boolean alsoStreams(SQLConf conf) {
            try {
                return Boolean.parseBoolean(conf.getConfString("spark.sql.adaptive.streaming.stateless.enabled"));
            } catch (NoSuchElementException unknown) {
                return false; // Spark 4.0 plans no stream again
            }
        }

        /** The plan with a cut below every operator whose tasks carry the operator itself. */
        private static SparkPlan cut(SparkPlan plan) {
            boolean carried = plan instanceof BaseAggregateExec || plan instanceof StatefulOperator;
            List<SparkPlan> children = new ArrayList<>();
            for (SparkPlan child : CollectionConverters.asJava(plan.children())) {
                SparkPlan lean = cut(child);
                children.add(carried ? new PlanBoundary(lean) : lean);
            }
            return children.isEmpty() ? plan : (SparkPlan) plan.withNewChildren(CollectionConverters.asScala(children).toSeq());
        }
    }
}
