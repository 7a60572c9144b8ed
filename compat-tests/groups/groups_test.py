#!/usr/bin/env python3
"""A client's members live through the scenario of scenario.py, in each of the client's modes at the same time; static
members, which have a life of their own, after the others.

`mixed` is groups of several clients, `changing` such as go from one protocol to the other. `--steps N --seed S` is
another life, in which things happen by chance.
"""

import argparse
import contextlib
import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import clients  # noqa: E402
import results  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402
from scenario import NAMES, PROPERTIES, SESSION_MS, STATIC_SESSION_MS, Group, Scenario  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402


def groups_of_one(client, modes, program):
    command = clients.make(client, program)
    return [Group(mode, {name: [(command, mode)] for name in NAMES}) for mode in modes]


def groups_together(described):
    wanted = sorted({client for members in described.values() for each in members.values() for client, _ in each})
    commands = {client: clients.make(client) for client in wanted}
    return [Group(group, {name: [(commands[client], mode) for client, mode in each] for name, each in members.items()})
            for group, members in described.items()]


def live(groups, options):
    static = groups[0].static
    session_ms = STATIC_SESSION_MS if static else SESSION_MS
    with Broker(properties=PROPERTIES | {"group.consumer.session.timeout.ms": str(session_ms)}) as broker:
        scenario = Scenario(broker, groups, session_ms)
        if options.steps:
            scenario.run(functools.partial(scenario.live_at_random, options.seed, options.steps))
        else:
            scenario.run(scenario.live_static if static else scenario.live)


def main():
    alone = clients.INSTALLED | {client: (None, modes) for client, modes in clients.BUILT_WITH_BARNABAS.items()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", choices=sorted([*alone, *clients.TOGETHER]))
    parser.add_argument("--mode", action="append", help="instead of all that the client has; repeatable")
    parser.add_argument("--program", help="the member's program, for a client that is built with Barnabas")
    parser.add_argument("--steps", type=int, help="how often something happens by chance, instead of the usual life")
    parser.add_argument("--seed", type=int, default=1, help="of the chance (%(default)s)")
    options = parser.parse_args()
    if options.client in clients.BUILT_WITH_BARNABAS and not options.program:
        parser.error(f"{options.client} needs --program")
    if options.client in clients.TOGETHER:
        groups = groups_together(clients.TOGETHER[options.client])
    else:
        groups = groups_of_one(options.client, options.mode or alone[options.client][1], options.program)
    try:
        # Only the whole life is worth a note.
        whole = not (options.mode or options.steps)
        with results.noted("groups", options.client) if whole else contextlib.nullcontext():
            for some in ([group for group in groups if not group.static], [group for group in groups if group.static]):
                if some:
                    live(some, options)
    except (BrokerError, ScenarioFailed) as error:
        sys.exit(f"FAILED: {error}")


if __name__ == "__main__":
    main()
