import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * kafka-clients against the broker at the address given: the default (idempotent) producer, a consumer with assigned
 * partitions, and the admin client. `ClientTest ADDRESS [CASE…]` runs all cases or those named, and exits with 1 when
 * one failed.
 */
public final class ClientTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final String bootstrap;
    private final Admin admin;
    private String topic; // the running case's own

    private ClientTest(String bootstrap) {
        this.bootstrap = bootstrap;
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] arguments) throws Exception {
        ClientTest test = new ClientTest(arguments[0]);
        Set<String> chosen = Arrays.stream(arguments).skip(1).collect(Collectors.toSet());
        List<Method> cases = Arrays.stream(ClientTest.class.getDeclaredMethods())
            .filter(method -> method.isAnnotationPresent(Case.class))
            .filter(method -> chosen.isEmpty() || chosen.contains(method.getName()))
            .sorted(Comparator.comparing(Method::getName))
            .toList();
        int failed = 0;
        for (Method method : cases) {
            failed += test.passes(method) ? 0 : 1;
        }
        test.admin.close();
        System.out.printf("%d passed, %d failed%n", cases.size() - failed, failed);
        System.exit(failed == 0 && !cases.isEmpty() ? 0 : 1);
    }

    private boolean passes(Method method) throws IllegalAccessException {
        topic = method.getName();
        try {
            method.invoke(this);
            System.out.println("ok     " + method.getName());
            return true;
        } catch (InvocationTargetException failure) {
            System.out.println("FAILED " + method.getName());
            failure.getCause().printStackTrace(System.out);
            return false;
        }
    }

    // Cases

    @Case
    void defaultProducerGetsConsecutiveOffsets() throws Exception {
        create(2);
        for (int partition : List.of(0, 1)) {
            List<RecordMetadata> sent = send(values(20_000), partition, Map.of());
            for (int i = 0; i < sent.size(); i++) {
                equal(sent.get(i).offset(), (long) i);
            }
            equal(read(partition, 0, 20_000), values(20_000));
        }
    }

    @Case
    void everyCompressionComesBackEqual() throws Exception {
        List<String> compressions = List.of("none", "gzip", "snappy", "lz4", "zstd");
        create(compressions.size());
        for (int partition = 0; partition < compressions.size(); partition++) {
            Map<String, Object> settings = Map.of(
                ProducerConfig.COMPRESSION_TYPE_CONFIG, compressions.get(partition),
                ProducerConfig.BATCH_SIZE_CONFIG, 100_000, ProducerConfig.LINGER_MS_CONFIG, 20);
            send(values(10_000), partition, settings);
            equal(read(partition, 0, 10_000), values(10_000));
            equal(read(partition, 5_001, 1), List.of("value 5001"));
        }
    }

    @Case
    void acknowledgementsOfEachKind() throws Exception {
        create(3);
        int partition = 0;
        for (String acks : List.of("0", "1", "all")) {
            Map<String, Object> settings = Map.of(
                ProducerConfig.ACKS_CONFIG, acks, ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false);
            send(values(1_000), partition, settings);
            equal(read(partition, 0, 1_000), values(1_000));
            partition++;
        }
    }

    @Case
    void keysHeadersNullsAndTimesComeBack() throws Exception {
        create(1);
        try (Producer<byte[], byte[]> producer = producer(Map.of())) {
            ProducerRecord<byte[], byte[]> record =
                new ProducerRecord<>(topic, 0, 1_700_000_000_000L, bytes("key"), (byte[]) null);
            record.headers().add("a", bytes("1")).add("a", bytes("2")).add("null", null).add("empty", new byte[0]);
            producer.send(record).get();
            producer.send(new ProducerRecord<>(topic, 0, null, null, new byte[0])).get();
        }
        List<ConsumerRecord<byte[], byte[]>> found = poll(0, 0, 2, Map.of());
        ConsumerRecord<byte[], byte[]> first = found.get(0);
        equal(first.timestamp(), 1_700_000_000_000L);
        equal(text(first.key()), "key");
        equal(first.value(), null);
        equal(Arrays.stream(first.headers().toArray()).map(h -> h.key() + "=" + text(h.value())).toList(),
            List.of("a=1", "a=2", "null=null", "empty="));
        equal(found.get(1).key(), null);
        equal(text(found.get(1).value()), "");
    }

    @Case
    void producingCreatesTheTopic() throws Exception {
        send(values(10), 0, Map.of());
        equal(read(0, 0, 10), values(10));
    }

    @Case
    void recordAboveTheTopicsLimitIsRefused() throws Exception {
        create(1, Map.of(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, "2000"));
        fails(RecordTooLargeException.class, () -> send(List.of("x".repeat(10_000)), 0, Map.of()));
        send(List.of("small"), 0, Map.of());
    }

    @Case
    void assignedConsumerSeeks() throws Exception {
        create(2);
        send(values(100), 0, Map.of());
        send(values(100), 1, Map.of());
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            consumer.assign(List.of(partition(0), partition(1)));
            consumer.seekToBeginning(List.of(partition(0)));
            consumer.seek(partition(1), 97);
            equal(collect(consumer, 103).size(), 103);
            equal(consumer.position(partition(0)), 100L);
            equal(consumer.position(partition(1)), 100L);
            consumer.seek(partition(0), 50);
            equal(text(collect(consumer, 1).get(0).value()), "value 50");
            consumer.seekToEnd(List.of(partition(0)));
            equal(consumer.position(partition(0)), 100L);
        }
    }

    @Case
    void readCommittedSeesPlainRecords() throws Exception {
        create(1);
        send(values(100), 0, Map.of());
        Map<String, Object> settings = Map.of(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        equal(poll(0, 0, 100, settings).size(), 100);
    }

    @Case
    void smallFetchesStillDeliverLargeRecords() throws Exception {
        create(1);
        String large = "x".repeat(700_000);
        send(List.of(large, large, "end"), 0, Map.of());
        Map<String, Object> settings = Map.of(
            ConsumerConfig.FETCH_MAX_BYTES_CONFIG, 1_000, ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, 500);
        List<ConsumerRecord<byte[], byte[]>> found = poll(0, 0, 3, settings);
        equal(found.get(1).value().length, large.length());
        equal(text(found.get(2).value()), "end");
    }

    @Case
    void offsetOutOfRangeIsReported() throws Exception {
        create(1);
        send(values(5), 0, Map.of());
        Map<String, Object> settings = Map.of(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
        fails(OffsetOutOfRangeException.class, () -> poll(0, 500, 1, settings));
    }

    @Case
    void consumerLooksUpOffsets() throws Exception {
        create(1);
        long time = 1_700_000_000_000L;
        try (Producer<byte[], byte[]> producer = producer(Map.of(ProducerConfig.LINGER_MS_CONFIG, 50))) {
            for (int i = 0; i < 100; i++) {
                producer.send(new ProducerRecord<>(topic, 0, time + i * 10L, null, bytes("value " + i)));
            }
        }
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            equal(consumer.beginningOffsets(List.of(partition(0))), Map.of(partition(0), 0L));
            equal(consumer.endOffsets(List.of(partition(0))), Map.of(partition(0), 100L));
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition(0), time + 331)).get(partition(0));
            equal(found.offset(), 34L);
            equal(found.timestamp(), time + 340);
            equal(consumer.offsetsForTimes(Map.of(partition(0), time + 991)).get(partition(0)), null);
            equal(consumer.partitionsFor(topic).size(), 1);
            holds(consumer.listTopics().containsKey(topic), "the topic is listed");
        }
    }

    @Case
    void incrementalFetchSessionSeesPartitionsComeAndGo() throws Exception {
        create(4);
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            for (int count : List.of(1, 4, 2, 3)) {
                List<TopicPartition> assigned = IntStream.range(0, count).mapToObj(this::partition).toList();
                consumer.assign(assigned);
                consumer.seekToEnd(assigned);
                assigned.forEach(consumer::position);
                for (int round = 0; round < 3; round++) {
                    for (TopicPartition each : assigned) {
                        send(values(5), each.partition(), Map.of());
                    }
                    equal(collect(consumer, 5 * count).size(), 5 * count);
                }
            }
        }
    }

    @Case
    void adminCreatesGrowsAndDeletesTopics() throws Exception {
        create(2, Map.of(TopicConfig.RETENTION_MS_CONFIG, "7000"));
        fails(TopicExistsException.class, () -> create(1));
        TopicDescription description = describe();
        equal(description.partitions().size(), 2);
        equal(description.partitions().get(0).isr().size(), 1);
        equal(admin.describeTopics(TopicCollection.ofTopicIds(List.of(description.topicId())))
            .allTopicIds().get().get(description.topicId()).name(), topic);
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        eventually(() -> describe().partitions().size() == 3);
        fails(InvalidPartitionsException.class,
            () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all().get());
        admin.deleteTopics(List.of(topic)).all().get();
        eventually(() -> !admin.listTopics().names().get().contains(topic));
        fails(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(topic)).all().get());
    }

    @Case
    void deletedAndCreatedAgainIsEmpty() throws Exception {
        create(1);
        send(values(100), 0, Map.of());
        admin.deleteTopics(List.of(topic)).all().get();
        eventually(() -> !admin.listTopics().names().get().contains(topic));
        create(1);
        equal(offset(OffsetSpec.latest()), 0L);
        send(values(3), 0, Map.of());
        equal(read(0, 0, 3), values(3));
    }

    @Case
    void adminDescribesSettings() throws Exception {
        create(1, Map.of(TopicConfig.SEGMENT_BYTES_CONFIG, "1048576"));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        equal(config.get(TopicConfig.SEGMENT_BYTES_CONFIG).value(), "1048576");
        equal(config.get(TopicConfig.SEGMENT_BYTES_CONFIG).source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG);
        equal(config.get(TopicConfig.MAX_MESSAGE_BYTES_CONFIG).source(), ConfigEntry.ConfigSource.DEFAULT_CONFIG);
        String node = String.valueOf(admin.describeCluster().controller().get().id());
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, node);
        equal(admin.describeConfigs(List.of(broker)).all().get().get(broker).get("node.id").value(), node);
    }

    @Case
    void adminListsOffsets() throws Exception {
        create(1);
        long time = 1_700_000_000_000L;
        List<Long> offsetsInTime = List.of(time + 5, time + 9, time + 2);
        try (Producer<byte[], byte[]> producer = producer(Map.of())) {
            for (long each : offsetsInTime) {
                producer.send(new ProducerRecord<>(topic, 0, each, null, bytes("v"))).get();
            }
        }
        equal(offset(OffsetSpec.earliest()), 0L);
        equal(offset(OffsetSpec.earliestLocal()), 0L);
        equal(offset(OffsetSpec.latest()), 3L);
        equal(offset(OffsetSpec.maxTimestamp()), 1L);
        equal(offset(OffsetSpec.forTimestamp(time + 6)), 1L);
        equal(offset(OffsetSpec.forTimestamp(time + 10)), -1L);
    }

    @Case
    void adminDeletesRecords() throws Exception {
        create(1);
        send(values(50), 0, Map.of());
        equal(deleteBefore(20), 20L);
        equal(offset(OffsetSpec.earliest()), 20L);
        equal(read(0, 20, 1), List.of("value 20"));
        equal(deleteBefore(10), 20L);
        equal(deleteBefore(-1), 50L);
        equal(offset(OffsetSpec.earliest()), 50L);
        send(values(1), 0, Map.of());
        equal(read(0, 50, 1), values(1));
    }

    @Case
    void adminDescribesClusterDirectoriesAndProducers() throws Exception {
        create(1);
        send(values(7), 0, Map.of());
        var nodes = admin.describeCluster().nodes().get();
        equal(nodes.stream().map(node -> node.host() + ":" + node.port()).toList(), List.of(bootstrap));
        equal(admin.describeCluster().clusterId().get().length(), 22);
        int node = nodes.iterator().next().id();
        holds(admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node).values().stream()
            .anyMatch(directory -> directory.replicaInfos().containsKey(partition(0))), "a directory has the partition");
        List<ProducerState> producers =
            admin.describeProducers(List.of(partition(0))).partitionResult(partition(0)).get().activeProducers();
        equal(producers.size(), 1);
        equal(producers.get(0).lastSequence(), 6);
    }

    // Verbs

    private void create(int partitions) throws Exception {
        create(partitions, Map.of());
    }

    private void create(int partitions, Map<String, String> settings) throws Exception {
        admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(settings))).all().get();
    }

    private TopicDescription describe() throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    private long offset(OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(partition(0), spec)).partitionResult(partition(0)).get().offset();
    }

    private long deleteBefore(long offset) throws Exception {
        return admin.deleteRecords(Map.of(partition(0), RecordsToDelete.beforeOffset(offset)))
            .lowWatermarks().get(partition(0)).get().lowWatermark();
    }

    private List<RecordMetadata> send(Collection<String> values, int partition, Map<String, Object> settings)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (Producer<byte[], byte[]> producer = producer(settings)) {
            for (String value : values) {
                sent.add(producer.send(new ProducerRecord<>(topic, partition, null, bytes(value))));
            }
        }
        List<RecordMetadata> result = new ArrayList<>();
        for (Future<RecordMetadata> each : sent) {
            result.add(each.get());
        }
        return result;
    }

    private List<String> read(int partition, long offset, int count) {
        return poll(partition, offset, count, Map.of()).stream().map(record -> text(record.value())).toList();
    }

    private List<ConsumerRecord<byte[], byte[]>> poll(int partition, long offset, int count,
            Map<String, Object> settings) {
        try (Consumer<byte[], byte[]> consumer = consumer(settings)) {
            consumer.assign(List.of(partition(partition)));
            consumer.seek(partition(partition), offset);
            return collect(consumer, count).subList(0, count);
        }
    }

    private List<ConsumerRecord<byte[], byte[]>> collect(Consumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> result = new ArrayList<>();
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (result.size() < count && System.nanoTime() < deadline) {
            consumer.poll(Duration.ofMillis(100)).forEach(result::add);
        }
        holds(result.size() >= count, "only " + result.size() + " of " + count + " records came");
        return result;
    }

    private Producer<byte[], byte[]> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        all.putAll(settings);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private Consumer<byte[], byte[]> consumer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        all.putAll(settings);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private TopicPartition partition(int index) {
        return new TopicPartition(topic, index);
    }

    private static List<String> values(int count) {
        return IntStream.range(0, count).mapToObj(i -> "value " + i).toList();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    // Checks

    private interface Action {
        void run() throws Exception;
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    private static void holds(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    private static void equal(Object found, Object expected) {
        holds(Objects.equals(found, expected), "found " + shortened(found) + ", expected " + shortened(expected));
    }

    private static String shortened(Object value) {
        String text = String.valueOf(value);
        return text.length() > 500 ? text.substring(0, 500) + "…" : text;
    }

    private static void fails(Class<? extends Exception> expected, Action action) {
        try {
            action.run();
        } catch (Exception failure) {
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            holds(expected.isInstance(cause), "expected " + expected.getSimpleName() + ", got " + cause);
            return;
        }
        throw new AssertionError("no " + expected.getSimpleName());
    }

    /** Metadata may trail a change for a moment. */
    private static void eventually(Condition condition) throws Exception {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (!condition.holds()) {
            holds(System.nanoTime() < deadline, "did not happen in time");
            Thread.sleep(20);
        }
    }
}
