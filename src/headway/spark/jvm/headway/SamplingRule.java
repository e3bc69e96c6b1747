package headway;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import scala.jdk.javaapi.CollectionConverters;

/** Tells the marks of `Sampling`, in each batch's plan, how much that batch takes. */
final class SamplingRule extends Rule<SparkPlan> {

    @Override
    public SparkPlan apply(SparkPlan plan) {
        return plan.exists(node -> marked(node)) ? tell(plan, Sampling.of(offset(plan))) : plan;
    }

    private static SparkPlan tell(SparkPlan plan, Sampling told) {
        NodeReplacement<Expression> replace = new NodeReplacement<>() {
            @Override
            Expression replaced(Expression found) {
                return mark(found) ? bound((Invoke) found, told) : found;
            }
        };
        return (SparkPlan) plan.transformUp(new NodeReplacement<SparkPlan>() {
            @Override
            SparkPlan replaced(SparkPlan node) {
                return marked(node) ? (SparkPlan) node.transformExpressionsUp(replace) : node;
            }
        });
    }

    private static Expression bound(Invoke mark, Sampling told) {
        return told.call(mark.functionName(), CollectionConverters.asJava(mark.arguments()), mark.dataType());
    }

    /** Up to where this batch reads from the control source; null if it reads nothing from it. */
    private static ControlOffset offset(SparkPlan plan) {
        for (SparkPlan leaf : CollectionConverters.asJava(plan.collectLeaves())) {
            if (leaf instanceof MicroBatchScanExec scan && scan.stream() instanceof ControlStream) {
                return ControlOffset.of(scan.end().json());
            }
        }
        return null;
    }

    private static boolean marked(SparkPlan node) {
        return node.expressions().exists(expression -> expression.exists(found -> mark(found)));
    }

    private static boolean mark(Expression found) {
        return found instanceof Invoke call && call.targetObject() instanceof Literal target
                && target.value() instanceof Sampling sampling && !sampling.bound();
    }
}
