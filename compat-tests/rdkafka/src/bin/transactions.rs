//! Transactions with rdkafka; what it is told and what it says is in transactions/scenario.py.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaError;
use rdkafka::message::{DeliveryResult, Message};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::ClientContext;

const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
const COPIER_TIMEOUT_MS: &str = "15000";
const COPY_AT_MOST: usize = 10; // records in one transaction
const ABORT_EVERY: usize = 4; // of a copier's transactions one is aborted and done again
const SEEN_TIMEOUT: Duration = Duration::from_secs(20);
const QUIET: Duration = Duration::from_millis(100); // after this long without a record there are no more
const PAUSE: Duration = Duration::from_millis(5);
const ISOLATIONS: [&str; 2] = ["read_committed", "read_uncommitted"];

type Outcome<T> = Result<T, Box<dyn Error>>;
type Records = Vec<(i32, Vec<u8>)>;

fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{}\n", words.replace('\n', " ").trim()).as_bytes()).and_then(|()| out.flush()).expect("a pipe");
}

fn settings(bootstrap: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("reconnect.backoff.max.ms", "200").set("log_level", "2");
    config
}

/// Keeps the first failed delivery.
#[derive(Clone, Default)]
struct Deliveries(Arc<Mutex<Option<KafkaError>>>);

impl ClientContext for Deliveries {}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        if let Err((error, _)) = result {
            self.0.lock().unwrap().get_or_insert(error.clone());
        }
    }
}

/// With a thread that hears of deliveries, for which ending a transaction waits.
struct Transactional {
    producer: ThreadedProducer<Deliveries>,
    deliveries: Deliveries,
}

impl Transactional {
    fn new(bootstrap: &str, id: &str, timeout_ms: &str) -> Result<Self, KafkaError> {
        let deliveries = Deliveries::default();
        let mut config = settings(bootstrap);
        config.set("transactional.id", id).set("transaction.timeout.ms", timeout_ms).set("linger.ms", "0");
        let producer: ThreadedProducer<Deliveries> = config.create_with_context(deliveries.clone())?;
        producer.init_transactions(TIMEOUT)?;
        Ok(Self { producer, deliveries })
    }

    /// Returns when all are acknowledged.
    fn send(&self, topic: &str, records: &Records) -> Result<(), KafkaError> {
        self.deliveries.0.lock().unwrap().take();
        for (partition, value) in records {
            let record: BaseRecord<'_, [u8], Vec<u8>> = BaseRecord::to(topic).partition(*partition).payload(value);
            self.producer.send(record).map_err(|(error, _)| error)?;
        }
        self.producer.flush(TIMEOUT)?;
        self.deliveries.0.lock().unwrap().take().map_or(Ok(()), Err)
    }

    fn send_offsets<C: ConsumerContext>(
        &self, consumer: &BaseConsumer<C>, topic: &str, offsets: &BTreeMap<i32, i64>,
    ) -> Outcome<()> {
        let member = consumer.group_metadata().ok_or("no metadata of the group")?;
        Ok(self.producer.send_offsets_to_transaction(&list(topic, offsets)?, &member, TIMEOUT)?)
    }
}

fn list(topic: &str, offsets: &BTreeMap<i32, i64>) -> Result<TopicPartitionList, KafkaError> {
    let mut out = TopicPartitionList::new();
    for (partition, offset) in offsets {
        out.add_partition_offset(topic, *partition, Offset::Offset(*offset))?;
    }
    Ok(out)
}

fn reading(bootstrap: &str, group: &str, isolation: &str) -> ClientConfig {
    let mut config = settings(bootstrap);
    config.set("group.id", group).set("isolation.level", isolation).set("auto.offset.reset", "earliest");
    config.set("enable.auto.commit", "false").set("fetch.wait.max.ms", "100");
    config
}

#[derive(Clone, Default)]
struct Reader {
    records: Arc<Mutex<Vec<String>>>,
    told: usize,
}

