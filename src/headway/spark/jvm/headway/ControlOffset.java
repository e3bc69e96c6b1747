package headway;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.read.streaming.Offset;

/**
 * What is decided about one micro-batch; what `model/offset.py` says holds here word for word, and its text is that of
 * `spark/channel/offset_text.py`, letter for letter: a checkpoint serves both languages. `tests/golden/control_offsets.json`
 * holds the two together.
 */
public final class ControlOffset extends Offset {
    static final long VERSION = 2;
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    private static final int SHOWN = 80;

    private final long version;
    private final long seq;
    private final long wm;
    private final boolean live;
    private final Sampled sampled;

    private ControlOffset(long version, long seq, long wm, boolean live, Sampled sampled) {
        this.version = version;
        this.seq = seq;
        this.wm = wm;
        this.live = live;
        this.sampled = sampled;
    }

    static ControlOffset first() {
        return new ControlOffset(VERSION, 0, 0, false, null);
    }

    /** Throws an IllegalStateException, saying what is wrong with the text. */
    public static ControlOffset of(String json) {
        try {
            return of(JSON.readTree(json));
        } catch (JsonProcessingException damaged) {
            throw wrong("with what is no JSON: " + shown(json));
        }
    }

    static ControlOffset of(JsonNode fields) {
        if (fields == null || !fields.isObject()) {
            throw wrong("with what is no offset: " + shown(String.valueOf(fields)));
        }
        long version = fields.has("version") ? whole(fields, "version") : 1;
        if (version > VERSION) {
            throw wrong("with a control offset of version " + version + ", and this Headway reads versions up to " + VERSION
                    + ": start the query with the Headway that wrote its checkpoint, or with a newer one");
        }
        if (version < 1) {
            throw wrong("with version = " + version + ", which there never was");
        }
        fields.fieldNames().forEachRemaining(name -> {
            if (version == 1 || !name.equals("sampled")) {
                whole(fields, name);
            }
        });
        return new ControlOffset(
                version, whole(fields, "seq"), whole(fields, "wm"), whole(fields, "live") != 0,
                version == 1 ? Sampled.ofOld(fields) : Sampled.of(fields.get("sampled")));
    }

    /** The version of the text that it was read from: Spark compares texts, so one that stays as it is must not change its own. */
    public long version() {
        return version;
    }

    public long seq() {
        return seq;
    }

    public long wm() {
        return wm;
    }

    public boolean live() {
        return live;
    }

    /** How much is taken of an input that is sampled; null if none is. */
    public Sampled sampled() {
        return sampled;
    }

    /** The one after it where no gate decides, and rows alone move the watermark; null if they do not move it. */
    public ControlOffset byRows(Long watermark) {
        long moved = watermark == null ? wm : Math.max(wm, watermark);
        return new ControlOffset(VERSION, seq + 1, moved, false, sampled == null ? null : sampled.whole());
    }

    @Override
    public String json() {
        List<String> fields = new ArrayList<>();
        if (version > 1) {
            fields.add("\"version\": " + version);
        }
        fields.add("\"seq\": " + seq);
        fields.add("\"wm\": " + wm);
        fields.add("\"live\": " + (live ? 1 : 0));
        if (sampled != null) {
            fields.add(version > 1 ? "\"sampled\": {" + sampled.text() + "}" : sampled.oldText());
        }
        return "{" + String.join(", ", fields) + "}";
    }

    static long whole(JsonNode fields, String name) {
        return number(fields.get(name), name);
    }

    static long number(JsonNode value, String name) {
        if (value == null || !value.isIntegralNumber()) {
            throw wrong("with " + name + " = " + shown(String.valueOf(value)) + ", which is no whole number");
        }
        if (!value.canConvertToLong()) {
            throw wrong("with " + name + " = " + shown(value.toString()) + ", which does not fit 64 bits");
        }
        return value.longValue();
    }

    static IllegalStateException wrong(String what) {
        return new IllegalStateException("headway: the checkpoint goes on " + what);
    }

    static String shown(String text) {
        return text.substring(0, Math.min(SHOWN, text.length()));
    }
}
