//! A member of a group in rdkafka; the lines are those of groups/scenario.py.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::ClientContext;

const COMMIT_AT: usize = 20;
const IDLE: Duration = Duration::from_millis(300);

#[derive(Default)]
struct State {
    partitions: BTreeSet<i32>,
    pending: BTreeMap<i32, i64>,
    records: usize,
}

struct Member {
    topic: String,
    name: String,
    state: Mutex<State>,
}

impl Member {
    /// In one write, since all members share the pipe.
    fn say(&self, what: &str) {
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{} {what}\n", self.name).as_bytes()).and_then(|()| out.flush()).expect("a pipe");
    }

    fn say_assigned(&self, state: &State) {
        let numbers: Vec<String> = state.partitions.iter().map(i32::to_string).collect();
        self.say(&format!("assigned {}", if numbers.is_empty() { "-".to_string() } else { numbers.join(",") }));
    }

    fn consumed(&self, partition: i32, offset: i64) {
        let mut state = self.state.lock().unwrap();
        state.pending.insert(partition, offset + 1);
        state.records += 1;
        self.say(&format!("consumed {partition} {offset}"));
    }

    fn wants_to_commit(&self, was_idle: bool) -> bool {
        let state = self.state.lock().unwrap();
        !state.pending.is_empty() && (was_idle || state.records >= COMMIT_AT)
    }

    fn commit(&self, consumer: &BaseConsumer<Context>) {
        let mut state = self.state.lock().unwrap();
        if state.pending.is_empty() {
            return;
        }
        let mut offsets = TopicPartitionList::new();
        let mut texts = Vec::new();
        for (partition, offset) in &state.pending {
            texts.push(format!("{partition}:{offset}"));
            offsets.add_partition_offset(&self.topic, *partition, Offset::Offset(*offset)).expect("an offset");
        }
        let text = texts.join(",");
        self.say(&format!("committing {text}"));
        match consumer.commit(&offsets, CommitMode::Sync) {
            Ok(()) => {
                self.say(&format!("committed {text}"));
                state.pending.clear();
                state.records = 0;
            }
            Err(error) => self.say(&format!("refused {}", error.to_string().replace('\n', " "))),
        }
    }
}

#[derive(Clone)]
struct Context(Arc<Member>);

impl ClientContext for Context {}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Revoke(partitions) = rebalance else { return };
        if !consumer.assignment_lost() {
            self.0.commit(consumer);
        }
        let mut state = self.0.state.lock().unwrap();
        for one in partitions.elements() {
            state.partitions.remove(&one.partition());
            state.pending.remove(&one.partition());
        }
        self.0.say_assigned(&state);
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Assign(partitions) = rebalance else { return };
        let mut state = self.0.state.lock().unwrap();
        state.partitions.extend(partitions.elements().iter().map(|one| one.partition()));
        self.0.say_assigned(&state);
    }
}

fn settings(bootstrap: &str, group: &str, name: &str, mode: &str, session_ms: u32) -> ClientConfig {
    let mut config = ClientConfig::new();
    for (name, value) in [
        ("bootstrap.servers", bootstrap), ("group.id", group), ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", "false"), ("reconnect.backoff.max.ms", "500"), ("log_level", "3"),
    ] {
        config.set(name, value);
    }
    let (protocol, is_static) = mode.strip_suffix("-static").map_or((mode, false), |protocol| (protocol, true));
    if is_static {
        config.set("group.instance.id", name);
    }
    if protocol == "consumer" {
        config.set("group.protocol", "consumer"); // the broker says how long a session lasts
    } else {
        let strategy = if protocol == "cooperative" { "cooperative-sticky" } else { "range" };
        config.set("partition.assignment.strategy", strategy);
        config.set("session.timeout.ms", session_ms.to_string());
        config.set("heartbeat.interval.ms", (session_ms / 12).to_string());
    }
    config
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, group, topic, name, mode, session_ms] = arguments.as_slice() else {
        return Err("not six arguments".into());
    };
    let closing = Arc::new(AtomicBool::new(false));
    let noticed = closing.clone();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        noticed.store(true, Ordering::Relaxed);
    });
    let member = Arc::new(Member { topic: topic.clone(), name: name.clone(), state: Mutex::default() });
    let consumer: BaseConsumer<Context> =
        settings(bootstrap, group, name, mode, session_ms.parse()?).create_with_context(Context(member.clone()))?;
    consumer.subscribe(&[topic])?;
    while !closing.load(Ordering::Relaxed) {
        let message = consumer.poll(IDLE).and_then(Result::ok);
        if let Some(message) = &message {
            member.consumed(message.partition(), message.offset());
        }
        if member.wants_to_commit(message.is_none()) {
            member.commit(&consumer);
        }
    }
    drop(consumer); // it leaves the group
    member.say("closed");
    Ok(())
}
