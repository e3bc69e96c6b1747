package headway;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ExpandExec;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.SessionWindowStateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreSaveExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport;
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport$;
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate.FlatMapGroupsWithStateExecBase;
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinExec;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution$;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tells a side table's mark, in each batch's plan, which of its rows that batch refuses.
 *
 * <p>The operator of the plan that refuses them is asked: the one nearest to the mark that drops late rows. It knows the
 * watermark of this batch, also after a restart, and by which column it goes; that column is followed down to the mark, where
 * it is an expression of the row: its window, or one for each window it is in. So what is late here is what Spark drops.
 */
final class LateRule extends Rule<SparkPlan> {

    /** An operator that drops late rows, and by what, in terms of the node that we have come down to. */
    private record Refusing(StatefulOperator operator, long watermarkMs, List<Expression> times) {}

    @Override
    public SparkPlan apply(SparkPlan plan) {
        return new Walk().down(plan, null);
    }

    private static final class Walk {
        private int branches;

        SparkPlan down(SparkPlan plan, Refusing above) {
            List<SparkPlan> before = CollectionConverters.asJava(plan.children());
            List<SparkPlan> after = new ArrayList<>();
            boolean same = true;
            for (int i = 0; i < before.size(); i++) {
                SparkPlan child = before.get(i);
                SparkPlan told = down(child, below(plan, i, child, above));
                same &= told == child;
                after.add(told);
            }
            SparkPlan whole = same ? plan : (SparkPlan) plan.withNewChildren(seq(after));
            return plan instanceof FilterExec filter && marked(filter.condition()) ? tell(whole, above) : whole;
        }

        private SparkPlan tell(SparkPlan filter, Refusing above) {
            int branch = branches++;
            if (queryId(filter) == null) {
                return filter; // somebody only wants to see the plan
            }
            return (SparkPlan) filter.transformExpressionsUp(new NodeReplacement<Expression>() {
                @Override
                Expression replaced(Expression found) {
                    return mark(found) == null ? found : condition((Invoke) found, filter, above, branch);
                }
            });
        }
    }

    private static Refusing below(SparkPlan node, int side, SparkPlan child, Refusing above) {
        Option<Object> watermark = refuses(node, side);
        if (watermark.isDefined()) {
            Option<Attribute> time = WatermarkSupport$.MODULE$.findEventTimeColumn(child.output(), true);
            if (time.isDefined()) {
                return new Refusing((StatefulOperator) node, (Long) watermark.get(), List.of(time.get()));
            }
        }
        if (above == null) {
            return null;
        }
        List<Expression> times = new ArrayList<>();
        for (Map<ExprId, Expression> meaning : meanings(node, child)) {
            for (Expression time : above.times()) {
                Expression meant = meant(time, meaning);
                if (!times.contains(meant)) {
                    times.add(meant);
                }
            }
        }
        return new Refusing(above.operator(), above.watermarkMs(), times);
    }

    /** The watermark by which an operator drops rows from one of its sides, if it does. */
    private static Option<Object> refuses(SparkPlan node, int side) {
        if (node instanceof StreamingSymmetricHashJoinExec join) {
            return join.eventTimeWatermarkForLateEvents();
        }
        boolean drops = node instanceof WatermarkSupport && side == 0 && !(node instanceof SessionWindowStateStoreSaveExec);
        if (node instanceof StateStoreSaveExec save) {
            drops = !save.outputMode().contains(OutputMode.Complete());
        } else if (node instanceof FlatMapGroupsWithStateExecBase groups) {
            drops = side == 0 && groups.timeoutConf() == GroupStateTimeout.EventTimeTimeout();
        }
        return drops ? ((WatermarkSupport) node).eventTimeWatermarkForLateEvents() : Option.empty();
    }

    /** What a node's columns are in terms of its child's: one way, or for sliding windows several at once. */
    private static List<Map<ExprId, Expression>> meanings(SparkPlan node, SparkPlan child) {
        if (node instanceof ExpandExec expand) {
            List<Map<ExprId, Expression>> all = new ArrayList<>();
            expand.projections().foreach(one -> all.add(pairs(expand.output(), one)));
            return all;
        }
        if (node instanceof UnionExec) {
            return List.of(pairs(node.output(), child.output()));
        }
        Map<ExprId, Expression> named = new HashMap<>();
        node.expressions().foreach(found -> found instanceof Alias alias ? named.put(alias.exprId(), alias.child()) : null);
        return List.of(named);
    }

