package headway;

import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The clock source inside the JVM: what `clock.py` says holds here word for word. */
public final class Clock extends OneRowSource {
    @Override
    public String shortName() {
        return "headway-clock";
    }

    @Override
    StructType schema() {
        return new StructType().add("since", DataTypes.LongType).add("until", DataTypes.LongType);
    }

    @Override
    OneRowStream stream(CaseInsensitiveStringMap options, String checkpoint) {
        Time time = new Time(options);
        return new OneRowStream() {
            @Override
            public Offset initialOffset() {
                return time.first();
            }

            @Override
            Fields next(Fields start) {
                return time.next(start);
            }

            @Override
            long[] row(Fields start, Fields end) {
                return end.get("ms") <= start.get("ms") ? null : new long[] {start.get("ms"), end.get("ms")};
            }
        };
    }
}