impl Reader {
    fn start(bootstrap: &str, topic: &str, partitions: i32, isolation: &'static str) -> Result<Self, KafkaError> {
        let consumer: BaseConsumer = reading(bootstrap, "unused", isolation).create()?;
        consumer.assign(&list(topic, &(0..partitions).map(|partition| (partition, 0)).collect())?)?;
        let reader = Self::default();
        let records = reader.records.clone();
        thread::spawn(move || loop {
            if let Some(Ok(message)) = consumer.poll(POLL) {
                let value = String::from_utf8_lossy(message.payload().unwrap_or_default());
                records.lock().unwrap().push(format!("{isolation}:{}:{value}", message.partition()));
            }
        });
        Ok(reader)
    }

    fn count(&self) -> usize {
        self.records.lock().unwrap().len()
    }
}

struct Program {
    bootstrap: String,
    producers: BTreeMap<String, Transactional>,
    readers: Vec<Reader>,
}

impl Program {
    fn run(&mut self) -> Outcome<()> {
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            let words: Vec<&str> = line.split_whitespace().collect();
            match self.answer(&words) {
                Ok(answer) => say(&format!("ok {answer}")),
                Err(error) => {
                    let code = error.downcast_ref::<KafkaError>().and_then(KafkaError::rdkafka_error_code);
                    let name = code.map_or("other".to_string(), |code| format!("{code:?}"));
                    say(&format!("error {name} {error}"));
                }
            }
        }
        Ok(())
    }

    fn producer(&self, name: &str) -> Outcome<&Transactional> {
        self.producers.get(name).ok_or_else(|| "no such producer".into())
    }

    fn answer(&mut self, words: &[&str]) -> Outcome<String> {
        match *words {
            ["producer", name, id, timeout_ms] => {
                let made = Transactional::new(&self.bootstrap, id, timeout_ms)?;
                self.producers.insert(name.to_string(), made);
            }
            ["begin", name] => self.producer(name)?.producer.begin_transaction()?,
            ["commit", name] => self.producer(name)?.producer.commit_transaction(TIMEOUT)?,
            ["abort", name] => self.producer(name)?.producer.abort_transaction(TIMEOUT)?,
            ["close", name] => drop(self.producers.remove(name)),
            ["send", name, topic, partitions, first, count] => {
                let (partitions, first, count): (i64, i64, i64) = (partitions.parse()?, first.parse()?, count.parse()?);
                let records = (first..first + count)
                    .map(|number| Ok((i32::try_from(number % partitions)?, number.to_string().into_bytes())))
                    .collect::<Outcome<Records>>()?;
                self.producer(name)?.send(topic, &records)?;
            }
            ["offsets", name, group, topic, text] => {
                let mut offsets = BTreeMap::new();
                for entry in text.split(',') {
                    let (partition, offset) = entry.split_once(':').ok_or("not an offset")?;
                    offsets.insert(partition.parse()?, offset.parse()?);
                }
                let consumer: BaseConsumer = reading(&self.bootstrap, group, ISOLATIONS[0]).create()?;
                self.producer(name)?.send_offsets(&consumer, topic, &offsets)?;
            }
            ["read", topic, partitions] => {
                for isolation in ISOLATIONS {
                    self.readers.push(Reader::start(&self.bootstrap, topic, partitions.parse()?, isolation)?);
                }
            }
            ["seen", committed, all] => return Ok(self.seen(&[committed.parse()?, all.parse()?])),
            _ => return Err("no such command".into()),
        }
        Ok(String::new())
    }

    /// Once each has read so many or time is up, and no more come.
    fn seen(&mut self, counts: &[usize]) -> String {
        let deadline = Instant::now() + SEEN_TIMEOUT;
        while self.readers.iter().zip(counts).any(|(reader, count)| reader.count() < *count) && Instant::now() < deadline {
            thread::sleep(PAUSE);
        }
        let (mut known, mut since) = (Vec::new(), Instant::now());
        while since.elapsed() < QUIET {
            let now: Vec<usize> = self.readers.iter().map(Reader::count).collect();
            if now != known {
                (known, since) = (now, Instant::now());
            }
            thread::sleep(PAUSE);
        }
        let mut out = Vec::new();
        for (reader, end) in self.readers.iter_mut().zip(known) {
            out.extend_from_slice(&reader.records.lock().unwrap()[reader.told..end]);
            reader.told = end;
        }
        out.join(" ")
    }
}

