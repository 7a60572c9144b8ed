import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group with Apache Kafka's consumer; the lines are those of groups/scenario.py. */
public final class GroupMember implements ConsumerRebalanceListener {
    private static final int COMMIT_AT = 20;
    private static final Duration IDLE = Duration.ofMillis(300);

    private final String topic;
    private final String name;
    private final Consumer<byte[], byte[]> consumer;
    private final TreeSet<Integer> partitions = new TreeSet<>();
    private final TreeMap<Integer, Long> pending = new TreeMap<>();
    private int records;
    private volatile boolean closing;

    private GroupMember(String[] arguments) {
        topic = arguments[2];
        name = arguments[3];
        String[] mode = arguments[4].split("-");
        Properties settings = settings(arguments[0], arguments[1], mode[0], Integer.parseInt(arguments[5]));
        if (mode.length > 1) {
            settings.put("group.instance.id", name);
        }
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static Properties settings(String bootstrap, String group, String mode, int sessionMs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", COMMIT_AT);
        if (mode.equals("consumer")) {  // the broker says how long a session lasts
            settings.put("group.protocol", mode);
        } else {
            settings.put("session.timeout.ms", sessionMs);
            settings.put("heartbeat.interval.ms", sessionMs / 12);
            settings.put("partition.assignment.strategy",
                (mode.equals("classic") ? RangeAssignor.class : CooperativeStickyAssignor.class).getName());
        }
        return settings;
    }

    public static void main(String[] arguments) {
        new GroupMember(arguments).run();
    }

    private void run() {
        Thread end = new Thread(this::awaitEnd);
        end.setDaemon(true);
        end.start();
        consumer.subscribe(List.of(topic), this);
        while (!closing) {
            ConsumerRecords<byte[], byte[]> read = consumer.poll(IDLE);
            for (ConsumerRecord<byte[], byte[]> record : read) {
                pending.put(record.partition(), record.offset() + 1);
                records++;
                say("consumed " + record.partition() + " " + record.offset());
            }
            if (records >= COMMIT_AT || read.isEmpty()) {
                commit();
            }
        }
        consumer.close();
        say("closed");
    }

    private void awaitEnd() {
        try {
            while (System.in.read() >= 0) { }
        } catch (java.io.IOException error) {
            System.err.println(error);
        }
        closing = true;
    }

    private void commit() {
        if (pending.isEmpty()) {
            return;
        }
        String offsets = pending.entrySet().stream().map(e -> e.getKey() + ":" + e.getValue()).collect(Collectors.joining(","));
        say("committing " + offsets);
        try {
            consumer.commitSync(pending.entrySet().stream().collect(Collectors.toMap(
                e -> new TopicPartition(topic, e.getKey()), (Map.Entry<Integer, Long> e) -> new OffsetAndMetadata(e.getValue()))));
        } catch (KafkaException error) {
            say(String.format(Locale.ROOT, "refused %s", error).replace('\n', ' '));
            return;
        }
        say("committed " + offsets);
        pending.clear();
        records = 0;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> gained) {
        gained.forEach(p -> partitions.add(p.partition()));
        sayAssigned();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        commit();
        onPartitionsLost(revoked);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> lost) {
        lost.forEach(p -> partitions.remove(p.partition()));
        pending.keySet().retainAll(partitions);
        sayAssigned();
    }

    private void sayAssigned() {
        String numbers = partitions.stream().map(String::valueOf).collect(Collectors.joining(","));
        say("assigned " + (numbers.isEmpty() ? "-" : numbers));
    }

    /** In one write, since all members share the pipe. */
    private void say(String what) {
        byte[] line = (name + " " + what + "\n").getBytes(StandardCharsets.UTF_8);
        System.out.write(line, 0, line.length);
        System.out.flush();
    }
}
