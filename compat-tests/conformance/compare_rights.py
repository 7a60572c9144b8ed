#!/usr/bin/env python3
"""Gives one user the same random rights on Apache Kafka and on Barnabas, asks both the same, and prints differences.

    compare_rights.py [--seed N] [--rounds N] [--length N]

A tool for those who write handlers; nothing fails by itself. Each round makes a few access control entries, of all kinds
and also denials, sends requests of all APIs and versions as the user whom they concern, and takes the entries away again.
Only errors are compared, what they are about, and fields of authorized operations: the rest is for compare.py.
"""

import argparse
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import apis  # noqa: E402
from authorization import (ALL, ALLOW, CLUSTER, DENY, GROUP, KNOWN, LITERAL, PREFIXED, STRANGER, THE_CLUSTER, TOPIC,  # noqa: E402
                           TRANSACTIONAL_ID, UNKNOWN, Guarded, entry)
from compare import differing, shown  # noqa: E402
from test_authorization import NOT_WITH_RIGHTS, errors_of, walk  # noqa: E402

NAMES = [KNOWN, KNOWN, UNKNOWN, "other", "*", "k", "know", "un", "x"]


def random_entry(chance):
    kind = chance.choice((TOPIC, TOPIC, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID))
    return entry(kind, THE_CLUSTER if kind == CLUSTER else chance.choice(NAMES), chance.choice(range(ALL, 13)),
                 chance.choice((ALLOW, ALLOW, ALLOW, DENY)),
                 LITERAL if kind == CLUSTER else chance.choice((LITERAL, LITERAL, PREFIXED)),
                 host=chance.choice((STRANGER, STRANGER, "127.0.0.0/29" if kind != CLUSTER else STRANGER)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--length", type=int, default=40)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chance = random.Random(options.seed)
    requests = [one for one in walk() if one[1] not in NOT_WITH_RIGHTS]
    sides = {target: Guarded(target) for target in ("kafka", "barnabas")}
    seen = {}
    try:
        for number in range(options.rounds):
            entries = [random_entry(chance) for _ in range(chance.choice((1, 1, 2, 2, 3, 5)))]
            # Whoever may everything must stay so.
            entries = [one if one["permissionType"] == ALLOW else {**one, "host": STRANGER} for one in entries]
            for side in sides.values():
                side.allow(*entries)
            for name, api, version, fields in chance.sample(requests, options.length):
                answers = {target: errors_of(side.ask(api, version, fields)) for target, side in sides.items()}
                if api in ("CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs"):
                    time.sleep(0.1)  # Kafka's broker learns of it a moment later
                for path, kafka, barnabas in differing(answers["kafka"], answers["barnabas"]):
                    key = (api, path, str(kafka)[:40], str(barnabas)[:40])
                    seen[key] = seen.get(key, 0) + 1
                    if seen[key] == 1:
                        print(f"\n#{number} {name} {path}\n  kafka    {str(kafka)[:300]}\n  barnabas {str(barnabas)[:300]}\n"
                              f"  entries  {[Guarded.key(one) for one in entries]}\n  asked    {shown(fields)}", flush=True)
            for side in sides.values():
                side.forget()
                side.forget("127.0.0.0/29")
                side.restore()
    finally:
        for side in sides.values():
            side.close()
    print(f"\n{len(seen)} kinds of difference in {options.rounds} rounds")


if __name__ == "__main__":
    main()
