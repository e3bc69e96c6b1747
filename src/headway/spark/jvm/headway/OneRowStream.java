package headway;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;

/** A stream whose batches hold the one row that two offsets give, or none. */
abstract class OneRowStream implements MicroBatchStream, SupportsAdmissionControl {

    /** Where the next batch ends if it begins at `start`; may block. */
    abstract Fields next(Fields start);

    /** The row of the batch between two offsets; null if it has none. */
    abstract long[] row(Fields start, Fields end);

    @Override
    public final Offset latestOffset(Offset start, ReadLimit limit) {
        return next((Fields) start);
    }

    @Override
    public final Offset latestOffset() {
        throw new UnsupportedOperationException("Spark asks a source that can be limited with the offset it starts from");
    }

    @Override
    public final Offset deserializeOffset(String json) {
        return Fields.of(json);
    }

    @Override
    public final InputPartition[] planInputPartitions(Offset start, Offset end) {
        long[] row = row((Fields) start, (Fields) end);
        return row == null ? new InputPartition[0] : new InputPartition[] {new Row(row)};
    }

    @Override
    public final PartitionReaderFactory createReaderFactory() {
        return new Readers();
    }

    @Override
    public void commit(Offset end) {
        // Nothing to forget: Spark's own log holds all there is.
    }

    @Override
    public void stop() {}

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
