import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Records and administration with Apache Kafka's client; what it is told and what it says is in basics/scenario.py. */
public final class Basics {
    private static final Duration TIMEOUT = Duration.ofSeconds(30);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String bootstrap;
    private final Admin admin;

    private Basics(String bootstrap) {
        this.bootstrap = bootstrap;
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] arguments) throws IOException {
        Basics basics = new Basics(arguments[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("ok", JSON.valueToTree(basics.answer(JSON.readTree(line))));
            } catch (Exception error) {
                answer.put("error", error.toString());
            }
            System.out.println(answer);
        }
    }

    private Object answer(JsonNode request) throws Exception {
        String topic = request.path("topic").asText();
        String group = request.path("group").asText();
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        TopicPartition partition = new TopicPartition(topic, request.path("partition").asInt());
        switch (request.get("do").asText()) {
            case "produce":
                produce(partition, request);
                return null;
            case "consume":
                return consume(partition, request);
            case "create":
                NewTopic wanted = new NewTopic(topic, request.get("count").asInt(), (short) 1);
                return admin.createTopics(List.of(wanted.configs(settings(request)))).all().get();
            case "topics":
                return admin.listTopics().names().get();
            case "describe":
                return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
            case "add_partitions":
                NewPartitions more = NewPartitions.increaseTo(request.get("count").asInt());
                return admin.createPartitions(Map.of(topic, more)).all().get();
            case "alter_config":
                Collection<AlterConfigOp> changes = new ArrayList<>();
                settings(request).forEach((name, value) ->
                    changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
                return admin.incrementalAlterConfigs(Map.of(resource, changes)).all().get();
            case "config":
                Map<String, String> settings = new HashMap<>();
                admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()
                    .forEach(entry -> settings.put(entry.name(), entry.value()));
                return settings;
            case "delete_records":
                RecordsToDelete before = RecordsToDelete.beforeOffset(request.get("offset").asLong());
                return admin.deleteRecords(Map.of(partition, before)).all().get();
            case "delete":
                return admin.deleteTopics(List.of(topic)).all().get();
            case "groups":
                return admin.listGroups().all().get().stream().map(listing -> listing.groupId()).toList();
            case "group_offsets":
                return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition).offset();
            case "delete_group":
                return admin.deleteConsumerGroups(List.of(group)).all().get();
            case "brokers":
                return admin.describeCluster().nodes().get().stream().map(node -> node.host() + ":" + node.port()).toList();
            default:
                throw new IllegalArgumentException(request.get("do").asText());
        }
    }

    private static Map<String, String> settings(JsonNode request) {
        Map<String, String> settings = new HashMap<>();
        request.get("config").properties().forEach(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        return settings;
    }

    private void produce(TopicPartition partition, JsonNode request) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all", "linger.ms", 50,
            "compression.type", request.get("codec").asText());
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (JsonNode told : request.get("records")) {
                long timestamp = told.get("timestamp").asLong();
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(partition.topic(), partition.partition(),
                    timestamp == 0 ? null : timestamp, bytes(told.get("key")), bytes(told.get("value")));
                for (JsonNode header : told.get("headers")) {
                    record.headers().add(header.get("name").asText(), bytes(header.get("value")));
                }
                sent.add(producer.send(record));
            }
            for (Future<RecordMetadata> each : sent) {
                each.get();
            }
        }
    }

    private ArrayNode consume(TopicPartition partition, JsonNode request) {
        ArrayNode out = JSON.createArrayNode();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", bootstrap), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            long start = request.has("timestamp")
                ? consumer.offsetsForTimes(Map.of(partition, request.get("timestamp").asLong())).get(partition).offset()
                : request.get("offset").asLong();
            consumer.seek(partition, start);
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            while (out.size() < request.get("count").asInt() && System.nanoTime() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    ObjectNode told = out.addObject().put("offset", record.offset()).put("timestamp", record.timestamp())
                        .put("key", text(record.key())).put("value", text(record.value()));
                    ArrayNode headers = told.putArray("headers");
                    for (Header header : record.headers()) {
                        headers.addObject().put("name", header.key()).put("value", text(header.value()));
                    }
                }
            }
        }
        return out;
    }

    private static byte[] bytes(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] bytes) {
        return Optional.ofNullable(bytes).map(Base64.getEncoder()::encodeToString).orElse(null);
    }
}