/// Counts the rebalances: what was polled before one is dropped by it.
#[derive(Clone, Default)]
struct Rebalances(Arc<AtomicUsize>);

impl ClientContext for Rebalances {}

impl ConsumerContext for Rebalances {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, _: &Rebalance<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Copier<'a> {
    source: &'a str,
    target: &'a str,
    consumer: BaseConsumer<Rebalances>,
    producer: Transactional,
    transactions: usize,
}

struct Portion {
    records: Records,
    first: BTreeMap<i32, i64>,
    following: BTreeMap<i32, i64>,
}

impl Copier<'_> {
    fn poll(&self) -> Portion {
        let mut portion = Portion { records: Vec::new(), first: BTreeMap::new(), following: BTreeMap::new() };
        let mut wait = 2 * POLL;
        while portion.records.len() < COPY_AT_MOST {
            let Some(polled) = self.consumer.poll(wait) else { break };
            wait = Duration::ZERO;
            if let Ok(message) = polled {
                portion.first.entry(message.partition()).or_insert(message.offset());
                portion.following.insert(message.partition(), message.offset() + 1);
                portion.records.push((message.partition(), message.payload().unwrap_or_default().to_vec()));
            }
        }
        portion
    }

    fn run(&mut self, rebalances: &Rebalances, closing: &AtomicBool) -> Outcome<()> {
        while !closing.load(Ordering::Relaxed) {
            let before = rebalances.0.load(Ordering::Relaxed);
            let portion = self.poll();
            if rebalances.0.load(Ordering::Relaxed) != before {
                self.seek_back(&portion)?;
            } else if !portion.records.is_empty() {
                self.copy(&portion)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, portion: &Portion) -> Outcome<()> {
        self.producer.producer.begin_transaction()?;
        let added = self.add(portion);
        self.transactions += 1;
        let failure = match added {
            Ok(()) if self.transactions % ABORT_EVERY == 0 => None,
            Ok(()) => match self.producer.producer.commit_transaction(TIMEOUT) {
                Ok(()) => {
                    say(&format!("committed {}", portion.records.len()));
                    return Ok(());
                }
                Err(error) => Some(error.into()),
            },
            Err(error) => Some(error),
        };
        if let Some(error) = failure {
            say(&format!("failed {error}"));
        }
        self.producer.producer.abort_transaction(TIMEOUT)?;
        self.seek_back(portion)?;
        say(&format!("aborted {}", portion.records.len()));
        Ok(())
    }

    fn add(&self, portion: &Portion) -> Outcome<()> {
        self.producer.send(self.target, &portion.records)?;
        self.producer.send_offsets(&self.consumer, self.source, &portion.following)
    }

    /// Only what it still has can be read again by it.
    fn seek_back(&self, portion: &Portion) -> Outcome<()> {
        for mine in self.consumer.assignment()?.elements() {
            if let Some(offset) = portion.first.get(&mine.partition()) {
                self.consumer.seek(self.source, mine.partition(), Offset::Offset(*offset), TIMEOUT)?;
            }
        }
        Ok(())
    }
}

fn copy(arguments: &[String]) -> Outcome<()> {
    let [bootstrap, id, group, source, target, mode, session_ms] = arguments else {
        return Err("not seven arguments".into());
    };
    let closing = Arc::new(AtomicBool::new(false));
    let noticed = closing.clone();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        noticed.store(true, Ordering::Relaxed);
    });
    let mut config = reading(bootstrap, group, ISOLATIONS[0]);
    if mode == "consumer" {
        config.set("group.protocol", "consumer");
    } else {
        config.set("session.timeout.ms", session_ms);
    }
    let rebalances = Rebalances::default();
    let consumer: BaseConsumer<Rebalances> = config.create_with_context(rebalances.clone())?;
    consumer.subscribe(&[source])?;
    let producer = Transactional::new(bootstrap, id, COPIER_TIMEOUT_MS)?;
    Copier { source, target, consumer, producer, transactions: 0 }.run(&rebalances, &closing)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [bootstrap] = arguments.as_slice() {
        return Program { bootstrap: bootstrap.clone(), producers: BTreeMap::new(), readers: Vec::new() }.run();
    }
    copy(&arguments)
}
