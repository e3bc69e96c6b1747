package headway;

import com.fasterxml.jackson.databind.JsonNode;
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
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A query's line to the gate: it says whose it is, may be cut, and comes back at the next question.
 *
 * <p>It greets with its identity, `{"secret", "query", "run", "checkpoint"}` (`LineId` of `model/line.py`). The gate's answer to
 * that is `{"line", "patience_ms"}`, or `{"ungated": why}` to a query that it does not know, or `{"refused": why}` to a run of a
 * query that another run has replaced. A question is an offset; its answer is `{"offset": .., "now": ms}`, or `{"ungated": why}`.
 */
final class ControlLine {
    // The gate may wait for the start of a query to return before it knows whose line this is; a grant may take hours.
    private static final int GREETING_MS = 60_000;

    private static final String OF_A_SOURCE = "/sources/\\d+$"; // what Spark gives a source lies in the query's own checkpoint

    private final InetSocketAddress gate;
    private final String greeting;
    private SocketChannel link;
    private BufferedReader answers;
    private String unknown; // what the gate said to a query that it does not know; it need not be asked again

    ControlLine(CaseInsensitiveStringMap options, QuerySelf self, String checkpoint) {
        gate = new InetSocketAddress(options.get("host"), options.getInt("port", 0));
        greeting = ControlOffset.JSON.createObjectNode()
                .put("secret", options.get("secret")).put("query", self.id()).put("run", self.run())
                .put("checkpoint", checkpoint.replaceAll(OF_A_SOURCE, "")).toString();
    }

    /** Why the gate will not have this query; null if it will. */
    String unknown() {
        return unknown;
    }

    /** The gate's answer; null if there is no gate. A line that was cut is laid anew, once. */
    JsonNode ask(String question) {
        for (int tries = 0; tries < 2 && connected(); tries++) {
            JsonNode answer = sent(question);
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
        JsonNode answer = null;
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
        String refused = word(answer, "refused");
        unknown = word(answer, "ungated");
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
    private JsonNode sent(String line) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.encode(line + "\n");
            while (bytes.hasRemaining()) {
                link.write(bytes);
            }
            String answer = answers.readLine();
            return answer == null ? null : ControlOffset.JSON.readTree(answer);
        } catch (ClosedByInterruptException stopped) {
            throw new UncheckedIOException(stopped);
        } catch (IOException gone) { // or it says what makes no sense, and is as good as gone
            return null;
        }
    }

    /** The text that an answer has under this name; null if it has none. */
    private static String word(JsonNode answer, String name) {
        JsonNode found = answer == null ? null : answer.get(name);
        return found == null ? null : found.asText();
    }
}
