"""What the members written in Python share: the lines of scenario.py, and what is pending."""

import os
import threading

COMMIT_AT = 20


class Member:
    """Not thread-safe but for `closing`, which is set at the end of standard input."""

    def __init__(self, arguments):
        self.bootstrap, self.group, self.topic, self.name, mode, session_ms = arguments
        self.mode, _, static = mode.partition("-")
        self.instance = self.name if static else None
        self.session_ms = int(session_ms)
        self.heartbeat_ms = self.session_ms // 12
        self.pending = {}  # partition → next offset
        self.records = 0  # pending ones
        self.partitions = set()
        self.closing = threading.Event()
        threading.Thread(target=self._await_end, daemon=True).start()

    def _await_end(self):
        while os.read(0, 4096):
            pass
        self.closing.set()

    def say(self, *words):
        os.write(1, f"{self.name} {' '.join(map(str, words))}\n".encode())

    def assigned(self, partitions):
        """All that it has from now on; what was pending for others is dropped."""
        self.partitions = set(partitions)
        self.pending = {p: offset for p, offset in self.pending.items() if p in self.partitions}
        self.say("assigned", ",".join(map(str, sorted(self.partitions))) or "-")

    def gained(self, partitions):
        self.assigned(self.partitions | set(partitions))

    def lost(self, partitions):
        self.assigned(self.partitions - set(partitions))

    def consumed(self, partition, offset):
        self.pending[partition] = offset + 1
        self.records += 1
        self.say("consumed", partition, offset)

    def wants_to_commit(self, was_idle):
        return bool(self.pending) and (was_idle or self.records >= COMMIT_AT)

    def committing(self):
        """The offsets to commit: partition → next offset."""
        self.say("committing", self._pending_text())
        return dict(self.pending)

    def committed(self):
        self.say("committed", self._pending_text())
        self.pending.clear()
        self.records = 0

    def refused(self, why):
        """They stay pending."""
        self.say("refused", str(why).replace("\n", " "))

    def _pending_text(self):
        return ",".join(f"{p}:{offset}" for p, offset in sorted(self.pending.items()))
