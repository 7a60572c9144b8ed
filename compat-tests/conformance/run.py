#!/usr/bin/env python3
"""Runs suites against one broker: `run.py [FAMILY…] [unittest options]`; without a family, all of them.

BARNABAS_TEST_TARGET=kafka|barnabas says which broker (see ../harness/broker.py). The broker is started for the run and
ends with it, unless BARNABAS_BOOTSTRAP=host:port names one that runs already.
"""

import importlib
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))


def families():
    return sorted(path.stem.removeprefix("test_") for path in HERE.glob("test_*.py"))


def main(arguments):
    base = importlib.import_module("base")
    try:
        base.shared_address()
    except base.BrokerError as error:
        sys.exit(f"FAILED: {error}")
    chosen = [name for name in arguments if name in families()]
    rest = [argument for argument in arguments if argument not in chosen]
    loader = unittest.TestLoader()
    suite = unittest.TestSuite(
        loader.loadTestsFromName(f"test_{family}") for family in chosen or families())
    if "-k" in rest:
        pattern = rest[rest.index("-k") + 1]
        suite = unittest.TestSuite(case for case in flat(suite) if pattern in case.id())
    result = unittest.TextTestRunner(verbosity=2 if "-v" in rest else 1, resultclass=TimedResult).run(suite)
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(1 if os.environ.get("BARNABAS_TEST_NO_SKIP") else SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)


class TimedResult(unittest.TextTestResult):
    """Names the slowest cases at the end of a verbose run."""

    def startTest(self, test):
        self.started = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.slow = sorted([*getattr(self, "slow", []), (time.monotonic() - self.started, test.id())])[-10:]

    def printErrors(self):
        super().printErrors()
        if self.showAll:
            self.stream.writeln("".join(f"{took:6.2f} s  {name}\n" for took, name in reversed(self.slow)))


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


if __name__ == "__main__":
    main(sys.argv[1:])
