import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Ways into a secured broker with Apache Kafka's client; security/ways.py tells what is asked and what is said. */
public final class Secured {
    private static final int TIMEOUT_MS = 60_000;
    private static final int AT_ONCE = 4;
    private static final ObjectMapper JSON = new ObjectMapper();

    private Secured() {}

    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
        for (JsonNode way : JSON.readTree(new File(arguments[0]))) {
            threads.submit(() -> tell(way));
        }
        threads.shutdown();
        threads.awaitTermination(1, TimeUnit.HOURS);
    }

    private static void tell(JsonNode way) {
        ObjectNode told = JSON.createObjectNode().put("way", way.get("name").asText());
        try {
            told.put("outcome", "values").set("detail", JSON.valueToTree(produceAndConsume(way)));
        } catch (Exception error) {
            told.put("outcome", meaning(error)).put("detail", error.toString());
        }
        synchronized (Secured.class) {
            System.out.println(told);
        }
    }

    private static String meaning(Throwable error) {
        for (Throwable at = error; at != null; at = at.getCause()) {
            if (at instanceof AuthenticationException) {
                return "refused";
            }
            if (at instanceof TopicAuthorizationException) {
                return "denied";
            }
        }
        return "error";
    }

    private static List<String> produceAndConsume(JsonNode way) throws Exception {
        Map<String, Object> settings = settings(way);
        String topic = way.get("topic").asText();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (JsonNode value : way.get("values")) {
                producer.send(new ProducerRecord<>(topic, 0, null, value.asText())).get();
            }
        } catch (ExecutionException error) {
            throw (Exception) error.getCause();
        }
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            long deadline = System.nanoTime() + Duration.ofMillis(TIMEOUT_MS).toNanos();
            while (values.size() < way.get("values").size() && System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    values.add(record.value());
                }
            }
        }
        return values;
    }

    private static Map<String, Object> settings(JsonNode way) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", way.get("bootstrap").asText());
        settings.put("security.protocol", way.get("protocol").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("delivery.timeout.ms", TIMEOUT_MS);
        settings.put("request.timeout.ms", TIMEOUT_MS / 2);
        if (way.has("ca")) {
            settings.put("ssl.truststore.type", "PEM");
            settings.put("ssl.truststore.location", way.get("ca").asText());
        }
        if (way.has("certificate")) {
            settings.put("ssl.keystore.type", "PEM");
            settings.put("ssl.keystore.certificate.chain", read(way, "certificate"));
            settings.put("ssl.keystore.key", read(way, "key"));
        }
        if (way.has("mechanism")) {
            settings.put("sasl.mechanism", way.get("mechanism").asText());
            settings.put("sasl.jaas.config", jaas(way));
        }
        if (way.has("token")) {
            settings.put("sasl.login.callback.handler.class",
                    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler");
            settings.put("sasl.oauthbearer.token.endpoint.url",
                    Path.of(way.get("token_file").asText()).toUri().toString());
            // It retries what the broker refuses for good.
            settings.put("sasl.login.retry.backoff.max.ms", 500);
        }
        return settings;
    }

    private static String read(JsonNode way, String name) throws Exception {
        return Files.readString(Path.of(way.get(name).asText()));
    }

    private static String jaas(JsonNode way) {
        if (way.has("token")) {
            return "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;";
        }
        String module = way.get("mechanism").asText().equals("PLAIN")
                ? "org.apache.kafka.common.security.plain.PlainLoginModule"
                : "org.apache.kafka.common.security.scram.ScramLoginModule";
        return String.format("%s required username=%s password=%s;", module, quoted(way, "username"),
                quoted(way, "password"));
    }

    private static String quoted(JsonNode way, String name) {
        return '"' + way.get(name).asText().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }
}
