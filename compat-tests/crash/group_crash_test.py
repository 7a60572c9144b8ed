#!/usr/bin/env python3
"""Members of groups consume and commit while the broker is killed again and again, and some of them too.

    group_crash_test.py [--client confluent-kafka] [--mode MODE] [--kills 25] [--seed N] [--moves]

Each time the broker is back it is asked for the committed offsets. None may have gone back, behind what was acknowledged or
behind what it said before, and none may be beyond what was consumed. What the members themselves see is checked as in
groups/scenario.py: they go on where they committed, and share the partitions. At the end everything is consumed.
Meanwhile the log of the groups is compacted, and with --moves it moves between three log directories all the time.
"""

import argparse
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "groups"), str(HERE.parent / "harness")]

import clients  # noqa: E402
import crash_test  # noqa: E402
from broker import HOST, Broker, BrokerError  # noqa: E402
from scenario import PROPERTIES, STEP_TIMEOUT_S, Client, Group, Scenario  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402
from client import ConnectionClosed  # noqa: E402, I001

UP_MAX_S = 2.5  # the broker runs at most so long between its start and the next kill
DURING_START = 0.25  # share of the kills that come before the broker is ready
START_MAX_S = {"barnabas": 0.05, "kafka": 3.0}
MEMBER_DIES = 0.15
CLEANED_OFTEN = {"log.cleaner.backoff.ms": "200", "log.cleaner.min.cleanable.ratio": "0.01"}
OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_PARTITIONS = int(PROPERTIES["offsets.topic.num.partitions"])
# So small only for tests: there is always something to compact.
COMPACTED = {"cleanup.policy": "compact", "internal.segment.bytes": "16384"}
NAMES = ("a", "b", "c")


class CrashScenario(Scenario):
    def __init__(self, broker, groups, kills, rng, moves):
        super().__init__(broker, groups)
        self.kills = kills
        self.moves = moves
        self.rng = rng
        self.least = {name: [0] * len(group.ledger.partitions) for name, group in self.groups.items()}
        self.looks = 0

    def live(self):
        Client((HOST, self.broker.port)).create_usable(OFFSETS_TOPIC, OFFSETS_PARTITIONS, COMPACTED)
        self.step("three members share", self.start, *NAMES)
        mover = crash_test.Mover(self.broker, OFFSETS_TOPIC, self.rng.randrange(1 << 32)) if self.moves else None
        try:
            self.kill_and_look()
        finally:
            if mover:
                mover.end()
        if mover:
            mover.await_quiet()
            print(f"  at least {mover.arrived} moves", flush=True)
            if not mover.arrived:
                raise ScenarioFailed("nothing has moved")
        self.step(f"after {self.kills} kills", self.start, *(set(NAMES) - set(self.some_group().members)))
        self.wait("the log of the groups is compacted", self.is_compacted)

    def kill_and_look(self):
        for number in range(self.kills):
            during_start = self.rng.random() < DURING_START
            self.go_on(self.rng.uniform(0, START_MAX_S[self.broker.target] if during_start else UP_MAX_S))
            self.broker.kill()
            self.note_acknowledged()
            self.broker.start(wait=False)
            if not during_start or number + 1 == self.kills:
                self.broker.await_ready(self.pump)
                self.look()
            self.replace_members()

    def end(self):
        self.step("one leaves", self.close, "a")
        super().end()
        print(f"  {self.looks} looks at the committed offsets", flush=True)

    def is_compacted(self):
        """Some partition of the log of the groups has been."""
        return any(OFFSETS_TOPIC in file.read_text() for file in self.broker.home.glob("**/cleaner-offset-checkpoint"))

    def some_group(self):
        return next(iter(self.groups.values()))

    def go_on(self, seconds):
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.pump(left)

    def note_acknowledged(self):
        """The broker is dead: whatever the members have been told must be in it when it is back."""
        self.pump(0)
        for name, group in self.groups.items():
            group.ledger.broker_died()
            acknowledged = [partition.committed for partition in group.ledger.partitions]
            self.least[name] = list(map(max, self.least[name], acknowledged))

    def look(self):
        client = Client((HOST, self.broker.port))
        try:
            for group in self.groups.values():
                self.check(group, self.stored_when_loaded(client, group))
        except ConnectionClosed as error:
            raise ScenarioFailed(f"a broker that is not killed closes a connection: {error}") from error
        finally:
            client.close()

    def stored_when_loaded(self, client, group):
        deadline = time.monotonic() + STEP_TIMEOUT_S
        while isinstance(stored := self.stored(client, group), str):
            if time.monotonic() > deadline:
                raise ScenarioFailed(f"{group.name}: the broker tells no offsets: {stored}")
            time.sleep(0.01)
        return stored

    def check(self, group, stored):
        # A member says what it has consumed before it commits it.
        self.pump(0)
        self.looks += 1
        for number, (offset, least, partition) in enumerate(
                zip(stored, self.least[group.name], group.ledger.partitions)):
            if max(offset, 0) < least:
                raise ScenarioFailed(f"{group.name}: partition {number} is committed at {offset}, it was at {least} before")
            if offset > partition.next:
                raise ScenarioFailed(f"{group.name}: partition {number} is committed at {offset}, nobody has consumed "
                                     f"beyond {partition.next}")
        self.least[group.name] = [max(offset, 0) for offset in stored]

    def replace_members(self):
        """Now and then one is killed; one that is gone comes back at the next occasion."""
        gone = set(NAMES) - set(self.some_group().members)
        if gone:
            return self.start(*gone)
        if self.rng.random() >= MEMBER_DIES:
            return None
        name = self.rng.choice(NAMES)
        for group in self.groups.values():
            process = group.members.pop(name)
            process.kill()
            process.wait()
        self.pump(0)
        for group in self.groups.values():
            group.ledger.member_died(name)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", default="confluent-kafka", choices=sorted(clients.INSTALLED))
    parser.add_argument("--mode", action="append", help="instead of all that the client has; repeatable")
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        help="of the moments; a random one if not given")
    parser.add_argument("--moves", action="store_true", help="move the groups' log between log directories meanwhile")
    options = parser.parse_args()
    make, modes = clients.INSTALLED[options.client]
    # Who dies and does not come back is missed late if it is static.
    modes = options.mode or [mode for mode in modes if not mode.endswith(clients.STATIC)]
    command = make(options.client)
    print(f"seed {options.seed}: again with --seed {options.seed}", flush=True)
    try:
        broker = Broker(properties=PROPERTIES | CLEANED_OFTEN)
        if options.moves:
            broker.properties["log.dirs"] = ",".join(str(broker.home / f"disk{index}") for index in range(3))
        with broker:
            groups = [Group(mode, {name: [(command, mode)] for name in NAMES}) for mode in modes]
            scenario = CrashScenario(broker, groups, options.kills, random.Random(options.seed), options.moves)
            scenario.run(scenario.live)
    except (BrokerError, ScenarioFailed, crash_test.Failed) as error:
        sys.exit(f"FAILED (seed {options.seed}): {error}")
    print(f"passed: {options.kills} kills")


if __name__ == "__main__":
    main()
