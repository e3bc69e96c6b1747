package headway;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A streaming source of at most one row per micro-batch: all that Spark wants to hear about it besides its stream. */
abstract class OneRowSource implements TableProvider, DataSourceRegister {

    abstract StructType schema();

    /** The stream of one query, which keeps what is its own at `checkpoint`. */
    abstract OneRowStream<?> stream(CaseInsensitiveStringMap options, String checkpoint);

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return schema();
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
            return OneRowSource.this.schema();
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> new Scan() {
                @Override
                public StructType readSchema() {
                    return OneRowSource.this.schema();
                }

                @Override
                public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
                    return stream(options, checkpointLocation);
                }
            };
        }
    }
}
