package headway;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Checkpoints on a local disk, written by the JVM itself.
 *
 * <p>Hadoop's local file system starts a `chmod` process for every file and directory that it makes, twice if it keeps a
 * checksum file beside it: a dozen for each micro-batch. Files appear whole or not at all, by a rename, as with Hadoop;
 * anything but a local disk is left to Hadoop.
 */
public class LocalCheckpoints extends FileSystemBasedCheckpointFileManager {
    private final Path root;

    public LocalCheckpoints(Path root, Configuration conf) {
        super(root, conf);
        this.root = root;
    }

    private static java.nio.file.Path local(Path path) {
        return Paths.get(path.toUri().getPath());
    }

    @Override
    public FSDataOutputStream createTempFile(Path path) {
        if (!isLocal()) {
            return super.createTempFile(path);
        }
        try {
            Files.createDirectories(local(path).getParent());
            return new FSDataOutputStream(new BufferedOutputStream(Files.newOutputStream(local(path))), null);
        } catch (IOException error) {
            throw unchecked(error);
        }
    }

    @Override
    public void renameTempFile(Path from, Path to, boolean overwrite) {
        if (!isLocal()) {
            super.renameTempFile(from, to, overwrite);
            return;
        }
        try {
            if (!overwrite && Files.exists(local(to))) {
                Files.delete(local(from));
                throw new FileAlreadyExistsException("Failed to rename " + from + " to " + to + " as it already exists");
            }
            // A checksum that Hadoop once wrote for the old content would damn the new one.
            Files.deleteIfExists(local(new Path(to.getParent(), "." + to.getName() + ".crc")));
            Files.move(local(from), local(to), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException error) {
            throw unchecked(error);
        }
    }

    @Override
    public void mkdirs(Path path) {
        if (!isLocal()) {
            super.mkdirs(path);
            return;
        }
        try {
            Files.createDirectories(local(path));
        } catch (IOException error) {
            throw unchecked(error);
        }
    }

    @Override
    public Path createCheckpointDirectory() {
        if (!isLocal()) {
            return super.createCheckpointDirectory();
        }
        Path qualified = fs().makeQualified(root);
        mkdirs(qualified);
        return qualified;
    }

    /** Scala declares no checked exceptions, and Spark expects the very exception, not a wrapped one. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> RuntimeException unchecked(Throwable error) throws E {
        throw (E) error;
    }
}
