"""What the members of a group have said, and whether it can all be true; pure, so that it can be tested itself."""


class Partition:
    def __init__(self):
        self.owner = None
        self.position = None  # where the owner goes on; None until it has consumed something since it got the partition
        self.next = 0  # the first offset that nobody has consumed
        self.committed = 0  # what was acknowledged last
        self.tried = set()  # offsets of later commits: a death may have hidden what became of them
        self.refused = False  # the last of those commits was
        # Something died since it was consumed from, or the owner could not commit before it lost the partition: records
        # after the commit may come again.
        self.excused = False


class Ledger:
    """Takes events in the order in which they happened; `complaints` says in words what must never be."""

    def __init__(self, partitions):
        self.partitions = [Partition() for _ in range(partitions)]
        self.complaints = []
        self.refused_members = set()  # whose last commit was refused: a client may lose all partitions for that
        self.repeats = 0
        self.refusals = 0
        self.assignments = 0

    def assigned(self, member, numbers):
        """All that the member has from now on."""
        self.assignments += 1
        for number, partition in enumerate(self.partitions):
            if number in numbers and partition.owner != member:
                if partition.owner is not None:
                    self._complain(f"partition {number} belongs to {partition.owner} and to {member}")
                partition.owner, partition.position = member, None
            elif number not in numbers and partition.owner == member:
                partition.owner = None
                partition.excused |= partition.refused or member in self.refused_members

    def consumed(self, member, number, offset):
        partition = self.partitions[number]
        where = f"partition {number}: {member} consumed {offset}"
        if partition.owner != member:
            self._complain(f"{where}, but it belongs to {partition.owner or 'nobody'}")
        elif partition.position is not None:
            if offset != partition.position:
                self._complain(f"{where} where {partition.position} comes next")
        else:
            self._resumed(partition, offset, where)
        partition.position = offset + 1
        partition.next = max(partition.next, offset + 1)

    def _resumed(self, partition, offset, where):
        if offset != partition.committed and offset not in partition.tried:
            tried = f", tried were {sorted(partition.tried)}" if partition.tried else ""
            self._complain(f"{where} first, {partition.committed} was committed{tried}")
        if offset < partition.next and not partition.excused:
            self._complain(f"{where}, a repeat of what was consumed up to {partition.next}, and nothing has died")
        self.repeats += max(0, partition.next - offset)
        partition.excused = False

    def committing(self, member, number, offset):
        partition = self.partitions[number]
        if partition.position is None or offset > partition.position:
            self._complain(f"partition {number}: {member} commits {offset}, consumed up to {partition.position}")
        partition.tried.add(offset)

    def committed(self, member, number, offset):
        partition = self.partitions[number]
        if offset < partition.committed:
            self._complain(f"partition {number}: {member} committed {offset} after {partition.committed}")
        partition.committed = offset
        partition.tried.clear()
        partition.refused = False
        self.refused_members.discard(member)

    def refused(self, member):
        """What became of the commit is not known: a connection may have broken. It stays among what was tried."""
        self.refusals += 1
        self.refused_members.add(member)
        for partition in self.partitions:
            if partition.owner == member and partition.tried:
                partition.refused = True

    def member_died(self, member):
        self.refused_members.discard(member)
        for partition in self.partitions:
            if partition.owner == member:
                partition.owner, partition.excused = None, True

    def broker_died(self):
        for partition in self.partitions:
            partition.excused = True

    def shares(self, members):
        """How many partitions each of these has; the rest belong to others or nobody."""
        return {member: sum(partition.owner == member for partition in self.partitions) for member in members}

    def has_pending(self, member):
        """Whether it has consumed what it has not committed."""
        return any(partition.owner == member and (partition.position or 0) > partition.committed
                   for partition in self.partitions)

    def _complain(self, text):
        self.complaints.append(text)
