package headway;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** An aggregate that looks at each row once and answers with JSON: what Spark wants to know of every one of that kind. */
abstract class OnePass<B> extends TypedImperativeAggregate<B> implements Serializable {
    final Expression[] given;
    final long[] set; // numbers that go with it
    private final int into;
    private final int from;

    OnePass(Expression[] given, long[] set, int into, int from) {
        this.given = given;
        this.set = set;
        this.into = into;
        this.from = from;
    }

    static Expression[] expressions(Seq<Column> columns) {
        return CollectionConverters.asJava(columns).stream().map(ExpressionUtils::expression).toArray(Expression[]::new);
    }

    Column asColumn() {
        return ExpressionUtils.column(toAggregateExpression());
    }

    abstract OnePass<B> like(Expression[] given, int into, int from);

    abstract void write(B sums, DataOutputStream out) throws IOException;

    abstract void read(B sums, DataInputStream in) throws IOException;

    @Override
    public byte[] serialize(B sums) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            write(sums, out);
        } catch (IOException never) {
            throw new UncheckedIOException(never);
        }
        return bytes.toByteArray();
    }

    @Override
    public B deserialize(byte[] bytes) {
        B sums = createAggregationBuffer();
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            read(sums, in);
        } catch (IOException never) {
            throw new UncheckedIOException(never);
        }
        return sums;
    }

    @Override
    public DataType dataType() {
        return DataTypes.StringType;
    }

    @Override
    public boolean nullable() {
        return false;
    }

    @Override
    public Seq<Expression> children() {
        return CollectionConverters.asScala(new ArrayList<>(List.of(given))).toSeq();
    }

    @Override
    public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
        return like(CollectionConverters.asJava(children).toArray(Expression[]::new), into, from);
    }

    @Override
    public int mutableAggBufferOffset() {
        return into;
    }

    @Override
    public int inputAggBufferOffset() {
        return from;
    }

    @Override
    public ImperativeAggregate withNewMutableAggBufferOffset(int offset) {
        return like(given, offset, from);
    }

    @Override
    public ImperativeAggregate withNewInputAggBufferOffset(int offset) {
        return like(given, into, offset);
    }

    @Override
    public int productArity() {
        return 4;
    }

    @Override
    public Object productElement(int n) {
        return switch (n) {
            case 0 -> children();
            case 1 -> Arrays.toString(set);
            case 2 -> into;
            default -> from;
        };
    }

    @Override
    public boolean canEqual(Object other) {
        return getClass().isInstance(other);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof OnePass<?> that && getClass() == that.getClass() && Arrays.equals(given, that.given)
                && Arrays.equals(set, that.set) && into == that.into && from == that.from;
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(given);
    }
}
