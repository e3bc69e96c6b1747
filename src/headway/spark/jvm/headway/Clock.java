package headway;

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
    OneRowStream<MillisOffset> stream(CaseInsensitiveStringMap options, String checkpoint) {
        Time time = new Time(options);
        return new OneRowStream<>() {
            @Override
            public MillisOffset initialOffset() {
                return time.first();
            }

            @Override
            public MillisOffset deserializeOffset(String json) {
                return MillisOffset.of(json);
            }

            @Override
            MillisOffset next(MillisOffset start) {
                return time.next(start);
            }

            @Override
            long[] row(MillisOffset start, MillisOffset end) {
                return end.ms() <= start.ms() ? null : new long[] {start.ms(), end.ms()};
            }
        };
    }
}
