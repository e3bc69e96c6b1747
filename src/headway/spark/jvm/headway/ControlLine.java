package headway;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A query's line to the gate: it says whose it is, may be cut, and comes back at the next question.
 *
 * <p>The gate's answer to a greeting is `{}`, or `{"ungated": why}` to a query that it does not know, or `{"refused": why}` to
 * a run of a query that another run has replaced. Its answer to a question is an offset, or `{"ungated": why}`.
 */
final class ControlLine {
    // The gate may wait for the start of a query to return before it knows whose line this is; a grant may take hours.
    private static final int GREETING_MS = 60_000;

    private final InetSocketAddress gate;
    private final String greeting;
    private SocketChannel link;
    private BufferedReader answers;
    private String unknown; // what the gate said to a query that it does not know; it need not be asked again

    ControlLine(CaseInsensitiveStringMap options, QuerySelf self, String checkpoint) {
        gate = new InetSocketAddress(options.get("host"), options.getInt("port", 0));
        greeting = "{\"secret\": " + text(options.get("secret")) + ", \"query\": " + text(self.id()) + ", \"run\": "
                + text(self.run()) + ", \"checkpoint\": " + text(checkpoint) + "}";
    }

    /** Why the gate will not have this query; null if it will. */
    String unknown() {
        return unknown;
    }

    /** The gate's answer; null if there is no gate. A line that was cut is laid anew, once. */
    String ask(String question) {
        for (int tries = 0; tries < 2 && connected(); tries++) {
            String answer = sent(question);
            if (answer != null) {
                return answer;
            }
            hangUp();
        }
        return null;
    }

    boolean connected() {
        if (link != null) {
            return true;
        }
        if (unknown != null) {
            return false;
        }
        String answer = null;
        try {
            // A channel, unlike a plain socket, lets go when Spark interrupts the thread to stop the query.
            link = SocketChannel.open();
            Socket socket = link.socket();
            socket.connect(gate, 5_000);
            socket.setSoTimeout(GREETING_MS);
            answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            answer = sent(greeting);
            socket.setSoTimeout(0);
        } catch (ClosedByInterruptException stopped) {
            throw new UncheckedIOException(stopped);
        } catch (IOException unreachable) {
            // as if it had hung up
        }
        String refused = answer == null ? null : word(answer, "refused");
        unknown = answer == null ? null : word(answer, "ungated");
        if (answer == null || refused != null || unknown != null) {
            hangUp();
        }
        if (refused != null) {
            throw new IllegalStateException("headway: " + refused);
        }
        return link != null;
    }

    void hangUp() {
        try {
            if (link != null) {
                link.close();
            }
        } catch (IOException already) {
            // it is closed, which is what we want
        }
        link = null;
    }

    /** The answer to a line of text; null if the other side is gone. */
    private String sent(String line) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
            while (bytes.hasRemaining()) {
                link.write(bytes);
            }
            return answers.readLine();
        } catch (ClosedByInterruptException stopped) {
            throw new UncheckedIOException(stopped);
        } catch (IOException gone) {
            return null;
        }
    }

    /** The text that an answer has under this name; null if it has none. */
    static String word(String answer, String name) {
        Matcher found = Pattern.compile('"' + name + "\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(answer);
        return found.find() ? found.group(1).replaceAll("\\\\(.)", "$1") : null;
    }

    private static String text(String value) {
        return value == null ? "null" : '"' + value.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
