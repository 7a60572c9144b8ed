#!/usr/bin/env python3
import unittest

import check_rights

HEADER = """
enum class Right : uint8_t {
  produce_topic,
  fetch_topic,
  // a comment, with a comma
  fetch_as_broker,
  count_,
};
"""


class Rights(unittest.TestCase):
    def test_names_are_those_of_the_enumeration(self):
        self.assertEqual(check_rights.rights(HEADER), ["produce_topic", "fetch_topic", "fetch_as_broker"])

    def test_what_no_source_names_is_told(self):
        names = check_rights.rights(HEADER)
        self.assertEqual(check_rights.unasked(names, ["may(Right::fetch_topic, x)", "Right::produce_topics"]),
                         ["produce_topic", "fetch_as_broker"])
        self.assertEqual(check_rights.unasked(names, ["".join(f" Right::{name};" for name in names)]), [])


if __name__ == "__main__":
    unittest.main()