    private static Map<ExprId, Expression> pairs(Seq<Attribute> names, Seq<? extends Expression> values) {
        Map<ExprId, Expression> pairs = new HashMap<>();
        for (int i = 0; i < names.size(); i++) {
            pairs.put(names.apply(i).exprId(), values.apply(i));
        }
        return pairs;
    }

    private static Expression meant(Expression time, Map<ExprId, Expression> meaning) {
        return (Expression) time.transformUp(new NodeReplacement<Expression>() {
            @Override
            Expression replaced(Expression found) {
                return found instanceof Attribute name ? meaning.getOrDefault(name.exprId(), found) : found;
            }
        });
    }

    /** True for every row; of those that this batch refuses, wholly or in part, it writes down that they came. */
    private static Expression condition(Invoke mark, SparkPlan filter, Refusing above, int branch) {
        List<Tuple2<Expression, Expression>> cases = new ArrayList<>();
        Late late = mark(mark).in(batch(filter, above, branch));
        List<Expression> told = new ArrayList<>(CollectionConverters.asJava(mark.arguments()));
        Expression future = told.remove(3);
        if (!(future instanceof Literal)) { // a row beyond the horizon: whatever is above, it will not get there
            cases.add(new Tuple2<>(new IsNotNull(future), late.call(Late.AHEAD, List.of(future, told.get(1), told.get(2)))));
        }
        if (above != null) {
            cases.add(late(late, told, filter, above));
        }
        return cases.isEmpty() ? Literal.TrueLiteral() : new CaseWhen(seq(cases), Option.apply(Literal.TrueLiteral()));
    }

    /** When a row may be late, and what is done about it. */
    private static Tuple2<Expression, Expression> late(Late late, List<Expression> told, SparkPlan filter, Refusing above) {
        Expression time = told.get(0);
        List<Expression> ends = new ArrayList<>();
        boolean old = true; // a row is refused only if its event time is behind the watermark
        for (Expression found : above.times()) {
            // A column that cannot be followed down to here is no event time of ours; by its own it may be late.
            Expression known = found.references().subsetOf(filter.outputSet()) ? found : time;
            boolean window = known.dataType() instanceof StructType;
            old &= window || known.semanticEquals(time);
            ends.add(window ? end(known, time) : known);
        }
        Expression maybe = old ? new LessThanOrEqual(time, watermark(above, time)) : new IsNotNull(time);
        List<Expression> given = new ArrayList<>(told);
        given.add(new CreateArray(seq(ends)));
        return new Tuple2<>(maybe, late.call(Late.KEEP, given));
    }

    /** Wrapped up, because a plain number would be part of generated code, which then were new and slow in every batch. */
    private static Expression watermark(Refusing above, Expression time) {
        StructType type = new StructType().add("watermark", time.dataType(), false);
        Object micros = above.watermarkMs() * 1000;
        return new GetStructField(new Literal(new GenericInternalRow(new Object[] {micros}), type), 0, Option.empty());
    }

    /** When a window ends; null where it is one that the row is not in. */
    private static Expression end(Expression window, Expression time) {
        Expression start = new GetStructField(window, 0, Option.empty());
        Expression end = new GetStructField(window, 1, Option.empty());
        Expression in = new And(new LessThanOrEqual(start, time), new GreaterThan(end, time));
        return new If(in, end, new Literal(null, end.dataType()));
    }

    private static LateBatch batch(SparkPlan plan, Refusing above, int branch) {
        String id = queryId(plan);
        StreamExecution query = plan.session().sharedState().activeStreamingQueries().get(UUID.fromString(id));
        String name = query == null || query.name() == null ? id : query.name();
        if (above == null) { // no operator that knows: the query itself does
            return query == null ? null : new LateBatch(
                    name, id, query.runId().toString(), query.getLatestExecutionContext().batchId(), branch, 0);
        }
        var state = above.operator().getStateInfo();
        return new LateBatch(
                name, id, state.queryRunId().toString(), state.storeVersion(), branch, above.watermarkMs() * 1000);
    }

    private static String queryId(SparkPlan plan) {
        return plan.session().sparkContext().getLocalProperty(StreamExecution$.MODULE$.QUERY_ID_KEY());
    }

    private static boolean marked(Expression condition) {
        return condition.exists(found -> mark(found) != null);
    }

    /** The side table that an expression marks; null if it is anything else. */
    private static Late mark(Expression found) {
        boolean ours = found instanceof Invoke call && call.targetObject() instanceof Literal target
                && target.value() instanceof Late late && !late.bound();
        return ours ? (Late) ((Literal) ((Invoke) found).targetObject()).value() : null;
    }

    private static <T> Seq<T> seq(List<T> list) {
        return CollectionConverters.asScala(list).toSeq();
    }
}
