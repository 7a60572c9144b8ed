//! Records and administration with rdkafka; what it is told and what it says is in basics/scenario.py.

use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::{engine::general_purpose::STANDARD, Engine};
use futures_executor::block_on;
use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::ClientContext;
use serde_json::{json, Map, Value};

const TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

type Answer = Result<Value, Box<dyn Error>>;

fn encoded(content: Option<&[u8]>) -> Value {
    content.map_or(Value::Null, |content| STANDARD.encode(content).into())
}

fn decoded(told: &Value) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
    Ok(told.as_str().map(|text| STANDARD.decode(text)).transpose()?)
}

fn text<'a>(request: &'a Value, name: &str) -> &'a str {
    request[name].as_str().unwrap_or_default()
}

fn number(request: &Value, name: &str) -> i64 {
    request[name].as_i64().unwrap_or_default()
}

/// Keeps the first failed delivery.
#[derive(Clone, Default)]
struct Deliveries(Arc<Mutex<Option<KafkaError>>>);

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, _: ()) {
        if let Err((error, _)) = result {
            self.0.lock().unwrap().get_or_insert(error.clone());
        }
    }
}

struct Basics {
    config: ClientConfig,
    admin: AdminClient<DefaultClientContext>,
}

impl Basics {
    fn new(bootstrap: &str) -> Result<Self, KafkaError> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("log_level", "2");
        let admin = config.create()?;
        Ok(Self { config, admin })
    }

    fn answer(&self, request: &Value) -> Answer {
        let topic = text(request, "topic");
        let options = AdminOptions::new().request_timeout(Some(TIMEOUT));
        match text(request, "do") {
            "produce" => self.produce(request),
            "consume" => self.consume(request),
            "create" => {
                let mut wanted = NewTopic::new(topic, number(request, "count") as i32, TopicReplication::Fixed(1));
                for (name, value) in request["config"].as_object().into_iter().flatten() {
                    wanted = wanted.set(name, value.as_str().unwrap_or_default());
                }
                only(block_on(self.admin.create_topics([&wanted], &options))?)
            }
            "topics" => {
                let found = self.admin.inner().fetch_metadata(None, TIMEOUT)?;
                Ok(found.topics().iter().map(|topic| topic.name()).collect())
            }
            "describe" => {
                let found = self.admin.inner().fetch_metadata(Some(topic), TIMEOUT)?;
                Ok(found.topics()[0].partitions().len().into())
            }
            "add_partitions" => {
                let more = NewPartitions::new(topic, number(request, "count") as usize);
                only(block_on(self.admin.create_partitions([&more], &options))?)
            }
            "alter_config" => {
                let mut changes = AlterConfig::new(ResourceSpecifier::Topic(topic));
                for (name, value) in request["config"].as_object().into_iter().flatten() {
                    changes = changes.set(name, value.as_str().unwrap_or_default());
                }
                let done = block_on(self.admin.alter_configs([&changes], &options))?.remove(0);
                done.map(|_| Value::Null).map_err(|(_, code)| code.into())
            }
            "config" => {
                let asked = ResourceSpecifier::Topic(topic);
                let found = block_on(self.admin.describe_configs([&asked], &options))?.remove(0)?;
                let settings: Map<String, Value> =
                    found.entries.into_iter().map(|entry| (entry.name, entry.value.into())).collect();
                Ok(settings.into())
            }
            "delete_records" => {
                let mut before = TopicPartitionList::new();
                let offset = Offset::Offset(number(request, "offset"));
                before.add_partition_offset(topic, number(request, "partition") as i32, offset)?;
                let done = block_on(self.admin.delete_records(&before, &options))?;
                done.elements()[0].error()?;
                Ok(Value::Null)
            }
            "delete" => only(block_on(self.admin.delete_topics(&[topic], &options))?),
            "groups" => {
                let found = self.admin.inner().fetch_group_list(None, TIMEOUT)?;
                Ok(found.groups().iter().map(|group| group.name()).collect())
            }
            "group_offsets" => {
                let consumer: BaseConsumer = self.config.clone().set("group.id", text(request, "group")).create()?;
                let mut asked = TopicPartitionList::new();
                asked.add_partition(topic, number(request, "partition") as i32);
                let found = consumer.committed_offsets(asked, TIMEOUT)?;
                Ok(found.elements()[0].offset().to_raw().into())
            }
            "delete_group" => only(block_on(self.admin.delete_groups(&[text(request, "group")], &options))?),
            "brokers" => {
                let found = self.admin.inner().fetch_metadata(None, TIMEOUT)?;
                Ok(found.brokers().iter().map(|broker| format!("{}:{}", broker.host(), broker.port())).collect())
            }
            unknown => Err(format!("it has no {unknown}").into()),
        }
    }

    fn produce(&self, request: &Value) -> Answer {
        let mut config = self.config.clone();
        config.set("compression.type", text(request, "codec")).set("acks", "all").set("linger.ms", "50");
        let deliveries = Deliveries::default();
        let producer: BaseProducer<Deliveries> = config.create_with_context(deliveries.clone())?;
        for record in request["records"].as_array().into_iter().flatten() {
            let (key, value) = (decoded(&record["key"])?, decoded(&record["value"])?);
            let mut headers = OwnedHeaders::new();
            for header in record["headers"].as_array().into_iter().flatten() {
                let content = decoded(&header["value"])?;
                headers = headers.insert(Header { key: text(header, "name"), value: content.as_ref() });
            }
            let mut sent: BaseRecord<'_, Vec<u8>, Vec<u8>> = BaseRecord::to(text(request, "topic"))
                .partition(number(request, "partition") as i32)
                .headers(headers);
            sent.key = key.as_ref();
            sent.payload = value.as_ref();
            if number(record, "timestamp") != 0 {
                sent = sent.timestamp(number(record, "timestamp"));
            }
            producer.send(sent).map_err(|(error, _)| error)?;
        }
        producer.flush(TIMEOUT)?;
        let failure = deliveries.0.lock().unwrap().take();
        failure.map_or(Ok(Value::Null), |error| Err(error.into()))
    }

    fn consume(&self, request: &Value) -> Answer {
        let mut config = self.config.clone();
        let consumer: BaseConsumer = config.set("group.id", "unused").set("enable.auto.commit", "false").create()?;
        let (topic, partition) = (text(request, "topic"), number(request, "partition") as i32);
        let mut start = TopicPartitionList::new();
        start.add_partition_offset(topic, partition, Offset::Offset(number(request, "offset")))?;
        if let Some(timestamp) = request["timestamp"].as_i64() {
            start.set_partition_offset(topic, partition, Offset::Offset(timestamp))?;
            start = consumer.offsets_for_times(start, TIMEOUT)?;
        }
        consumer.assign(&start)?;
        let mut out: Vec<Value> = Vec::new();
        let deadline = Instant::now() + TIMEOUT;
        while (out.len() as i64) < number(request, "count") && Instant::now() < deadline {
            let Some(polled) = consumer.poll(POLL) else { continue };
            let message = polled?;
            let headers: Vec<Value> = message.headers().into_iter().flat_map(|headers| headers.iter())
                .map(|header| json!({"name": header.key, "value": encoded(header.value)}))
                .collect();
            out.push(json!({
                "offset": message.offset(), "timestamp": message.timestamp().to_millis(),
                "key": encoded(message.key()), "value": encoded(message.payload()), "headers": headers,
            }));
        }
        Ok(out.into())
    }
}

/// What became of the only one of them.
fn only(mut results: Vec<Result<String, (String, RDKafkaErrorCode)>>) -> Answer {
    results.remove(0).map(|_| Value::Null).map_err(|(_, code)| code.into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let basics = Basics::new(&std::env::args().nth(1).ok_or("no address")?)?;
    for line in std::io::stdin().lock().lines() {
        let answer = match basics.answer(&serde_json::from_str(&line?)?) {
            Ok(value) => json!({"ok": value}),
            Err(error) => json!({"error": error.to_string()}),
        };
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
