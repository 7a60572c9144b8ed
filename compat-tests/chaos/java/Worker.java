import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Copies in to mid and mid to out, as a member of the group, with one consumer and one producer. */
final class Worker implements ConsumerRebalanceListener, AutoCloseable {
    private static final int COMMIT_TRIES = 3;
    private static final Duration CLOSE_AT_MOST = Duration.ofSeconds(2);

    private final ChaosProcess field;
    private final History history;
    private final KafkaConsumer<String, String> consumer;
    private final KafkaProducer<String, String> producer;
    private final int partitions;

    Worker(ChaosProcess field) {
        this.field = field;
        history = field.history;
        partitions = field.number("partitions");
        consumer = new KafkaConsumer<>(consuming());
        producer = new KafkaProducer<>(producing());
    }

    private Properties consuming() {
        Properties settings = field.consuming("read_committed");
        settings.put("group.id", field.argument("group"));
        settings.put("group.protocol", field.argument("protocol"));
        settings.put("max.poll.interval.ms", field.argument("rebalance_ms"));
        settings.put("max.poll.records", field.argument("batch"));
        if (field.argument("protocol").equals("classic")) {  // in the other the broker says how long a session lasts
            int session = field.number("session_ms");
            settings.put("session.timeout.ms", session);
            settings.put("heartbeat.interval.ms", session / 10);
            settings.put("partition.assignment.strategy", RangeAssignor.class.getName());
        }
        return settings;
    }

    private Properties producing() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", field.argument("bootstrap"));
        settings.put("transactional.id", field.argument("id"));
        settings.put("transaction.timeout.ms", field.argument("txn_timeout_ms"));
        settings.put("max.block.ms", ChaosProcess.CALL_AT_MOST.toMillis());
        settings.put("delivery.timeout.ms", "20000");
        settings.put("request.timeout.ms", "8000");
        settings.put("reconnect.backoff.max.ms", "500");
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        return settings;
    }

    void run() {
        producer.initTransactions();
        consumer.subscribe(List.of(field.topic("in"), field.topic("mid")), this);
        for (int number = 1; !field.isClosing();) {
            ConsumerRecords<String, String> records = consumer.poll(ChaosProcess.IDLE);
            if (!records.isEmpty()) {
                copy(number, records);
                number++;
            }
        }
    }

    private void copy(int number, ConsumerRecords<String, String> records) {
        boolean abort = field.chance.nextInt(100) < field.number("abort");
        List<ProducerRecord<String, String>> copies = new ArrayList<>();
        Map<String, List<String>> sent = new TreeMap<>();
        for (ConsumerRecord<String, String> record : records) {
            ProducerRecord<String, String> copy = copyOf(record, number, abort);
            copies.add(copy);
            sent.computeIfAbsent(field.key(copy.topic(), copy.partition()), key -> new ArrayList<>()).add(copy.value());
        }
        producer.beginTransaction();
        history.begin(number, field.polled(records), sent);
        List<Future<RecordMetadata>> sending = new ArrayList<>();
        try {
            copies.forEach(copy -> sending.add(producer.send(copy)));
            work();
            if (abort) {
                producer.flush();
            } else {
                producer.sendOffsetsToTransaction(nextOffsets(records), consumer.groupMetadata());
            }
        } catch (KafkaException error) {
            abort(number, error);
            return;
        }
        if (abort) {
            abort(number, "on purpose");
            return;
        }
        history.commit(number);
        commit(number, sending);
    }

    private ProducerRecord<String, String> copyOf(ConsumerRecord<String, String> record, int number, boolean abort) {
        String to = record.topic().equals(field.topic("in")) ? "mid" : "out";
        String value = String.format(Locale.ROOT, "%s@%d|%s:%d|%s", field.key(record.topic(), record.partition()), record.offset(),
            history.process(), number, abort ? "aborted" : "committed");
        return new ProducerRecord<>(field.topic(to), (int) ((record.partition() + record.offset()) % partitions), null, value);
    }

    private static Map<TopicPartition, OffsetAndMetadata> nextOffsets(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        records.forEach(record -> next.put(new TopicPartition(record.topic(), record.partition()),
            new OffsetAndMetadata(record.offset() + 1)));
        return next;
    }

    /** A failure ends the session: whether it is committed is not known then. */
    private void commit(int number, List<Future<RecordMetadata>> sending) {
        for (int tries = 1;; tries++) {
            try {
                producer.commitTransaction();
                break;
            } catch (TimeoutException error) {
                if (tries == COMMIT_TRIES) {
                    history.ended("info", number, error);
                    throw error;
                }
            } catch (KafkaException error) {
                history.ended("info", number, error);
                throw error;
            }
        }
        history.ok(number, offsets(sending));
    }

    private Map<String, List<Long>> offsets(List<Future<RecordMetadata>> sending) {
        Map<String, List<Long>> offsets = new TreeMap<>();
        for (Future<RecordMetadata> each : sending) {
            try {
                RecordMetadata sent = each.get();
                offsets.computeIfAbsent(field.key(sent.topic(), sent.partition()), key -> new ArrayList<>())
                    .add(sent.hasOffset() ? sent.offset() : -1);
            } catch (InterruptedException | ExecutionException error) {
                throw new IllegalStateException("committed without a record", error);
            }
        }
        return offsets;
    }

    private void abort(int number, Object why) {
        history.ended("fail", number, why);
        if (why instanceof ProducerFencedException || why instanceof InvalidProducerEpochException) {
            throw (KafkaException) why;
        }
        producer.abortTransaction();
        rewind();
    }

    /** Back to where the group is, to poll again what was aborted. */
    private void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata at = committed.get(partition);
            if (at == null) {
                consumer.seekToBeginning(List.of(partition));
            } else {
                consumer.seek(partition, at);
            }
        }
    }

    private void work() {
        int most = field.number("work_ms");
        try {
            if (most > 0) {
                Thread.sleep(field.chance.nextInt(most));
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> gained) {
        history.assign(false);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        history.assign(false);
    }

    @Override
    public void close() {
        producer.close(Duration.ZERO);
        consumer.close(CloseOptions.timeout(CLOSE_AT_MOST));
    }
}
