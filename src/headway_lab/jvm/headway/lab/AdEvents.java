package headway.lab;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The Yahoo workload's events as a source: what `Ysb.expand` says in SQL, event by event, without a plan to pay for. */
public final class AdEvents implements TableProvider, DataSourceRegister {
    private static final StructType SCHEMA = new StructType()
            .add("event_time", DataTypes.TimestampType, false)
            .add("arrival", DataTypes.TimestampType, false)
            .add("user_id", DataTypes.StringType, false)
            .add("page_id", DataTypes.StringType, false)
            .add("ad_id", DataTypes.StringType, false)
            .add("ad_type", DataTypes.StringType, false)
            .add("event_type", DataTypes.StringType, false)
            .add("ip_address", DataTypes.StringType, false);

    @Override
    public String shortName() {
        return "headway-ad-events";
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return SCHEMA;
    }

    @Override
    public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Source();
    }

    private final class Source implements Table, SupportsRead {
        @Override
        public String name() {
            return shortName();
        }

        @Override
        @SuppressWarnings("deprecation") // what replaces it is built from this
        public StructType schema() {
            return SCHEMA;
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return new Reading(options);
        }
    }

    /** Columns that a query does not use are not made. */
    private static final class Reading implements ScanBuilder, SupportsPushDownRequiredColumns, Scan {
        private final CaseInsensitiveStringMap options;
        private StructType wanted = SCHEMA;

        Reading(CaseInsensitiveStringMap options) {
            this.options = options;
        }

        @Override
        public void pruneColumns(StructType required) {
            wanted = required;
        }

        @Override
        public Scan build() {
            return this;
        }

        @Override
        public StructType readSchema() {
            return wanted;
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            return new Stream(new WallTime(options), AdReader.Plan.of(options, wanted.fieldNames()));
        }
    }

    /** The rows between two offsets are always the same, so Spark's own log holds all there is to keep. */
    private static final class Stream implements MicroBatchStream, SupportsAdmissionControl {
        private final WallTime time;
        private final AdReader.Plan plan;

        Stream(WallTime time, AdReader.Plan plan) {
            this.time = time;
            this.plan = plan;
        }

        @Override
        public MillisOffset initialOffset() {
            return time.first();
        }

        @Override
        public MillisOffset deserializeOffset(String json) {
            return MillisOffset.of(json);
        }

        @Override
        public Offset latestOffset(Offset start, ReadLimit limit) {
            return time.next((MillisOffset) start);
        }

        @Override
        public Offset latestOffset() {
            throw new UnsupportedOperationException("Spark asks a source that can be limited with the offset it starts from");
        }

        @Override
        public void commit(Offset end) {}

        @Override
        public void stop() {}

        @Override
        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            long since = ((MillisOffset) start).ms();
            long until = ((MillisOffset) end).ms();
            return until <= since ? new InputPartition[0] : new InputPartition[] {new AdReader.Interval(plan, since, until)};
        }

        @Override
        public PartitionReaderFactory createReaderFactory() {
            return new AdReader.Factory();
        }
    }
}
