package headway;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** Asks the controller at every read, and blocks until it may go on: while it blocks, Spark plans no batch. */
final class ControlStream extends OneRowStream {
    private final String host;
    private final int port;
    private final String secret;
    private final long fallbackMs;
    private final long shiftMs;
    private SocketChannel link;
    private BufferedReader answers;
    private boolean said;

    ControlStream(String host, int port, String secret, long fallbackMs, long shiftMs) {
        this.host = host;
        this.port = port;
        this.secret = secret;
        this.fallbackMs = fallbackMs;
        this.shiftMs = shiftMs;
        // Say hello as early as can be: the runtime starts queries one by one to know which of them is calling.
        connected();
    }

    @Override
    public Offset initialOffset() {
        return Fields.of("{\"seq\": 0, \"wm\": 0, \"live\": 0}");
    }

    @Override
    Fields next(Fields start) {
        Fields end = connected() ? ask(start) : null;
        return end == null ? ungated(start) : end;
    }

    @Override
    long[] row(Fields start, Fields end) {
        long watermark = end.get("wm");
        return watermark <= start.get("wm") ? null : new long[] {(watermark + shiftMs) * 1000};
    }

    @Override
    public void stop() {
        hangUp();
    }

    private boolean connected() {
        if (link != null) {
            return true;
        }
        try {
            // A channel, unlike a plain socket, lets go when Spark interrupts the thread to stop the query.
            link = SocketChannel.open();
            Socket socket = link.socket();
            // A fresh connection gets five seconds to answer; a grant may take hours.
            socket.setSoTimeout(5_000);
            socket.connect(new InetSocketAddress(host, port), 5_000);
            answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            String answer = send("{\"secret\": \"" + secret + "\"}");
            if (answer == null || answer.contains("\"error\"")) {
                if (answer != null) {
                    warn(answer.replaceAll(".*\"error\": \"|\"}", ""));
                }
                hangUp();
                return false;
            }
            socket.setSoTimeout(0);
            return true;
        } catch (ClosedByInterruptException stopped) {
            throw new UncheckedIOException(stopped);
        } catch (IOException unreachable) {
            hangUp();
            return false;
        }
    }

    /** The offset up to which the controller lets us go; null if there is no controller. */
    private Fields ask(Fields start) {
        try {
            String answer = send(start.json());
            if (answer != null) {
                said = false;
                return Fields.of(answer);
            }
        } catch (ClosedByInterruptException stopped) {
            throw new UncheckedIOException(stopped);
        } catch (IOException gone) {
            // as if it had hung up
        }
        hangUp();
        return null;
    }

    private String send(String line) throws IOException {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
        while (bytes.hasRemaining()) {
            link.write(bytes);
        }
        return answers.readLine();
    }

    private void hangUp() {
        try {
            if (link != null) {
                link.close();
            }
        } catch (IOException already) {
            // it is closed, which is what we want
        }
        link = null;
    }

    /** Without a controller a query goes on, once a second, its watermark behind the clock by a stated delay. */
    private Fields ungated(Fields start) {
        if (!said) {
            warn("controller unreachable: going on ungated, watermark " + fallbackMs + " ms behind the wall clock");
            said = true;
        }
        try {
            Thread.sleep(1_000);
        } catch (InterruptedException stopped) {
            throw new UncheckedIOException(new InterruptedIOException("the query was stopped"));
        }
        Fields end = start.with("seq", start.get("seq") + 1);
        if (end.has("seen")) { // ten seconds behind the clock nearly all rows are there, and nobody knows better
            end = end.with("seen", 1_000_000).with("unsure", 0);
        }
        if (start.get("live") == 0) { // the rows are old ones: the wall clock would declare them all late
            return end;
        }
        return end.with("wm", Math.max(start.get("wm"), System.currentTimeMillis() - fallbackMs));
    }

    private static void warn(String text) {
        System.err.println("headway: " + text);
    }
}
