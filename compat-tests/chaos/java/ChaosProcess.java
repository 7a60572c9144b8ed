import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** The part of Apache Kafka's client in the chaos test: {@code ChaosProcess NAME=VALUE…}; ../README.md has the roles. */
public final class ChaosProcess {
    static final Duration IDLE = Duration.ofMillis(200);
    static final Duration CALL_AT_MOST = Duration.ofSeconds(20);
    private static final int FENCED = 3;

    private final Map<String, String> arguments;
    final History history;
    final Random chance;
    private volatile boolean closing;
    private int sessions;

    private ChaosProcess(String[] given) throws IOException {
        arguments = Arrays.stream(given).map(each -> each.split("=", 2)).collect(Collectors.toMap(p -> p[0], p -> p[1]));
        history = new History(argument("history"));
        chance = new Random(Long.parseLong(argument("seed")));
    }

    public static void main(String[] given) throws IOException {
        ChaosProcess process = new ChaosProcess(given);
        Thread end = new Thread(process::awaitEnd);
        end.setDaemon(true);
        end.start();
        if (process.argument("role").equals("worker")) {
            process.work();
        } else {
            process.read();
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

    boolean isClosing() {
        return closing;
    }

    String argument(String name) {
        return arguments.get(name);
    }

    int number(String name) {
        return Integer.parseInt(argument(name));
    }

    String topic(String name) {
        return argument("prefix") + name;
    }

    /** A partition's name in the history. */
    String key(String topic, int partition) {
        return topic.substring(argument("prefix").length()) + "/" + partition;
    }

    Properties consuming(String isolation) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", argument("bootstrap"));
        settings.put("isolation.level", isolation);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("reconnect.backoff.max.ms", "500");
        settings.put("request.timeout.ms", "8000");
        settings.put("default.api.timeout.ms", String.valueOf(CALL_AT_MOST.toMillis()));
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        return settings;
    }

    Map<String, History.Records> polled(Iterable<ConsumerRecord<String, String>> records) {
        Map<String, History.Records> polled = new TreeMap<>();
        for (ConsumerRecord<String, String> record : records) {
            History.Records of = polled.computeIfAbsent(key(record.topic(), record.partition()),
                key -> new History.Records(new ArrayList<>(), new ArrayList<>()));
            of.offsets().add(record.offset());
            of.values().add(record.value());
        }
        return polled;
    }

    /**
     * Workers go on with new clients after a failure, and are new processes as far as the history is concerned. They end
     * when another one has taken their place.
     */
    private void work() {
        while (!closing) {
            history.setProcess(argument("name") + (sessions == 0 ? "" : ".next" + sessions));
            sessions++;
            try (Worker worker = new Worker(this)) {
                worker.run();
            } catch (ProducerFencedException | InvalidProducerEpochException error) {
                System.err.println(history.process() + ": " + error);
                Runtime.getRuntime().halt(FENCED);
            } catch (RuntimeException error) {
                System.err.println(history.process() + ": " + error);
            }
        }
    }

    /** Notes all that it is shown of all partitions, to the end or to the offsets given. */
    private void read() {
        history.setProcess(argument("name"));
        Map<TopicPartition, Long> ends = ends();
        try (Consumer<String, String> consumer = new KafkaConsumer<>(consuming(argument("isolation")))) {
            List<TopicPartition> all = Stream.of("in", "mid", "out").flatMap(topic -> IntStream.range(0, number("partitions"))
                .mapToObj(partition -> new TopicPartition(topic(topic), partition))).toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            history.assign(true);
            while (!closing && (ends == null || !ends.isEmpty())) {
                ConsumerRecords<String, String> records = consumer.poll(IDLE);
                if (!records.isEmpty()) {
                    history.poll(polled(records), argument("isolation"));
                }
                if (ends != null) {
                    ends.entrySet().removeIf(end -> consumer.position(end.getKey()) >= end.getValue());
                }
            }
        }
    }

    private Map<TopicPartition, Long> ends() {
        if (!arguments.containsKey("ends")) {
            return null;
        }
        Function<String, TopicPartition> partition = key ->
            new TopicPartition(topic(key.substring(0, key.indexOf('/'))), Integer.parseInt(key.substring(key.indexOf('/') + 1)));
        return new HashMap<>(Arrays.stream(argument("ends").split(",")).map(each -> each.split(":"))
            .collect(Collectors.toMap(pair -> partition.apply(pair[0]), pair -> Long.parseLong(pair[1]))));
    }
}
