package headway;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The control source inside the JVM: what `spark/channel/control.py` says holds here word for word. */
public final class Control extends OneRowSource {
    @Override
    public String shortName() {
        return "headway-control";
    }

    @Override
    StructType schema() {
        return new StructType().add("at", DataTypes.TimestampType);
    }

    @Override
    ControlStream stream(CaseInsensitiveStringMap options, String checkpoint) {
        return new ControlStream(options, checkpoint);
    }
}
