#!/usr/bin/env python3
"""franz-go: builds the Go tests of this directory and runs them with a broker beside them."""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HARNESS = HERE.parent / "harness"
sys.path.insert(0, str(HARNESS))

import suite  # noqa: E402


def require_go():
    """The Go that go.mod asks for, since Debian's is often too old and would only give a puzzling error."""
    suite.require_tools("go")
    wanted = re.search(r"^go (\d+)\.(\d+)", (HERE / "go.mod").read_text(), re.MULTILINE)
    printed = subprocess.run(["go", "version"], capture_output=True, text=True, cwd=HERE.parent).stdout
    found = re.search(r"go(\d+)\.(\d+)", printed)
    if found is None or tuple(map(int, found.groups())) < tuple(map(int, wanted.groups())):
        suite.skip(f"go {wanted[1]}.{wanted[2]} or newer is needed, here is: {printed.strip()}")


def main():
    require_go()
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
