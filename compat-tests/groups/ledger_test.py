#!/usr/bin/env python3
"""The ledger notices what it is there to notice."""

import unittest

from ledger import Ledger


class LedgerTest(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger(2)
        self.ledger.assigned("a", {0, 1})

    def read(self, member, number, offsets):
        for offset in offsets:
            self.ledger.consumed(member, number, offset)

    def commit(self, member, number, offset):
        self.ledger.committing(member, number, offset)
        self.ledger.committed(member, number, offset)

    def hand_over(self):
        self.ledger.assigned("a", {1})
        self.ledger.assigned("b", {0})

    def complaint(self):
        (only,) = self.ledger.complaints
        return only

    def test_a_clean_handover_is_fine(self):
        self.read("a", 0, range(5))
        self.commit("a", 0, 5)
        self.hand_over()
        self.read("b", 0, range(5, 7))
        self.assertEqual((self.ledger.complaints, self.ledger.repeats), ([], 0))
        self.assertEqual(self.ledger.shares(["a", "b"]), {"a": 1, "b": 1})

    def test_two_owners(self):
        self.ledger.assigned("b", {1})
        self.assertIn("belongs to a and to b", self.complaint())

    def test_consuming_what_belongs_to_another(self):
        self.hand_over()
        self.read("a", 0, [0])
        self.assertIn("belongs to b", self.complaint())

    def test_a_gap_and_a_repeat_within_one_assignment(self):
        self.read("a", 0, [0, 2, 2])
        self.assertEqual(len(self.ledger.complaints), 2)

    def test_a_gap_at_a_handover(self):
        self.read("a", 0, range(5))
        self.commit("a", 0, 5)
        self.hand_over()
        self.read("b", 0, [6])
        self.assertIn("5 was committed", self.complaint())

    def test_repeats_need_a_death(self):
        self.read("a", 0, range(5))
        self.commit("a", 0, 3)
        self.hand_over()
        self.read("b", 0, [3])
        self.assertIn("nothing has died", self.complaint())

    def test_or_a_refused_commit_and_a_loss(self):
        self.read("a", 0, range(5))
        self.ledger.committing("a", 0, 5)
        self.ledger.refused("a")
        self.hand_over()
        self.read("b", 0, range(5))
        self.assertEqual((self.ledger.complaints, self.ledger.repeats), ([], 5))

    def test_a_refused_commit_may_lose_other_partitions_too(self):
        for acknowledged in (False, True):
            with self.subTest(acknowledged=acknowledged):
                self.setUp()
                self.ledger.assigned("a", {0, 1})
                self.ledger.consumed("a", 1, 0)
                self.ledger.committing("a", 1, 1)
                self.ledger.refused("a")
                if acknowledged:
                    self.commit("a", 1, 1)
                self.read("a", 0, range(5))
                self.hand_over()
                self.read("b", 0, range(5))
                self.assertEqual(bool(self.ledger.complaints), acknowledged)

    def test_after_a_death_exactly_what_was_not_committed_comes_again(self):
        self.read("a", 0, range(5))
        self.commit("a", 0, 3)
        self.ledger.member_died("a")
        self.ledger.assigned("b", {0})
        self.read("b", 0, [3, 4, 5])
        self.assertEqual((self.ledger.complaints, self.ledger.repeats), ([], 2))

    def test_neither_earlier_nor_later_than_the_commit(self):
        for offset in (2, 4):
            self.setUp()
            self.read("a", 0, range(5))
            self.commit("a", 0, 3)
            self.ledger.broker_died()
            self.hand_over()
            self.read("b", 0, [offset])
            self.assertIn("3 was committed", self.complaint())

    def test_a_commit_without_an_answer_may_count(self):
        self.read("a", 0, range(5))
        self.commit("a", 0, 3)
        self.ledger.committing("a", 0, 5)
        self.ledger.member_died("a")
        self.ledger.assigned("b", {0})
        self.read("b", 0, [5])
        self.assertEqual(self.ledger.complaints, [])

    def test_a_commit_of_what_was_not_consumed_or_back(self):
        self.read("a", 0, range(5))
        self.ledger.committing("a", 0, 6)
        self.commit("a", 0, 5)
        self.commit("a", 0, 4)
        self.assertEqual(len(self.ledger.complaints), 2)


if __name__ == "__main__":
    unittest.main()
