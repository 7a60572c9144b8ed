#!/usr/bin/env python3
"""Run a command with a broker beside it: `with_broker.py [--prop NAME=VALUE]… COMMAND ARGUMENT…`.

The command finds the broker's address in BARNABAS_BOOTSTRAP, and its exit code is the program's. Where
BARNABAS_BOOTSTRAP is set already, that broker is used and none is started.
"""

import argparse
import os
import subprocess
import sys

from broker import SKIPPED, Broker, BrokerError


def setting(text):
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"not NAME=VALUE: {text}")
    return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prop", metavar="NAME=VALUE", type=setting, action="append", default=[],
                        help="a server setting; repeatable")
    parser.add_argument("command", metavar="COMMAND")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = [options.command, *options.arguments]
    if os.environ.get("BARNABAS_BOOTSTRAP"):
        sys.exit(subprocess.run(command).returncode)
    try:
        with Broker(properties=dict(options.prop)) as broker:
            code = subprocess.run(command, env=os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap}).returncode
            if code not in (0, SKIPPED):
                print(f"--- {broker.target} said at the end:\n{broker.log_tail()}", file=sys.stderr)
    except FileNotFoundError:
        sys.exit(f"FAILED: no program {options.command}")
    except BrokerError as error:
        sys.exit(f"FAILED: {error}")
    sys.exit(code if code >= 0 else 1)


if __name__ == "__main__":
    main()
