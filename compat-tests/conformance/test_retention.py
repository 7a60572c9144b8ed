"""What goes by itself: retention by time and size, with honest and with bogus timestamps."""

import unittest

from base import ConformanceTest, eventually
from records import batch, now_ms

MEGABYTE = 1 << 20
YEAR_MS = 365 * 86_400_000
SEGMENT = {"segment_bytes": str(MEGABYTE), "file_delete_delay_ms": "0"}


class Retention(ConformanceTest):
    """The shared broker looks every 300 ms."""

    def fill(self, topic, stamp, count=25):
        content = batch(bytes(200_000), timestamps=(stamp,))
        for _ in range(count):
            self.assertEqual(self.client.produce(topic, content, acks=1).errorCode, 0)

    def starts_at(self, topic, wanted, timeout_s=20.0):
        return eventually(lambda: wanted(self.client.start_offset(topic)), timeout_s, 0.1)

    def test_in_log_append_time_topics_the_clients_times_do_not_matter(self):
        topic = self.new_topic(message_timestamp_type="LogAppendTime", retention_ms="2000", **SEGMENT)
        self.fill(topic, now_ms() + 75 * YEAR_MS)
        self.assertTrue(self.starts_at(topic, lambda start: start == 25))
        self.assertEqual((self.client.end_offset(topic), self.client.append(topic, b"next")), (25, 25))

    def test_records_from_the_future_stay_for_ever_by_time_but_not_by_size(self):
        configs = {"message_timestamp_after_max_ms": str(2**63 - 1), **SEGMENT}
        by_time = self.new_topic(retention_ms="1000", **configs)
        by_size = self.new_topic(retention_bytes=str(2 * MEGABYTE), **configs)
        for topic in (by_time, by_size):
            self.fill(topic, now_ms() + 75 * YEAR_MS)
        self.assertTrue(self.starts_at(by_size, lambda start: start >= 10))
        self.assertEqual(self.client.end_offset(by_size), 25)
        self.assertLessEqual(self.client.start_offset(by_size), 15)  # what is within the limit stays
        self.assertEqual(self.client.start_offset(by_time), 0)

    def test_old_records_go_even_from_the_active_segment(self):
        topic = self.new_topic(retention_ms="60000", **SEGMENT)
        self.client.append(topic, b"old", timestamps=(now_ms() - 120_000,))
        self.assertTrue(self.starts_at(topic, lambda start: start == 1))
        self.assertEqual(self.client.append(topic, b"new"), 1)

    def test_the_newest_record_of_a_segment_decides(self):
        topic = self.new_topic(retention_ms="60000", **SEGMENT)
        self.client.append(topic, b"new")
        self.client.append(topic, b"old", timestamps=(1000,))
        self.assertFalse(self.starts_at(topic, lambda start: start > 0, 2.0))

    def test_no_limit_keeps_everything(self):
        topic = self.new_topic(retention_ms="-1", **SEGMENT)
        self.client.append(topic, b"ancient", timestamps=(0,))
        compacted = self.new_topic(cleanup_policy="compact", retention_ms="1000", **SEGMENT)
        self.client.append(compacted, b"ancient", keys=(b"k",), timestamps=(0,))
        self.assertFalse(self.starts_at(topic, lambda start: start > 0, 1.5))
        self.assertEqual(self.client.start_offset(compacted), 0)


if __name__ == "__main__":
    unittest.main()
