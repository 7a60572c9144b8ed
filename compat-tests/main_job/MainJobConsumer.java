import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads topics from their beginnings and holds each record, in order, against what the producer wrote down:
 * `MainJobConsumer ADDRESS EXPECTED_DIR PARTITIONS TOPIC…`. EXPECTED_DIR/TOPIC-N has 16 bytes for each record of
 * partition N (see producer.cc). Exits with 1 at the first difference, which it describes.
 */
public final class MainJobConsumer {
    private static final int DIGEST_BYTES = 16;
    private static final int BUFFER_BYTES = 1 << 16;
    private static final int EXCERPT_CHARACTERS = 200;
    private static final Duration SILENCE = Duration.ofSeconds(60);

    /** What is still expected of one partition. */
    private static final class Expected {
        final long count;
        long next = 0;
        private final InputStream digests;

        Expected(Path file) throws IOException {
            count = Files.size(file) / DIGEST_BYTES;
            digests = new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES);
        }

        byte[] nextDigest() throws IOException {
            byte[] digest = digests.readNBytes(DIGEST_BYTES);
            if (digest.length < DIGEST_BYTES) {
                throw new EOFException();
            }
            next++;
            return digest;
        }
    }

    private static final class Difference extends Exception {
        private static final long serialVersionUID = 1;

        Difference(String what) {
            super(what);
        }
    }

    private final MessageDigest sha256;
    private long records;
    private long bytes;

    private MainJobConsumer() throws NoSuchAlgorithmException {
        sha256 = MessageDigest.getInstance("SHA-256");
    }

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        MainJobConsumer job = new MainJobConsumer();
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0]);
        try (Consumer<byte[], byte[]> consumer =
                 new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            for (String topic : Arrays.asList(arguments).subList(3, arguments.length)) {
                long before = job.records;
                job.check(consumer, topic, partitions, directory);
                System.out.printf("%s: %d records equal%n", topic, job.records - before);
            }
        } catch (Difference difference) {
            System.out.println("DIFFERENCE: " + difference.getMessage());
            System.exit(1);
        }
        System.out.printf("%d records, %d bytes of keys and values%n", job.records, job.bytes);
    }

    private void check(Consumer<byte[], byte[]> consumer, String topic, int partitions, Path directory)
            throws IOException, Difference {
        Map<TopicPartition, Expected> expected = new HashMap<>();
        for (int partition : IntStream.range(0, partitions).toArray()) {
            expected.put(new TopicPartition(topic, partition), new Expected(directory.resolve(topic + "-" + partition)));
        }
        consumer.assign(expected.keySet());
        consumer.seekToBeginning(expected.keySet());
        long lastRecord = System.nanoTime();
        while (expected.values().stream().anyMatch(each -> each.next < each.count)) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                check(record, expected.get(new TopicPartition(record.topic(), record.partition())));
                lastRecord = System.nanoTime();
            }
            if (System.nanoTime() - lastRecord > SILENCE.toNanos()) {
                throw new Difference("no record for a minute; have " + describe(expected));
            }
        }
        Map<TopicPartition, Long> ends = consumer.endOffsets(expected.keySet());
        for (Map.Entry<TopicPartition, Expected> each : expected.entrySet()) {
            if (ends.get(each.getKey()) != each.getValue().count) {
                throw new Difference(each.getKey() + " ends at " + ends.get(each.getKey()) + " and not at "
                    + each.getValue().count);
            }
        }
    }

    private void check(ConsumerRecord<byte[], byte[]> record, Expected expected) throws IOException, Difference {
        if (record.offset() != expected.next || expected.next == expected.count) {
            throw new Difference("offset " + record.offset() + " after " + expected.next + " of " + expected.count
                + " records: " + describe(record));
        }
        if (!Arrays.equals(digest(record), expected.nextDigest())) {
            throw new Difference("not what was sent: " + describe(record));
        }
        records++;
        bytes += Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize());
    }

    private byte[] digest(ConsumerRecord<byte[], byte[]> record) {
        sha256.update(ByteBuffer.allocate(Long.BYTES).putLong(0, record.timestamp()));
        add(record.key());
        add(record.value());
        Header[] headers = record.headers().toArray();
        sha256.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, headers.length));
        for (Header header : headers) {
            add(header.key().getBytes(StandardCharsets.UTF_8));
            add(header.value());
        }
        return Arrays.copyOf(sha256.digest(), DIGEST_BYTES);
    }

    private void add(byte[] data) {
        sha256.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, data == null ? -1 : data.length));
        if (data != null) {
            sha256.update(data);
        }
    }

    private static String describe(Map<TopicPartition, Expected> expected) {
        List<String> parts = expected.entrySet().stream()
            .map(each -> each.getKey() + " " + each.getValue().next + "/" + each.getValue().count).sorted().toList();
        return String.join(", ", parts);
    }

    private static String describe(ConsumerRecord<byte[], byte[]> record) {
        return record.topic() + "-" + record.partition() + " offset " + record.offset() + " time " + record.timestamp()
            + " key " + excerpt(record.key()) + " value " + excerpt(record.value()) + " headers " + record.headers();
    }

    private static String excerpt(byte[] data) {
        if (data == null) {
            return "null";
        }
        String text = new String(data, StandardCharsets.ISO_8859_1);
        String start = text.length() > EXCERPT_CHARACTERS ? text.substring(0, EXCERPT_CHARACTERS) + "…" : text;
        return "\"" + start + "\" (" + data.length + " bytes)";
    }
}
