package headway;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** A stream whose batches hold the one row that two offsets give, or none. */
abstract class OneRowStream<O extends Offset> extends OffsetStream<O> {

    /** The row of the batch between two offsets; null if it has none. */
    abstract long[] row(O start, O end);

    @Override
    @SuppressWarnings("unchecked") // as in `latestOffset`
    public final InputPartition[] planInputPartitions(Offset start, Offset end) {
        long[] row = row((O) start, (O) end);
        return row == null ? new InputPartition[0] : new InputPartition[] {new Row(row)};
    }

    @Override
    public final PartitionReaderFactory createReaderFactory() {
        return new Readers();
    }

    private record Row(long[] values) implements InputPartition {}

    private record Readers() implements PartitionReaderFactory {
        @Override
        public PartitionReader<InternalRow> createReader(InputPartition partition) {
            long[] values = ((Row) partition).values();
            Object[] boxed = new Object[values.length];
            for (int i = 0; i < values.length; i++) {
                boxed[i] = values[i];
            }
            return new PartitionReader<InternalRow>() {
                private boolean read;

                @Override
                public boolean next() {
                    boolean first = !read;
                    read = true;
                    return first;
                }

                @Override
                public InternalRow get() {
                    return new GenericInternalRow(boxed);
                }

                @Override
                public void close() {}
            };
        }
    }
}
