#!/usr/bin/env python3
"""franz-go: builds the Go tests of this directory and runs them with a broker beside them."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HARNESS = HERE.parent / "harness"
sys.path.insert(0, str(HARNESS))

import suite  # noqa: E402


def main():
    suite.require_go(HERE)
    program = suite.build_directory("franz-go") / "franzgo.test"
    if subprocess.run(["go", "test", "-c", "-o", program, "."], cwd=HERE).returncode != 0:
        sys.exit("FAILED: go test -c")
    settings = [f"--prop={name}={value}" for name, value in suite.KEEP_OLD_RECORDS.items()]
    os.execv(sys.executable, [
        sys.executable, "-B", str(HARNESS / "with_broker.py"), *settings, str(program), "-test.v",
        "-test.timeout=5m", *sys.argv[1:],
    ])


if __name__ == "__main__":
    main()
