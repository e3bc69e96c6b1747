package headway;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** An offset of named whole numbers, written as the Python sources write theirs: a checkpoint serves both. */
final class Fields extends Offset {
    private static final Pattern FIELD = Pattern.compile("\"(\\w+)\"\\s*:\\s*(-?\\d+)");
    private final Map<String, Long> values;

    private Fields(Map<String, Long> values) {
        this.values = values;
    }

    static Fields of(String json) {
        Map<String, Long> values = new LinkedHashMap<>();
        for (Matcher field = FIELD.matcher(json); field.find();) {
            values.put(field.group(1), Long.valueOf(field.group(2)));
        }
        return new Fields(values);
    }

    long get(String name) {
        Long value = values.get(name);
        if (value == null) {
            throw new IllegalStateException("headway: no " + name + " in the offset " + json());
        }
        return value;
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    void each(java.util.function.BiConsumer<String, Long> tell) {
        values.forEach(tell);
    }

    Fields with(String name, long value) {
        Map<String, Long> changed = new LinkedHashMap<>(values);
        changed.put(name, value);
        return new Fields(changed);
    }

    Fields without(String name) {
        Map<String, Long> changed = new LinkedHashMap<>(values);
        changed.remove(name);
        return new Fields(changed);
    }

    @Override
    public String json() {
        StringJoiner fields = new StringJoiner(", ", "{", "}");
        values.forEach((name, value) -> fields.add('"' + name + "\": " + value));
        return fields.toString();
    }
}
