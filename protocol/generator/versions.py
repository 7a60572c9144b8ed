"""Version ranges of the schemas, and the C++ conditions that test them."""

from dataclasses import dataclass

NEWEST = 32767


@dataclass(frozen=True)
class Range:
    """Versions `low` to `high`, both included. Empty when low > high."""

    low: int
    high: int

    @staticmethod
    def parse(text):
        if text in (None, "none"):
            return NONE
        if text.endswith("+"):
            return Range(int(text[:-1]), NEWEST)
        low, _, high = text.partition("-")
        return Range(int(low), int(high or low))

    def __contains__(self, version):
        return self.low <= version <= self.high

    def __and__(self, other):
        both = Range(max(self.low, other.low), min(self.high, other.high))
        return both if both else NONE

    def hull(self, other):
        if not self or not other:
            return self or other
        return Range(min(self.low, other.low), max(self.high, other.high))

    def __bool__(self):
        return self.low <= self.high

    def each(self):
        return range(self.low, self.high + 1)

    def condition(self, scope):
        """C++ for "wire_version lies in this range" when it lies in `scope`: "true", "false" or a test."""
        inside = self & scope
        if not inside:
            return "false"
        tests = []
        if inside.low > scope.low:
            tests.append("wire_version >= %d" % inside.low)
        if inside.high < scope.high:
            tests.append("wire_version <= %d" % inside.high)
        return " && ".join(tests) or "true"


NONE = Range(0, -1)
