package headway;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Checkpoints on a local disk, written by the JVM itself.
 *
 * <p>Hadoop's local file system starts a `chmod` process for every file and directory that it makes, twice if it keeps a
 * checksum file beside it: a dozen for each micro-batch. Files appear whole or not at all, as with Hadoop, and a file that
 * may not be replaced is made by exactly one writer. Anything but a local disk is left to Hadoop.
 */
public class LocalCheckpoints extends FileSystemBasedCheckpointFileManager {
    private static final AtomicBoolean TOLD = new AtomicBoolean();
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
                throw refused(from, to);
            }
            // A checksum that Hadoop once wrote for the old content would damn the new one.
            Files.deleteIfExists(local(new Path(to.getParent(), "." + to.getName() + ".crc")));
            if (overwrite) {
                move(from, to);
            } else {
                create(from, to);
            }
        } catch (IOException error) {
            throw unchecked(error);
        }
    }

    /**
     * Gives a file its name unless another has it. A rename would replace a file that has appeared since we looked: two runs of
     * one query both wrote an offset then, and each took it for its own. A second link to a file is refused instead.
     */
    private void create(Path from, Path to) throws IOException {
        try {
            Files.createLink(local(to), local(from));
        } catch (java.nio.file.FileAlreadyExistsException error) {
            // On a network disk the answer to the first try may be lost, and the second finds the link that the first made.
            if (!Files.exists(local(to)) || !Files.isSameFile(local(from), local(to))) {
                throw refused(from, to);
            }
        } catch (NoSuchFileException error) {
            throw error;
        } catch (UnsupportedOperationException | FileSystemException error) {
            if (!TOLD.getAndSet(true)) {
                System.err.println("headway: no hard link can be made at " + to + " (" + error + "): checkpoint files are renamed"
                        + " there, as Hadoop does, and of two processes that write one at the same time both may succeed");
            }
            super.renameTempFile(from, to, false);
            return;
        }
        try {
            Files.delete(local(from));
        } catch (IOException error) {
            // The file has its name; a temporary name more is in nobody's way.
        }
    }

    private static void move(Path from, Path to) throws IOException {
        try {
            Files.move(local(from), local(to), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException error) {
            Files.deleteIfExists(local(from));
            throw error;
        }
    }

    private static FileAlreadyExistsException refused(Path from, Path to) throws IOException {
        Files.deleteIfExists(local(from));
        return new FileAlreadyExistsException("Failed to rename " + from + " to " + to + " as it already exists");
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
