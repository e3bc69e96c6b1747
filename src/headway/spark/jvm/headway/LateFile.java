package headway;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
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
 */
final class LateFile {
    private static final Map<String, LateFile> OPEN = new ConcurrentHashMap<>();
    private final LocalCheckpoints files;
    private final Path path;
    private final LateBatch batch;
    private final CheckpointFileManager.CancellableFSDataOutputStream out;
    private boolean failed;

    private LateFile(String folder, LateBatch batch, int partition) {
        this.batch = batch;
        Path place = new Path(folder, "query=" + ExternalCatalogUtils.escapePathName(batch.query()) + "/batch=" + batch.batch());
        path = new Path(place, "part-" + batch.branch() + "-" + partition + ours());
        files = new LocalCheckpoints(new Path(folder), SparkHadoopUtil.get().conf());
        out = files.createAtomic(path, true);
    }

    static LateFile of(String folder, LateBatch batch) {
        TaskContext task = TaskContext.get();
        String key = task.taskAttemptId() + "/" + batch.branch() + "/" + folder;
        return OPEN.computeIfAbsent(key, unseen -> {
            LateFile made = new LateFile(folder, batch, task.partitionId());
            task.addTaskFailureListener((TaskFailureListener) (context, error) -> made.failed = true);
            task.addTaskCompletionListener((TaskCompletionListener) context -> OPEN.remove(key).close());
            return made;
        });
    }

    synchronized void write(byte[] line) {
        try {
            out.write(line);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private synchronized void close() {
        if (failed) {
            out.cancel();
            return;
        }
        try {
            for (FileStatus file : files.list(path.getParent())) {
                String name = file.getPath().getName();
                if (!name.startsWith(".") && name.contains(batch.queryId()) && !name.endsWith(ours())) {
                    files.delete(file.getPath());
                }
            }
            out.close();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** A checkpoint that was begun anew under an old name counts its batches from 0 again: it has another query id. */
    private String ours() {
        return "-" + batch.queryId() + "-" + batch.runId() + ".jsonl";
    }
}
