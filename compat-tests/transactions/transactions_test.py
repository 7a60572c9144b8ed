#!/usr/bin/env python3
"""A client's transactional producers and its readers live through the scenario of scenario.py, then its copiers through
that of copying.py."""

import argparse
import contextlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import clients  # noqa: E402
import results  # noqa: E402
from copying import Copying  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402
from scenario import PROPERTIES, Refused, Scenario  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", choices=sorted(clients.CLIENTS))
    parser.add_argument("--program", help="the client's program, for one that is built with Barnabas")
    parser.add_argument("--step", action="append", default=[],
                        help="of the scenario, or `copying`, instead of all; repeatable")
    options = parser.parse_args()
    client = clients.CLIENTS[options.client]
    client.command = [options.program] if options.program else client.make()
    try:
        note = contextlib.nullcontext() if options.step else results.noted("transactions", options.client)
        with note, Broker(properties=PROPERTIES) as broker:
            if options.step != ["copying"]:
                Scenario(broker, client).run(options.step)
            if not options.step or "copying" in options.step:
                Copying(broker, client).run()
    except (BrokerError, ScenarioFailed, Refused) as error:
        sys.exit(f"FAILED: {error}")


if __name__ == "__main__":
    main()
