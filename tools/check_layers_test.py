#!/usr/bin/env python3
"""Tests of check_layers.py over small trees."""

import pathlib
import tempfile
import unittest

import check_layers

LAYERS = "base:\nprotocol: base  # the wire\nstorage: base protocol\n"


class CheckLayers(unittest.TestCase):
    def complaints(self, files, layers=LAYERS):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return check_layers.check(root, check_layers.read_layers(layers))

    def test_permitted_includes_pass(self):
        self.assertEqual(
            self.complaints(
                {
                    "base/a.h": "#include <vector>\n",
                    "storage/log.cc": '#include "storage/log.h"\n#include "base/a.h"\n',
                    "storage/read.cc": '#include "protocol/messages/fetch_request.h"\n',
                    "build/x/base/a.cc": '#include "storage/log.h"\n',
                    "docs/example.cc": '#include "storage/log.h"\n',
                }
            ),
            [],
        )

    def test_an_upward_include_is_named_with_its_line(self):
        self.assertEqual(
            self.complaints({"protocol/reader.cc": '\n#include "storage/log.h"\n'}),
            ['protocol/reader.cc:2: protocol must not include storage: #include "storage/log.h"'],
        )

    def test_a_generated_header_counts_as_protocol(self):
        found = self.complaints({"base/a.h": '  #  include "protocol/messages/fetch_request.h"\n'})
        self.assertEqual(len(found), 1)
        self.assertIn("base must not include protocol", found[0])

    def test_a_room_that_is_not_listed_fails(self):
        found = self.complaints({"util/helpers.h": "\n"})
        self.assertEqual(found, ["util/helpers.h: the room util is not listed in tools/layers.txt"])

    def test_an_include_without_its_room_fails(self):
        found = self.complaints(
            {"storage/log.cc": '#include "log.h"\n', "base/a.cc": '#include "util/x.h"\n'}
        )
        self.assertEqual(len(found), 2)

    def test_clients_outside_include_only_files_of_their_own(self):
        found = self.complaints(
            {
                "compat-tests/x/client.h": "\n",
                "base/a.h": "\n",
                "compat-tests/y/test.cc": '#include "client.h"\n#include "base/a.h"\n',
            }
        )
        self.assertEqual(
            found,
            ["compat-tests/y/test.cc:2: compat-tests includes only files of its own: " '#include "base/a.h"'],
        )

    def test_a_cycle_of_permissions_fails(self):
        self.assertEqual(len(self.complaints({}, "a: b\nb: c\nc: a\nd: a\n")), 3)

    def test_a_malformed_list_fails(self):
        for text in ("base\n", "base:\nbase:\n", "base: nowhere\n"):
            with self.assertRaises(ValueError):
                check_layers.read_layers(text)


if __name__ == "__main__":
    unittest.main()
