#!/usr/bin/env python3
"""A client's records and its administration, by scenario.py: `basics_test.py CLIENT…`."""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import clients  # noqa: E402
import results  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402
from scenario import PROPERTIES, Scenario  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=sorted(clients.CLIENTS), nargs="+")
    parser.add_argument("--program", help="the client's program, for one that is built with Barnabas")
    options = parser.parse_args()
    for name in options.client:
        client = clients.CLIENTS[name]
        client.command = [options.program] if options.program else client.make()
        print(name, flush=True)
        try:
            with results.noted("basics", name), Broker(properties=PROPERTIES) as broker:
                Scenario(broker, client).run()
        except (BrokerError, ScenarioFailed) as error:
            sys.exit(f"FAILED: {name}: {error}")


if __name__ == "__main__":
    main()
