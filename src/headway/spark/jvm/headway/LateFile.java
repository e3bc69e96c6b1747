package headway;

import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.TaskFailureListener;

/**
 * The late rows that one task found. The file appears when the task has succeeded, and a task that runs again replaces it.
 *
 * <p>A batch that is run again after a crash has the same late rows, but perhaps in other tasks: the first of them to succeed
 * removes what the run before has left. Not the driver, when it plans: a sink that has the batch already does not run it.
 *
 * <p>Rows that cannot be written, because the disk is full, say, are counted. The task goes on: results matter more.
 */
final class LateFile {
    private static final Map<String, LateFile> OPEN = new ConcurrentHashMap<>();
    private static final Set<String> SAID = ConcurrentHashMap.newKeySet();
    private final String folder;
    private final LateBatch batch;
    private final int partition;
    private LocalCheckpoints files;
    private Path path;
    private CheckpointFileManager.CancellableFSDataOutputStream out;
    private long rows;
    private Exception trouble;
    private boolean failed;

    private LateFile(String folder, LateBatch batch, int partition) {
        this.folder = folder;
        this.batch = batch;
        this.partition = partition;
        attempt(this::open);
    }

    static LateFile of(String folder, LateBatch batch, String source, LateLoss loss) {
        TaskContext task = TaskContext.get();
        String key = task.taskAttemptId() + "/" + batch.branch() + "/" + folder;
        return OPEN.computeIfAbsent(key, unseen -> {
            LateFile made = new LateFile(folder, batch, task.partitionId());
            task.addTaskFailureListener((TaskFailureListener) (context, error) -> made.failed = true);
            task.addTaskCompletionListener((TaskCompletionListener) context -> OPEN.remove(key).close(source, loss));
            return made;
        });
    }

    synchronized void write(byte[] line) {
        rows++;
        attempt(() -> out.write(line));
    }

    private synchronized void close(String source, LateLoss loss) {
        if (!failed) {
            attempt(() -> out.flush()); // a write that fails in `close` leaves its half of a file behind
            attempt(() -> out.close());
        }
        if (out != null) {
            out.cancel(); // nothing, if it was closed
        }
        if (failed) {
            return; // whoever runs the task again counts its rows
        }
        if (trouble == null) {
            attempt(this::removeOlder);
        } else {
            loss.add(new LateLoss.Rows(batch.query(), source, rows));
        }
        if (trouble != null && SAID.add(folder)) {
            System.err.println("headway: late rows cannot be kept in " + folder + " (" + trouble
                    + "): queries go on, and rt.late_counts() says how many rows are not in it");
        }
    }

    private void open() {
        Path place = new Path(folder, "query=" + ExternalCatalogUtils.escapePathName(batch.query()) + "/batch=" + batch.batch());
        path = new Path(place, "part-" + batch.branch() + "-" + partition + ours());
        files = new LocalCheckpoints(new Path(folder), SparkHadoopUtil.get().conf());
        out = files.createAtomic(path, true);
    }

    private void removeOlder() {
        for (FileStatus file : files.list(path.getParent())) {
            String name = file.getPath().getName();
            if (!name.startsWith(".") && name.contains(batch.queryId()) && !name.endsWith(ours())) {
                files.delete(file.getPath());
            }
        }
    }

    /** A checkpoint that was begun anew under an old name counts its batches from 0 again: it has another query id. */
    private String ours() {
        return "-" + batch.queryId() + "-" + batch.runId() + ".jsonl";
    }

    /** Do this unless something has gone wrong before. */
    private void attempt(Step step) {
        if (trouble == null) {
            try {
                step.take();
            } catch (Exception error) {
                trouble = error;
            }
        }
    }

    private interface Step {
        void take() throws IOException;
    }
}
