package headway;

import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;

/** A stream that needs nothing but its offsets: what lies between two of them is always the same. */
abstract class OffsetStream<O extends Offset> implements MicroBatchStream, SupportsAdmissionControl {

    /** Where the next batch ends if it begins at `start`; may block. */
    abstract O next(O start);

    @Override
    public abstract O initialOffset();

    @Override
    public abstract O deserializeOffset(String json);

    @Override
    @SuppressWarnings("unchecked") // Spark gives back what it was given, or what was read by the method above
    public final Offset latestOffset(Offset start, ReadLimit limit) {
        return next((O) start);
    }

    @Override
    public final Offset latestOffset() {
        throw new UnsupportedOperationException("Spark asks a source that can be limited with the offset it starts from");
    }

    @Override
    public void commit(Offset end) {
        // Nothing to forget: Spark's own log holds all there is.
    }

    @Override
    public void stop() {}
}
