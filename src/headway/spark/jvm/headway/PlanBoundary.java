package headway;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An operator that hands on what is below it and is not there for tasks: whoever serialises an operator above gets as far as
 * here. What a task may still ask for, the columns, comes along.
 */
final class PlanBoundary extends SparkPlan {
    private final transient SparkPlan child;
    private final Seq<Attribute> columns;

    PlanBoundary(SparkPlan child) {
        this.child = child;
        this.columns = child.output();
    }

    @Override
    public Seq<Attribute> output() {
        return columns;
    }

    @Override
    public Seq<SparkPlan> children() {
        return CollectionConverters.asScala(child == null ? java.util.List.<SparkPlan>of() : java.util.List.of(child)).toSeq();
    }

    @Override
    public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
        return new PlanBoundary(children.head());
    }

    @Override
    public RDD<InternalRow> doExecute() {
        return child.execute();
    }

    @Override
    public Partitioning outputPartitioning() {
        return child.outputPartitioning();
    }

    @Override
    public Seq<SortOrder> outputOrdering() {
        return child.outputOrdering();
    }

    @Override
    public int productArity() {
        return 0;
    }

    @Override
    public Object productElement(int n) {
        throw new IndexOutOfBoundsException(n);
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof PlanBoundary;
    }
}
