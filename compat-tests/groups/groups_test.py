#!/usr/bin/env python3
"""A client's members live through the scenario of scenario.py, in each of the client's modes at the same time."""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import clients  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402
from scenario import PROPERTIES, Group, Scenario, ScenarioFailed  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=sorted([*clients.INSTALLED, *clients.BUILT_WITH_BARNABAS]))
    parser.add_argument("--mode", action="append", help="instead of all that the client has; repeatable")
    parser.add_argument("--program", help="the member's program, for a client that is built with Barnabas")
    options = parser.parse_args()
    if options.client in clients.INSTALLED:
        make, modes = clients.INSTALLED[options.client]
        command = make(options.client)
    elif options.program:
        command, modes = [options.program], clients.BUILT_WITH_BARNABAS[options.client]
    else:
        parser.error(f"{options.client} needs --program")
    try:
        with Broker(properties=PROPERTIES) as broker:
            Scenario(broker, [Group(mode, command) for mode in options.mode or modes]).run()
    except (BrokerError, ScenarioFailed) as error:
        sys.exit(f"FAILED: {error}")


if __name__ == "__main__":
    main()
