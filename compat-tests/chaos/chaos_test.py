#!/usr/bin/env python3
"""Exactly once, whatever is killed: README.md tells what happens here.

    chaos_test.py --librdkafka BUILD/compat-tests/chaos/chaos_process [--seconds N] [--seed N]
"""

import argparse
import heapq
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conformance"), str(HERE.parent / "harness")]

import aftermath  # noqa: E402
import field  # noqa: E402
import plan  # noqa: E402
from base import Client  # noqa: E402
from broker import HOST, Broker, BrokerError, chosen_target  # noqa: E402

TOPICS = ("in", "mid", "out")
OFFSETS_PARTITIONS = 4
TRANSACTION_PARTITIONS = 4
PROPERTIES = {
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "transaction.state.log.num.partitions": str(TRANSACTION_PARTITIONS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(field.SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": str(field.SESSION_MS // 10),
    "log.retention.ms": "-1",
    "log.segment.bytes": "1048576",
    "log.cleaner.backoff.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
INTERNAL = {"__consumer_offsets": OFFSETS_PARTITIONS, "__transaction_state": TRANSACTION_PARTITIONS}
# So small only for tests: there is always something to compact.
COMPACTED = {"cleanup.policy": "compact", "internal.segment.bytes": "65536"}
if chosen_target() == "kafka":
    # Its broker falls asleep on a busy machine; the harness's short session would then shut it out.
    PROPERTIES |= {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "4000"}
WORKERS = "librdkafka=2,franz-go=2,java=1"
READERS = ("franz-go", "librdkafka", "java")
FEEDER = "franz-go-feeder"
START_MAX_S = {"barnabas": 0.1, "kafka": 4.0}
EVERY_S = {"barnabas": 2.5, "kafka": 8.0}
SETTLE_TIMEOUT_S = 120
QUIET_TIMEOUT_S = 60
READ_TIMEOUT_S = 300
TAIL_BYTES = 1 << 20


class Failed(Exception):
    pass


class Chaos:
    def __init__(self, broker, processes, options):
        self.broker = broker
        self.field = processes
        self.options = options
        self.topics = {field.PREFIX + name: options.partitions for name in TOPICS}
        self.due = []  # (time, number, what to do): a heap
        self.numbers = itertools.count()
        self.paused = {}  # process → place
        self.kills = 0
        self.failures = []

    # The field.

    def begin(self):
        client = Client((HOST, self.broker.port))
        for topic, partitions in self.topics.items():
            client.create_usable(topic, partitions)
        for topic, partitions in INTERNAL.items():
            client.create_usable(topic, partitions, COMPACTED)
        client.close()
        for client in READERS:
            self.field.start(f"reader-{client}-0", "reader")
        for place in self.options.places:
            self.field.start(place, "worker")
        self.field.start(FEEDER, "feeder")

    def after(self, seconds, do, *arguments):
        heapq.heappush(self.due, (time.monotonic() + seconds, next(self.numbers), do, arguments))

    def live(self, actions):
        """Do what is planned; whoever ends by itself is started again."""
        end = time.monotonic() + self.options.seconds
        for action in actions:
            self.after(action.at, self.act, action)
        while (now := time.monotonic()) < end:
            self.watch()
            while self.due and self.due[0][0] <= now:
                _at, _number, do, arguments = heapq.heappop(self.due)
                do(*arguments)
            next_at = min([end, now + 0.2, *(at for at, *_ in self.due[:1])])
            time.sleep(max(0.0, next_at - time.monotonic()))

    def watch(self):
        for place, code in self.field.ended_by_itself().items():
            self.say(f"{place} ended by itself with {code}")
            self.field.running.pop(place)
            if place.startswith("reader-"):
                raise Failed(f"{place} ended with {code}; {self.field.complaints.name}")
            self.field.start(place, role(place))
        if self.broker_lives and self.broker.pid is None:
            raise Failed(f"the broker ended by itself with {self.broker.exit_code}:\n{self.broker.log_tail()}")

    broker_lives = True

    def act(self, action):
        self.say(str(action))
        place = action.place
        if action.what in (plan.KILL_BROKER, plan.KILL_MACHINE):
            self.kill_broker(action)
        if action.what == plan.KILL_MACHINE:
            # Nobody is left to ask again for what the broker has done by half.
            for each in self.options.places:
                self.kill_process(each, action)
        if action.what in (plan.KILL_BROKER, plan.KILL_MACHINE):
            return None
        if action.what == plan.KILL_FEEDER:
            place = FEEDER
        if action.what in (plan.KILL, plan.KILL_FEEDER):
            return self.kill_process(place, action)
        process = self.field.pause(place)
        if process is None or process in self.paused:
            return None
        self.paused[process] = place
        if action.what == plan.REPLACE:
            self.field.abandon(place)
            self.field.start(place, "worker", action.same_id)
        self.after(action.seconds, self.resume, process)
        return None

    def kill_process(self, place, action):
        if self.field.kill(place):
            self.kills += 1
            self.after(action.seconds, self.start, place, action.same_id)

    def start(self, place, same_id):
        if place not in self.field.running:
            self.field.start(place, role(place), same_id)

    def resume(self, process):
        if self.paused.pop(process, None):
            field.resume(process)

    def kill_broker(self, action):
        if not self.broker_lives:
            return
        self.broker_lives = False
        self.broker.kill()
        self.kills += 1
        self.after(action.seconds, self.start_broker, action.again)

    def start_broker(self, again):
        self.broker.start(wait=False)
        if again is None:
            self.broker_lives = True
        else:
            self.after(again * START_MAX_S[self.broker.target], self.kill_again)

    def kill_again(self):
        self.broker.kill()
        self.broker.start(wait=False)
        self.kills += 1
        self.broker_lives = True

    def say(self, text):
        if self.options.verbose:
            print(text, flush=True)

    # The end.

    def settle(self):
        """Everybody comes back, the feeder ends, and all is copied."""
        for process in list(self.paused):
            self.resume(process)
        if self.broker.pid is None:
            self.broker.start(wait=False)
        self.broker_lives = True
        self.broker.await_ready()
        self.watch()
        for place in self.options.places:
            self.start(place, True)
        self.field.end([FEEDER])
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        before = None
        while True:
            self.watch()
            seen = self.seen()
            if seen["in"] <= seen["mid"] <= seen["out"] and seen == before and not self.stuck():
                break
            if time.monotonic() > deadline:
                self.failures.append(f"not all is copied {SETTLE_TIMEOUT_S} s after the last kill: {seen} were read; {self.stuck()}")
                break
            before = seen
            time.sleep(1.0)
        if not seen["out"]:
            self.failures.append("nothing was copied")
        self.field.end(self.options.places)
        self.field.end_zombies()

    def stuck(self):
        return aftermath.stuck_partitions((HOST, self.broker.port), self.topics)

    def seen(self):
        """How many records of each topic a reader has been shown so far."""
        reader = READERS[0]
        with open(self.field.directory / f"reader-{reader}-0.0.jsonl", "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().split(b"\n")
        seen = json.loads(lines[-2]).get("seen", {}) if len(lines) > 1 else {}
        return {topic: seen.get(topic, 0) for topic in TOPICS}

    def end(self):
        """What is on disk is looked at once more, after a kill in which nothing is going on."""
        all_topics = self.topics | INTERNAL
        address = (HOST, self.broker.port)
        if hanging := aftermath.await_quiet(address, self.topics, all_topics, QUIET_TIMEOUT_S):
            self.failures.append("transactions hang: " + "; ".join(hanging))
        self.field.end([f"reader-{client}-0" for client in READERS])
        self.broker.kill()
        self.broker.start()
        if hanging := aftermath.await_quiet(address, self.topics, all_topics, QUIET_TIMEOUT_S):
            self.failures.append("transactions hang after a restart: " + "; ".join(hanging))
        ends = aftermath.end_offsets(address, self.topics, aftermath.READ_COMMITTED)
        if ends is None:
            raise Failed("the broker tells no end offsets")
        self.read_all(",".join(f"{topic.removeprefix(field.PREFIX)}/{index}:{end}" for (topic, index), end in ends.items()))
        code = self.broker.stop()
        if self.broker.target == "barnabas" and code != 0:
            self.failures.append(f"the broker's exit code after SIGTERM is {code}")

    def read_all(self, ends):
        places = {f"reader-{client}-1": "read_committed" for client in READERS} | {"reader-franz-go-2": "read_uncommitted"}
        for place, isolation in places.items():
            self.field.start(place, "reader", ends=ends, isolation=isolation)
        deadline = time.monotonic() + READ_TIMEOUT_S
        while places:
            for place in list(places):
                if (code := self.field.running[place].poll()) is None:
                    continue
                del places[place], self.field.running[place]
                if code != 0:
                    raise Failed(f"{place} ended with {code}; {self.field.complaints.name}")
            if time.monotonic() > deadline:
                self.failures.append(f"{', '.join(places)} did not come to the end of all partitions: {ends}")
                self.field.end(list(places))
                return
            time.sleep(0.05)


def role(place):
    return "feeder" if place == FEEDER else "worker"


def merge(directory):
    """All that was recorded, in one file; the last line of whoever was killed may be torn and is dropped."""
    whole = directory / "history.jsonl"
    parts = sorted(directory.glob("*.[0-9]*.jsonl"))
    with open(whole, "wb") as out:
        for source, target in zip(TOPICS, TOPICS[1:]):
            out.write(json.dumps({"f": "copy", "from": source, "to": target}).encode() + b"\n")
        for part in parts:
            data = part.read_bytes()
            out.write(data[:data.rfind(b"\n") + 1])
            part.unlink()
    return whole


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--librdkafka", type=pathlib.Path, required=True, help="the built chaos_process")
    parser.add_argument("--seconds", type=float, default=60 if os.environ.get("CI") else 40,
                        help="how long things are killed (%(default)s); then all has to come to an end")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        help="of what is killed when, and of what the processes do; a random one if not given")
    parser.add_argument("--every", type=float, help="seconds between two things that happen, on average")
    parser.add_argument("--workers", default=WORKERS, help="how many of which client (%(default)s)")
    parser.add_argument("--protocol", choices=("classic", "consumer"), default="classic",
                        help="the group's; librdkafka 2.0 stays classic beside the others (%(default)s)")
    parser.add_argument("--partitions", type=int, default=4, help="of each topic (%(default)s)")
    parser.add_argument("--rate", type=int, default=150, help="records a second that are fed (%(default)s)")
    parser.add_argument("--aborts", type=int, default=15, help="of a hundred transactions: so many on purpose (%(default)s)")
    parser.add_argument("--prop", metavar="NAME=VALUE", action="append", default=[], help="a server setting; repeatable")
    parser.add_argument("--keep", type=pathlib.Path, help="a directory for the history, which stays")
    parser.add_argument("--plan", action="store_true", help="only print what would happen")
    parser.add_argument("--verbose", action="store_true", help="say what happens")
    options = parser.parse_args()
    counts = (each.split("=") for each in options.workers.split(","))
    options.places = [f"{client}-{number}" for client, count in counts for number in range(int(count))]
    options.every = options.every or EVERY_S[chosen_target()]
    return options


def check(directory, chaos):
    history = merge(directory)
    done = subprocess.run([field.checker(), history], capture_output=True, text=True)
    print(done.stdout + done.stderr, end="", flush=True)
    if done.returncode != 0:
        chaos.failures.append("the history is one that a broker which keeps its promises does not make")


def run(options, directory):
    commands = {"librdkafka": [options.librdkafka.absolute()], "java": field.java(), "franz-go": field.franz_go()}
    actions = plan.make(options.seed, options.seconds, options.every, options.places)
    started = time.monotonic()
    given = dict(prop.split("=", 1) for prop in options.prop)
    with Broker(properties=PROPERTIES | given) as broker:
        processes = field.Field(commands, broker.bootstrap, directory, options.seed, options)
        chaos = Chaos(broker, processes, options)
        try:
            chaos.begin()
            chaos.live(actions)
            chaos.settle()
            chaos.end()
        finally:
            processes.kill_all()
        check(directory, chaos)
        if chaos.failures:
            raise Failed("\n".join(chaos.failures))
    print(f"passed: {len(actions)} things happened, {chaos.kills} of them kills, in {time.monotonic() - started:.0f} s")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    options = parse_arguments()
    print(f"seed {options.seed}: again with --seed {options.seed} --seconds {options.seconds:g} --every {options.every:g}",
          flush=True)
    if options.plan:
        print(*plan.make(options.seed, options.seconds, options.every, options.places), sep="\n")
        return
    directory = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="barnabas-chaos-"))
    directory.mkdir(parents=True, exist_ok=True)
    try:
        run(options, directory)
    except (BrokerError, Failed) as error:
        sys.exit(f"FAILED (seed {options.seed}): {error}\nthe history: {directory}")
    if not options.keep:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
