package headway;

import com.fasterxml.jackson.databind.node.TextNode;
import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The side table of one input, as a condition in its plan that every row meets.
 *
 * <p>A plan cannot know the watermark that will refuse its rows. So the condition is a mere mark there, and `LateRule` puts in
 * its place, batch by batch, the comparison with the very watermark that the batch refuses rows by.
 */
public final class Late implements Serializable {
    static final String MARK = "mark";
    static final String KEEP = "keep";
    static final String AHEAD = "ahead";
    private final String folder;
    private final String source;
    private final LateLoss loss;
    private final LateBatch batch; // null in a mark

    private Late(String folder, String source, LateLoss loss, LateBatch batch) {
        this.folder = folder;
        this.source = source;
        this.loss = loss;
        this.batch = batch;
    }

    /**
     * The condition for an input's plan: its event time, the row as JSON, its partition or null, and its true event time if
     * that is beyond the horizon, else null.
     */
    public static Column column(String folder, String source, Column time, Column row, Column partition, Column future) {
        List<Expression> given = List.of(time, row, partition, future).stream().map(ExpressionUtils::expression).toList();
        return ExpressionUtils.column(new Late(folder, source, LateLoss.of(folder), null).call(MARK, given));
    }

    /** Why this folder cannot be written to, in one line; null if it can. */
    public static String refusal(String folder, Configuration conf) {
        try {
            LocalCheckpoints files = new LocalCheckpoints(new Path(folder), conf);
            Path probe = new Path(folder, ".probe-" + UUID.randomUUID());
            FSDataOutputStream out = files.createAtomic(probe, true);
            out.write('\n');
            out.close();
            files.delete(probe);
            return null;
        } catch (Exception error) {
            return (error.getClass().getSimpleName() + ": " + error.getMessage()).lines().findFirst().orElse("");
        }
    }

    /** The same folder by a name that every process understands. */
    public static String qualified(String folder, Configuration conf) throws IOException {
        Path path = new Path(folder);
        return path.getFileSystem(conf).makeQualified(path).toString();
    }

    boolean bound() {
        return batch != null;
    }

    Late in(LateBatch running) {
        return new Late(folder, source, loss, running);
    }

    /** Its answer may not be worked out once and used twice, nor for another row: that is what the last `false` says. */
    Expression call(String method, List<Expression> arguments) {
        return new Invoke(
                new Literal(this, new ObjectType(Late.class)), method, DataTypes.BooleanType,
                CollectionConverters.asScala(arguments).toSeq(),
                CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq(), false, false, false);
    }

    /** What runs if nobody has put a comparison in the mark's place. */
    public boolean mark(long micros, UTF8String row, UTF8String partition, long future) {
        throw new IllegalStateException(
                "headway: late rows of " + source + " cannot be told: headway.Extensions is not among spark.sql.extensions");
    }

    /** Write down a row that came too late for some of the windows it is in: `ends` holds when each of them ends, or null. */
    public boolean keep(long micros, UTF8String row, UTF8String partition, ArrayData ends) {
        int windows = 0;
        int missed = 0;
        for (int i = 0; i < ends.numElements(); i++) {
            if (!ends.isNullAt(i)) {
                windows++;
                missed += ends.getLong(i) <= batch.watermark() ? 1 : 0;
            }
        }
        if (missed > 0) {
            write(micros, row, partition, missed == windows ? "late" : "partly late", windows, missed);
        }
        return true;
    }

    /** Write down a row that is set aside because its event time is beyond the horizon. */
    public boolean ahead(long micros, UTF8String row, UTF8String partition) {
        write(micros, row, partition, "future", 0, 0);
        return true;
    }

    private void write(long micros, UTF8String row, UTF8String partition, String reason, int windows, int missed) {
        String line = "{\"source\":" + quoted(source)
                + ",\"partition\":" + (partition == null ? "null" : quoted(partition.toString()))
                + ",\"reason\":\"" + reason + '"'
                + ",\"event_time\":\"" + instant(micros) + '"'
                + ",\"watermark\":\"" + instant(batch.watermark()) + '"'
                + ",\"windows\":" + windows + ",\"missed\":" + missed
                + ",\"row\":" + row + "}\n";
        LateFile.of(folder, batch, source, loss).write(line.getBytes(StandardCharsets.UTF_8));
    }

    private static String quoted(String text) {
        return TextNode.valueOf(text).toString();
    }

    private static Instant instant(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }

    @Override
    public String toString() {
        return "late rows of " + source + " to " + folder;
    }
}
