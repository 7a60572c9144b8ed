//! Ways into a secured broker with rdkafka; security/ways.py tells what is asked and what is said.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rdkafka::client::OAuthToken;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::ClientContext;
use serde_json::{json, Value};

const TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);
const LIFETIME: Duration = Duration::from_secs(600);

const SETTINGS: [(&str, &str); 6] = [
    ("ca", "ssl.ca.location"), ("certificate", "ssl.certificate.location"), ("key", "ssl.key.location"),
    ("mechanism", "sasl.mechanism"), ("username", "sasl.username"), ("password", "sasl.password"),
];

// In TLS 1.3 a client learns that its certificate is refused by the end of its connection.
const REFUSALS: [RDKafkaErrorCode; 4] = [
    RDKafkaErrorCode::Authentication, RDKafkaErrorCode::SSL, RDKafkaErrorCode::SaslAuthenticationFailed,
    RDKafkaErrorCode::AllBrokersDown,
];

fn text<'a>(way: &'a Value, name: &str) -> &'a str {
    way[name].as_str().unwrap_or_default()
}

/// librdkafka tries for ever and tells of errors by a callback; the first that means a refusal is kept, and so is the first
/// failed delivery.
#[derive(Clone, Default)]
struct Attempt {
    token: String,
    failure: Arc<Mutex<Option<KafkaError>>>,
}

impl Attempt {
    fn check(&self) -> Result<(), KafkaError> {
        self.failure.lock().unwrap().take().map_or(Ok(()), Err)
    }
}

impl ClientContext for Attempt {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn error(&self, error: KafkaError, _: &str) {
        if error.rdkafka_error_code().is_some_and(|code| REFUSALS.contains(&code)) {
            self.failure.lock().unwrap().get_or_insert(error);
        }
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        let expires = SystemTime::now().duration_since(UNIX_EPOCH)? + LIFETIME;
        Ok(OAuthToken {
            token: self.token.clone(),
            principal_name: String::new(),
            lifetime_ms: i64::try_from(expires.as_millis())?,
        })
    }
}

impl ConsumerContext for Attempt {}

impl ProducerContext for Attempt {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            self.failure.lock().unwrap().get_or_insert(error.clone());
        }
    }
}

fn settings(way: &Value) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", text(way, "bootstrap")).set("log_level", "0");
    config.set("security.protocol", text(way, "protocol").to_lowercase());
    for (name, setting) in SETTINGS {
        if let Some(value) = way[name].as_str() {
            config.set(setting, value);
        }
    }
    config
}

fn produce(way: &Value, attempt: &Attempt) -> Result<(), Box<dyn Error>> {
    let producer: BaseProducer<Attempt> = settings(way).set("linger.ms", "0").create_with_context(attempt.clone())?;
    for value in way["values"].as_array().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let record: BaseRecord<'_, str, str> = BaseRecord::to(text(way, "topic")).partition(0).payload(value);
        producer.send(record).map_err(|(error, _)| error)?;
    }
    let deadline = Instant::now() + TIMEOUT;
    while producer.in_flight_count() > 0 {
        producer.poll(POLL);
        attempt.check()?;
        if Instant::now() > deadline {
            return Err("not delivered".into());
        }
    }
    Ok(attempt.check()?)
}

fn consume(way: &Value, attempt: &Attempt) -> Result<Vec<String>, Box<dyn Error>> {
    let group = format!("secured-{}", text(way, "name"));
    let consumer: BaseConsumer<Attempt> = settings(way).set("group.id", group).create_with_context(attempt.clone())?;
    let mut start = TopicPartitionList::new();
    start.add_partition_offset(text(way, "topic"), 0, Offset::Beginning)?;
    consumer.assign(&start)?;
    let mut values = Vec::new();
    let deadline = Instant::now() + TIMEOUT;
    while values.len() < way["values"].as_array().map_or(0, Vec::len) && Instant::now() < deadline {
        let polled = consumer.poll(POLL);
        attempt.check()?;
        if let Some(message) = polled {
            values.push(String::from_utf8_lossy(message?.payload().unwrap_or_default()).into_owned());
        }
    }
    Ok(values)
}

fn go(way: &Value) -> Value {
    let attempt = Attempt { token: text(way, "token").to_string(), ..Attempt::default() };
    let (outcome, detail) = match produce(way, &attempt).and_then(|()| consume(way, &attempt)) {
        Ok(values) => ("values", json!(values)),
        Err(error) => {
            let code = error.downcast_ref::<KafkaError>().and_then(KafkaError::rdkafka_error_code);
            let meaning = match code {
                Some(RDKafkaErrorCode::TopicAuthorizationFailed) => "denied",
                Some(code) if REFUSALS.contains(&code) => "refused",
                _ => "error",
            };
            (meaning, json!(error.to_string()))
        }
    };
    json!({"way": way["name"], "outcome": outcome, "detail": detail})
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("no file")?;
    let ways: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let attempts: Vec<_> = ways.into_iter().map(|way| thread::spawn(move || println!("{}", go(&way)))).collect();
    for attempt in attempts {
        attempt.join().map_err(|_| "a way ended badly")?;
    }
    Ok(())
}
