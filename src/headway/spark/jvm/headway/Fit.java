package headway;

import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;

/** Whether this jar was compiled for the Spark that it finds itself in: 4.0 has the classes of a query in another package. */
public final class Fit {
    private Fit() {}

    public static boolean fits() {
        try {
            return !StreamExecution.class.getName().isEmpty();
        } catch (NoClassDefFoundError missing) {
            return false;
        }
    }
}
