"""What tests of one node that is moved between brokers have in common."""

import unittest

from kafka_complaints import unexplained
from node import Node


class MovingCase(unittest.TestCase):
    maxDiff = 8000

    def node(self, **options):
        node = Node(**options)
        self.addCleanup(node.clean)
        return node

    def formatted_node(self, **options):
        node = self.node(**options)
        node.format("--standalone")
        return node

    def start(self, node, target, **options):
        """Returns a client."""
        node.start(target, **options)
        client = node.client()
        self.addCleanup(client.close)
        return client

    def stop(self, node):
        """In order."""
        node.stop()
        self.assert_no_complaint(node)

    def assert_no_complaint(self, node):
        """Of what Apache Kafka found."""
        if node.target == "kafka":
            self.assertEqual(unexplained(node.kafka_complaints()), [])

    def end(self, node, cleanly):
        if cleanly:
            self.stop(node)
        else:
            node.kill()
