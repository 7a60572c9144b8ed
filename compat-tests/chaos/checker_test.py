#!/usr/bin/env python3
"""The checker's own tests: histories with planted anomalies, and of brokers that keep their promises. And the plan's."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import plan  # noqa: E402
import suite  # noqa: E402

PLACES = ["a-0", "b-0"]


class Plan(unittest.TestCase):
    def test_same_seed_makes_the_same_decisions(self):
        self.assertEqual(plan.make(7, 600, 2.0, PLACES), plan.make(7, 600, 2.0, PLACES))
        self.assertNotEqual(plan.make(7, 600, 2.0, PLACES), plan.make(8, 600, 2.0, PLACES))

    def test_longer_time_begins_with_the_same_decisions(self):
        short = plan.make(7, 60, 2.0, PLACES)
        self.assertEqual(plan.make(7, 600, 2.0, PLACES)[:len(short)], short)

    def test_everything_happens_to_everybody_in_time(self):
        actions = plan.make(7, 3600, 2.0, PLACES)
        self.assertEqual({action.what for action in actions}, set(plan.SHARES))
        self.assertEqual({action.place for action in actions}, set(PLACES))
        self.assertLess(max(action.at for action in actions), 3600)
        self.assertEqual(sorted(actions, key=lambda action: action.at), actions)

    def test_each_action_is_told(self):
        for action in plan.make(7, 3600, 2.0, PLACES):
            self.assertRegex(str(action), r"^[\d.]+ s: (kill|pause) ")


if __name__ == "__main__":
    suite.require_go(HERE / "checker")
    passed = unittest.main(exit=False).result.wasSuccessful()
    tests = subprocess.run(["go", "test", "-count=1", "./..."], cwd=HERE / "checker")
    sys.exit(0 if passed and tests.returncode == 0 else 1)
