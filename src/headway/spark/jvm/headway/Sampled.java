package headway;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How much a batch takes of an input that is sampled, and how sure its answers are: `Sampled` of `model/offset.py`.
 *
 * <p>`share` of rows that are wanted; `seen` of the window that goes out, and `unsure`, how far that may be off; `z` and
 * `widest`, how many standard deviations bounds are apart from an estimate that is normal, and from any; by its place, how much
 * of a sub-stream will have `arrived`; by group, of which less is wanted, in `keys`: all in millionths. And in ms: how long
 * sub-streams are and when windows end.
 */
public record Sampled(
        long share, long seen, long unsure, long z, long widest, long subMs, long everyMs, long firstMs, List<Long> arrived,
        Map<Long, Long> keys) {
    static final long MILLION = 1_000_000;
    static final Sampled ALL = new Sampled(MILLION, MILLION, 0, 1_959_964, 4_472_136, 1, 1, 0, List.of(), Map.of());

    private static final Pattern KEY = Pattern.compile("-?[0-9]+");
    private static final Pattern OLD_KEY = Pattern.compile("k_(m?[0-9]+)");

    /** The same where rows decide when a window goes out: then all of it is there. */
    Sampled whole() {
        return new Sampled(share, MILLION, 0, z, widest, subMs, everyMs, firstMs, arrived, keys);
    }

    static Sampled of(JsonNode fields) {
        if (fields == null || fields.isNull()) {
            return null;
        }
        JsonNode places = fields.path("arrived");
        JsonNode groups = fields.path("keys");
        List<Long> arrived = new ArrayList<>();
        Map<Long, Long> keys = new LinkedHashMap<>();
        boolean sound = places.isArray() && groups.isObject();
        for (Iterator<String> names = groups.fieldNames(); names.hasNext();) {
            sound &= KEY.matcher(names.next()).matches();
        }
        if (!sound) {
            throw ControlOffset.wrong(
                    "with sampled = " + ControlOffset.shown(fields.toString()) + ", which says not what is taken");
        }
        places.forEach(share -> arrived.add(ControlOffset.number(share, "arrived")));
        groups.fieldNames().forEachRemaining(name -> keys.put(key(name), ControlOffset.whole(groups, name)));
        return new Sampled(
                ControlOffset.whole(fields, "share"), ControlOffset.whole(fields, "seen"), ControlOffset.whole(fields, "unsure"),
                ControlOffset.whole(fields, "z"), ControlOffset.whole(fields, "widest"), ControlOffset.whole(fields, "sub_ms"),
                ControlOffset.whole(fields, "every_ms"), ControlOffset.whole(fields, "first_ms"), arrived, keys);
    }

    /** From an offset of version 1, which has these names beside its own; null if it has none of them. */
    static Sampled ofOld(JsonNode fields) {
        if (!fields.has("seen")) {
            return null;
        }
        List<Long> arrived = new ArrayList<>();
        for (int place = 0; place < fields.size(); place++) {
            if (fields.has("at" + place)) {
                arrived.add(fields.get("at" + place).longValue());
            }
        }
        Map<Long, Long> keys = new LinkedHashMap<>();
        fields.fieldNames().forEachRemaining(name -> {
            Matcher found = OLD_KEY.matcher(name);
            if (found.matches()) {
                keys.put(key(found.group(1).replace('m', '-')), fields.get(name).longValue());
            }
        });
        long subMs = old(fields, "sub", ALL.subMs);
        return new Sampled(
                old(fields, "share", ALL.share), old(fields, "seen", ALL.seen), old(fields, "unsure", ALL.unsure),
                old(fields, "z", ALL.z), old(fields, "widest", ALL.widest), subMs, old(fields, "every", subMs),
                old(fields, "first", ALL.firstMs), arrived, keys);
    }

    String text() {
        String places = arrived.stream().map(String::valueOf).collect(Collectors.joining(", "));
        String groups = keys.entrySet().stream()
                .map(e -> '"' + Long.toString(e.getKey()) + "\": " + e.getValue()).collect(Collectors.joining(", "));
        return plain() + ", \"sub_ms\": " + subMs + ", \"every_ms\": " + everyMs + ", \"first_ms\": " + firstMs
                + ", \"arrived\": [" + places + "], \"keys\": {" + groups + "}";
    }

    /** As version 1 had it. */
    String oldText() {
        List<String> fields = new ArrayList<>(List.of(plain()));
        for (int place = 0; place < arrived.size(); place++) {
            fields.add("\"at" + place + "\": " + arrived.get(place));
        }
        keys.forEach((key, part) -> fields.add("\"k_" + Long.toString(key).replace('-', 'm') + "\": " + part));
        fields.add("\"sub\": " + subMs + ", \"every\": " + everyMs + ", \"first\": " + firstMs);
        return String.join(", ", fields);
    }

    private String plain() {
        return "\"share\": " + share + ", \"seen\": " + seen + ", \"unsure\": " + unsure + ", \"z\": " + z + ", \"widest\": "
                + widest;
    }

    private static long old(JsonNode fields, String name, long otherwise) {
        return fields.has(name) ? fields.get(name).longValue() : otherwise;
    }

    private static long key(String digits) {
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException tooLong) {
            throw ControlOffset.wrong("with keys = " + ControlOffset.shown(digits) + ", which does not fit 64 bits");
        }
    }
}
