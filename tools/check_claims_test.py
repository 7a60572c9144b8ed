#!/usr/bin/env python3
"""Tests of check_claims.py over a small tree."""

import pathlib
import tempfile
import unittest

import check_claims

FILES = {
    "storage/log_test.cc": "TEST(Log, keeps) {\n}\nTEST_F(LogTest, drops) {\n}\n",
    "build/x/old_test.cc": "TEST(Old, gone) {}\n",
    "compat-tests/CMakeLists.txt": "foreach(client go java)\n  compat_test(compat.groups.${client} TIMEOUT 1)\nendforeach()\n"
                                   "compat_test(crash.kill TIMEOUT 900)\n",
    "compat-tests/conformance/test_fetch.py": "class Limits(Test):\n    def test_one(self):\n        pass\n\n\n"
                                              "class Waits(Test):\n    def test_two(self):\n        pass\n",
}


class CheckClaims(unittest.TestCase):
    def missing(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in FILES.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
            return check_claims.missing(root, text)

    def test_tests_of_every_kind_are_found(self):
        self.assertEqual(self.missing("So it is [`Log.keeps`, `LogTest.drops`,\n`crash.kill`, `compat.groups.java`] and "
                                      "so [`fetch.Limits.test_one`, `fetch.Waits.test_two`]."), [])

    def test_what_is_not_there_is_named(self):
        for name in ("Log.drops", "Old.gone", "crash.hang", "compat.groups.perl", "fetch.Limits.test_two", "nope.A.test_b"):
            self.assertEqual(self.missing(f"A claim [`{name}`]."), [name])

    def test_only_claims_count(self):
        self.assertEqual(check_claims.named("`a.b` and [a link](x.md) and [`c.d`] and `[e.f]`"), ["c.d"])


if __name__ == "__main__":
    unittest.main()
