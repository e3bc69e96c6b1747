package headway;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/**
 * How far Kafka topics have come, asked of the broker with the very settings that the source reads with.
 *
 * <p>Each topic and each partition is asked for itself, and what can be had is told: one that does not answer must not hide
 * the others. It is waited for once. After that it is asked beside the others, and waited for again when it has answered.
 *
 * <p>Only sessions that have Spark's Kafka connector load this class.
 */
public final class PartitionEnds implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long PARTITIONS_FOR_MS = 2_000; // a topic seldom grows
  private final Admin admin;
  private final Map<String, Optional<TopicDescription>> topics = new HashMap<>(); // empty: there is none of that name
  private final Map<String, KafkaFuture<TopicDescription>> describing = new HashMap<>();
  private final Map<TopicPartition, KafkaFuture<ListOffsetsResultInfo>> mute = new HashMap<>(); // and what it was asked
  private final Map<String, Map<TopicPartition, OffsetAndMetadata>> commits = new HashMap<>(); // by group: to be sent next
  private long describedAt; // on the clock of nanoTime
  private boolean stale = true; // topics must be described anew
  private Throwable why; // something was not answered in this look

  public PartitionEnds(Map<String, String> settings, int timeoutMs) {
    Properties all = new Properties();
    all.putAll(settings);
    // An outage is looked at again and again from outside; no call may go on for ever.
    all.put("default.api.timeout.ms", String.valueOf(timeoutMs));
    all.put("request.timeout.ms", String.valueOf(timeoutMs));
    admin = Admin.create(all);
  }

  /** The topics of a subscription that there are: named ones with commas between them, or all that match a pattern. */
  public String topics(String named, String pattern, int waitMs) throws Exception {
    Set<String> there = admin.listTopics().names().get(waitMs, TimeUnit.MILLISECONDS);
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

  /**
   * Of each topic that there is and each of its partitions the next offset, and the newest timestamp of its records, -1
   * where there is none; null where the partition does not answer. Fails if none does.
   */
  public synchronized String read(String named, int waitMs) throws Exception {
    why = null;
    List<String> names = List.of(named.split(","));
    describe(names, waitMs);
    List<TopicPartition> wanted = new ArrayList<>();
    boolean led = false;
    ObjectNode out = JSON.createObjectNode();
    for (String name : names) {
      TopicDescription topic = topics.getOrDefault(name, Optional.empty()).orElse(null);
      if (topic != null) {
        ObjectNode parts = out.putObject(name);
        for (TopicPartitionInfo info : topic.partitions()) {
          TopicPartition part = new TopicPartition(name, info.partition());
          parts.putNull(String.valueOf(info.partition()));
          boolean leader = info.leader() != null && !info.leader().isEmpty();
          led |= leader;
          if (leader && heard(part)) {
            wanted.add(part);
          }
        }
      }
    }
    // Newest first: a row that comes in between then is counted and its time not known yet, never the other way round.
    Map<TopicPartition, ListOffsetsResultInfo> times = ask(wanted, OffsetSpec.maxTimestamp(), waitMs);
    Map<TopicPartition, ListOffsetsResultInfo> ends = ask(times.keySet(), OffsetSpec.latest(), waitMs);
    if (ends.isEmpty() && (led || why != null)) {
      throw why == null ? new TimeoutException("no partition answers") : new ExecutionException(why);
    }
    ends.forEach((part, info) -> ((ObjectNode) out.get(part.topic()))
        .putArray(String.valueOf(part.partition())).add(info.offset()).add(times.get(part).timestamp()));
    return JSON.writeValueAsString(out);
  }

  /**
   * Tell a consumer group, for tools that watch its lag, how far somebody has read. Nobody waits for that. While a group
   * does not answer, what it is to be told is kept, the newest of each partition.
   */
  public void commit(String group, String offsets) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> reached = new HashMap<>();
    JSON.readTree(offsets).properties().forEach(topic -> topic.getValue().properties().forEach(part -> reached.put(
        new TopicPartition(topic.getKey(), Integer.parseInt(part.getKey())),
        new OffsetAndMetadata(part.getValue().asLong()))));
    synchronized (commits) {
      Map<TopicPartition, OffsetAndMetadata> next = commits.get(group);
      if (next != null) {
        next.putAll(reached);
        return;
      }
      commits.put(group, new HashMap<>());
    }
    send(group, reached);
  }

  private void send(String group, Map<TopicPartition, OffsetAndMetadata> reached) {
    // If it fails, the next batch tells the group.
    admin.alterConsumerGroupOffsets(group, reached).all().whenComplete((done, error) -> {
      Map<TopicPartition, OffsetAndMetadata> next;
      synchronized (commits) {
        next = commits.remove(group);
        if (next.isEmpty()) {
          return;
        }
        commits.put(group, new HashMap<>());
      }
      send(group, next);
    });
  }

  /** Which partitions the topics have. A topic that is known already is not waited for. */
  private void describe(List<String> names, int waitMs) {
    long now = System.nanoTime();
    boolean again = stale || now - describedAt >= TimeUnit.MILLISECONDS.toNanos(PARTITIONS_FOR_MS);
    List<String> wanted = new ArrayList<>(names);
    wanted.removeIf(name -> describing.containsKey(name) || !again && topics.containsKey(name));
    if (!wanted.isEmpty()) {
      describing.putAll(admin.describeTopics(wanted).topicNameValues());
    }
    if (again) {
      stale = false;
      describedAt = now;
    }
    for (String name : names) {
      KafkaFuture<TopicDescription> asked = describing.get(name);
      if (asked != null && (asked.isDone() || !topics.containsKey(name))) {
        described(name, asked, left(now, waitMs));
      }
    }
  }

  private void described(String name, KafkaFuture<TopicDescription> asked, long leftNs) {
    try {
      topics.put(name, Optional.of(asked.get(leftNs, TimeUnit.NANOSECONDS)));
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownTopicOrPartitionException) {
        topics.put(name, Optional.empty());
        mute.keySet().removeIf(part -> part.topic().equals(name));
      } else {
        why = e.getCause();
      }
    } catch (TimeoutException | InterruptedException e) {
      why = e;
      return;
    }
    describing.remove(name);
  }

  /** Whether a partition is worth waiting for: it has answered what it was asked last, however late. */
  private boolean heard(TopicPartition part) {
    KafkaFuture<ListOffsetsResultInfo> asked = mute.get(part);
    if (asked == null) {
      return true;
    }
    if (asked.isCompletedExceptionally()) {
      mute.put(part, admin.listOffsets(Map.of(part, OffsetSpec.latest())).partitionResult(part));
    } else if (asked.isDone()) {
      mute.remove(part);
      return true;
    }
    return false;
  }

  private Map<TopicPartition, ListOffsetsResultInfo> ask(Collection<TopicPartition> parts, OffsetSpec what, int waitMs) {
    Map<TopicPartition, ListOffsetsResultInfo> said = new HashMap<>();
    if (parts.isEmpty()) {
      return said;
    }
    Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
    parts.forEach(part -> wanted.put(part, what));
    long now = System.nanoTime();
    ListOffsetsResult asked = admin.listOffsets(wanted);
    for (TopicPartition part : parts) {
      KafkaFuture<ListOffsetsResultInfo> answer = asked.partitionResult(part);
      try {
        said.put(part, answer.get(left(now, waitMs), TimeUnit.NANOSECONDS));
      } catch (ExecutionException | TimeoutException | InterruptedException e) {
        why = e.getCause() == null ? e : e.getCause();
        mute.put(part, answer);
        stale = true; // its leader may have changed, or its topic be gone
      }
    }
    return said;
  }

  private static long left(long sinceNs, int waitMs) {
    return Math.max(0, sinceNs + TimeUnit.MILLISECONDS.toNanos(waitMs) - System.nanoTime());
  }

  @Override
  public void close() {
    admin.close(java.time.Duration.ZERO);
  }
}
