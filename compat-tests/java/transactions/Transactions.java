import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactions with Apache Kafka's client; what it is told and what it says is in transactions/scenario.py. */
public final class Transactions {
    private static final List<String> ISOLATIONS = List.of("read_committed", "read_uncommitted");
    private static final int COPY_AT_MOST = 10;
    private static final int ABORT_EVERY = 4;
    private static final int COPIER_TIMEOUT_MS = 15_000;
    private static final long SEEN_TIMEOUT_MS = 20_000;
    private static final long QUIET_MS = 100;
    private static final long PAUSE_MS = 5;

    private final String bootstrap;
    private final Map<String, Producer<String, String>> producers = new HashMap<>();
    private final List<Reader> readers = new ArrayList<>();

    private Transactions(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1) {
            new Transactions(arguments[0]).run();
        } else {
            new Copier(arguments).run();
        }
    }

    private static void say(String what) {
        byte[] line = (what.replace('\n', ' ') + "\n").getBytes(StandardCharsets.UTF_8);
        System.out.write(line, 0, line.length);
        System.out.flush();
    }

    private void run() throws IOException, InterruptedException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            try {
                say("ok " + act(words));
            } catch (ExecutionException error) {
                sayError(error.getCause());
            } catch (KafkaException | IllegalStateException error) {
                sayError(error);
            }
        }
    }

    /** Once it has failed the client wraps the reason for that into exceptions of the general kind. */
    private static void sayError(Throwable error) {
        boolean general = error.getClass() == KafkaException.class && error.getCause() != null;
        Throwable reason = general ? error.getCause() : error;
        say(String.format(Locale.ROOT, "error %s %s", reason.getClass().getSimpleName(), error.getMessage()));
    }

    private String act(String[] words) throws ExecutionException, InterruptedException {
        switch (words[0]) {
            case "producer" -> producers.put(words[1], newProducer(bootstrap, words[2], Integer.parseInt(words[3])));
            case "begin" -> producers.get(words[1]).beginTransaction();
            case "commit" -> producers.get(words[1]).commitTransaction();
            case "abort" -> producers.get(words[1]).abortTransaction();
            case "close" -> producers.get(words[1]).close(Duration.ZERO);
            case "send" -> send(producers.get(words[1]), words[2], numbers(words));
            case "offsets" -> producers.get(words[1]).sendOffsetsToTransaction(
                Arrays.stream(words[4].split(",")).map(entry -> entry.split(":")).collect(Collectors.toMap(
                    pair -> new TopicPartition(words[3], Integer.parseInt(pair[0])),
                    pair -> new OffsetAndMetadata(Long.parseLong(pair[1])))),
                outside(words[2]));
            case "read" -> ISOLATIONS.forEach(
                isolation -> readers.add(new Reader(bootstrap, words[1], Integer.parseInt(words[2]), isolation)));
            case "seen" -> {
                return seen(List.of(Integer.valueOf(words[1]), Integer.valueOf(words[2])));
            }
            default -> throw new IllegalStateException("no such command");
        }
        return "";
    }

    private static Producer<String, String> newProducer(String bootstrap, String id, int timeoutMs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", id);
        settings.put("transaction.timeout.ms", timeoutMs);
        settings.put("reconnect.backoff.max.ms", 200);
        Producer<String, String> made = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    private static KafkaConsumer<String, String> newConsumer(String bootstrap, String isolation, Map<String, ?> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("isolation.level", isolation);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", 100);
        settings.put("reconnect.backoff.max.ms", 200);
        settings.putAll(more);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /** For a group that nobody is in. */
    private ConsumerGroupMetadata outside(String group) {
        try (Consumer<String, String> consumer = newConsumer(bootstrap, ISOLATIONS.get(0), Map.of("group.id", group))) {
            return consumer.groupMetadata();
        }
    }

    /** Partitions and values. */
    private static List<Map.Entry<Integer, String>> numbers(String[] words) {
        int first = Integer.parseInt(words[4]);
        return IntStream.range(first, first + Integer.parseInt(words[5]))
            .mapToObj(i -> Map.entry(i % Integer.parseInt(words[3]), String.valueOf(i))).collect(Collectors.toList());
    }

    private static void send(Producer<String, String> producer, String topic, List<Map.Entry<Integer, String>> records)
            throws ExecutionException, InterruptedException {
        List<Future<?>> sent = new ArrayList<>();
        for (Map.Entry<Integer, String> record : records) {
            sent.add(producer.send(new ProducerRecord<>(topic, record.getKey(), null, record.getValue())));
        }
        producer.flush();
        for (Future<?> acknowledged : sent) {
            acknowledged.get();
        }
    }

    private static final class Reader {
        private final String isolation;
        private final List<String> records = Collections.synchronizedList(new ArrayList<>());
        private int told;

        Reader(String bootstrap, String topic, int partitions, String isolation) {
            this.isolation = isolation;
            Consumer<String, String> consumer = newConsumer(bootstrap, isolation, Map.of());
            consumer.assign(
                IntStream.range(0, partitions).mapToObj(p -> new TopicPartition(topic, p)).collect(Collectors.toList()));
            Thread reading = new Thread(() -> {
                while (true) {
                    consumer.poll(Duration.ofMillis(100)).forEach(r -> records.add(r.partition() + ":" + r.value()));
                }
            });
            reading.setDaemon(true);
            reading.start();
        }
    }

    /** Once each reader has read so many or time is up, and no more come. */
    private String seen(List<Integer> counts) throws InterruptedException {
        long deadline = System.currentTimeMillis() + SEEN_TIMEOUT_MS;
        while (IntStream.range(0, counts.size()).anyMatch(i -> readers.get(i).records.size() < counts.get(i))
            && System.currentTimeMillis() < deadline) {
            Thread.sleep(PAUSE_MS);
        }
        List<Integer> known = List.of();
        for (long since = System.currentTimeMillis(); System.currentTimeMillis() < since + QUIET_MS;) {
            List<Integer> now = readers.stream().map(reader -> reader.records.size()).collect(Collectors.toList());
            if (!now.equals(known)) {
                known = now;
                since = System.currentTimeMillis();
            }
            Thread.sleep(PAUSE_MS);
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < known.size(); i++) {
            Reader reader = readers.get(i);
            for (; reader.told < known.get(i); reader.told++) {
                out.append(reader.isolation).append(':').append(reader.records.get(reader.told)).append(' ');
            }
        }
        return out.toString();
    }

    private static final class Copier {
        private final String source;
        private final String target;
        private final KafkaConsumer<String, String> consumer;
        private final Producer<String, String> producer;
        private int transactions;
        private volatile boolean closing;

        Copier(String[] arguments) {
            source = arguments[3];
            target = arguments[4];
            Map<String, Object> settings = new HashMap<>(Map.of("group.id", arguments[2], "max.poll.records", COPY_AT_MOST));
            if (arguments[5].equals("consumer")) {  // the broker says how long a session lasts
                settings.put("group.protocol", "consumer");
            } else {
                settings.put("session.timeout.ms", arguments[6]);
                settings.put("heartbeat.interval.ms", Integer.parseInt(arguments[6]) / 6);
            }
            consumer = newConsumer(arguments[0], "read_committed", settings);
            producer = newProducer(arguments[0], arguments[1], COPIER_TIMEOUT_MS);
        }

        void run() throws ExecutionException, InterruptedException {
            Thread end = new Thread(this::awaitEnd);
            end.setDaemon(true);
            end.start();
            consumer.subscribe(List.of(source));
            while (!closing) {
                ConsumerRecords<String, String> read = consumer.poll(Duration.ofMillis(100));
                if (!read.isEmpty()) {
                    say((copied(read) ? "committed " : "aborted ") + read.count() + told(read));
                }
            }
            consumer.close();
            producer.close();
        }

        private boolean copied(ConsumerRecords<String, String> read) throws ExecutionException, InterruptedException {
            producer.beginTransaction();
            try {
                List<Map.Entry<Integer, String>> records = new ArrayList<>();
                read.forEach(record -> records.add(Map.entry(record.partition(), record.value())));
                send(producer, target, records);
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                read.forEach(record -> offsets.put(
                    new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1)));
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                transactions++;
                if (transactions % ABORT_EVERY != 0) {
                    producer.commitTransaction();
                    return true;
                }
            } catch (ExecutionException error) {
                failed(error.getCause());
            } catch (KafkaException error) {
                failed(error);
            }
            producer.abortTransaction();
            readAgain(read);
            return false;
        }

        /** From which offset on, by partition; for people. */
        private static String told(ConsumerRecords<String, String> read) {
            return read.partitions().stream().map(p -> " " + p.partition() + ":" + read.records(p).get(0).offset())
                .collect(Collectors.joining());
        }

        /** Throws what cannot be answered by an abort. */
        private static void failed(Throwable error) {
            say("failed " + error);
            if (error instanceof ProducerFencedException || error instanceof AuthorizationException) {
                throw (KafkaException) error;
            }
        }

        /** What is still its own. */
        private void readAgain(ConsumerRecords<String, String> read) {
            for (TopicPartition partition : read.partitions()) {
                ConsumerRecord<String, String> first = read.records(partition).get(0);
                if (consumer.assignment().contains(partition)) {
                    consumer.seek(partition, first.offset());
                }
            }
        }

        private void awaitEnd() {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException error) {
                System.err.println(error);
            }
            closing = true;
        }
    }
}
