package headway;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * How far Kafka topics have come, asked of the broker with the very settings that the source reads with.
 *
 * <p>Only sessions that have Spark's Kafka connector load this class.
 */
public final class Ends implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final Admin admin;
  private static final long PARTITIONS_FOR_MS = 2_000; // a topic seldom grows
  private static final long LOOK_MS = 1_000; // a look that takes longer says that something is wrong
  private final long timeoutMs;
  private final Map<String, Collection<TopicDescription>> seen = new HashMap<>();
  private long seenAt;

  public Ends(Map<String, String> settings, int timeoutMs) {
    Properties all = new Properties();
    all.putAll(settings);
    // An outage is looked at again and again from outside; no call may outlast its turn.
    all.put("default.api.timeout.ms", String.valueOf(timeoutMs));
    all.put("request.timeout.ms", String.valueOf(timeoutMs));
    admin = Admin.create(all);
    this.timeoutMs = timeoutMs;
  }

  /** The topics of a subscription that there are: named ones with commas between them, or all that match a pattern. */
  public String topics(String named, String pattern) throws Exception {
    Set<String> there = admin.listTopics().names().get(timeoutMs, TimeUnit.MILLISECONDS);
    Set<String> found = new HashSet<>();
    if (pattern != null) {
      Pattern wanted = Pattern.compile(pattern);
      there.stream().filter(name -> wanted.matcher(name).matches()).forEach(found::add);
    } else {
      for (String name : named.split(",")) {
        if (there.contains(name.strip())) {
          found.add(name.strip());
        }
      }
    }
    return String.join(",", found);
  }

  /** Of each topic and partition the next offset, and the newest timestamp of its records, -1 where there is none. */
  public String read(String topics) throws Exception {
    Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
    Map<TopicPartition, OffsetSpec> newest = new HashMap<>();
    for (TopicDescription topic : described(topics)) {
      topic.partitions().forEach(p -> {
        ends.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.latest());
        newest.put(new TopicPartition(topic.name(), p.partition()), OffsetSpec.maxTimestamp());
      });
    }
    // Newest first: a row that comes in between then is counted and its time not known yet, never the other way round.
    Map<TopicPartition, ListOffsetsResultInfo> times = listed(newest);
    ObjectNode out = JSON.createObjectNode();
    listed(ends).forEach((part, info) -> out.withObject("/" + part.topic().replace("~", "~0").replace("/", "~1"))
        .putArray(String.valueOf(part.partition())).add(info.offset()).add(times.get(part).timestamp()));
    return JSON.writeValueAsString(out);
  }

  /** Tell a consumer group, for tools that watch its lag, how far somebody has read. */
  public void commit(String group, String offsets) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> reached = new HashMap<>();
    JsonNode topics = JSON.readTree(offsets);
    topics.properties().forEach(topic -> topic.getValue().properties().forEach(part -> reached.put(
        new TopicPartition(topic.getKey(), Integer.parseInt(part.getKey())),
        new OffsetAndMetadata(part.getValue().asLong()))));
    admin.alterConsumerGroupOffsets(group, reached).all().get(timeoutMs, TimeUnit.MILLISECONDS);
  }

  private Map<TopicPartition, ListOffsetsResultInfo> listed(Map<TopicPartition, OffsetSpec> wanted) throws Exception {
    return admin.listOffsets(wanted).all().get(Math.min(LOOK_MS, timeoutMs), TimeUnit.MILLISECONDS);
  }

  private synchronized Collection<TopicDescription> described(String topics) throws Exception {
    long now = System.currentTimeMillis();
    if (now - seenAt >= PARTITIONS_FOR_MS) {
      seen.clear();
      seenAt = now;
    }
    if (!seen.containsKey(topics)) {
      seen.put(topics, asked(List.of(topics.split(","))));
    }
    return seen.get(topics);
  }

  private Collection<TopicDescription> asked(List<String> topics) throws Exception {
    try {
      return admin.describeTopics(topics).allTopicNames().get(timeoutMs, TimeUnit.MILLISECONDS).values();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownTopicOrPartitionException) {
        return List.of(); // deleted meanwhile; the source will say so
      }
      throw e;
    }
  }

  @Override
  public void close() {
    admin.close(java.time.Duration.ZERO);
  }
}
