"""Reads Prometheus' text format 0.0.4, strictly."""

import re

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(rf'({_NAME})="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (\S+)")
_ESCAPED = {r"\"": '"', r"\\": "\\", r"\n": "\n"}


def parse(text):
    """(name, (label, value), …) → number. ValueError for what is not of the format, or there twice."""
    samples = {}
    for line in text.split("\n"):
        if not line or line.startswith(("# HELP ", "# TYPE ")):
            continue
        match = _SAMPLE.fullmatch(line)
        if match is None:
            raise ValueError(f"not a sample: {line!r}")
        name, labels, number = match.groups()
        key = (name, *_labels(labels or "", line))
        if key in samples:
            raise ValueError(f"there twice: {line!r}")
        samples[key] = float(number)
    return samples


def _labels(text, line):
    at, labels = 0, []
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None:
            raise ValueError(f"not labels at {at}: {line!r}")
        value = re.sub(r'\\["\\n]', lambda escape: _ESCAPED[escape[0]], match[2])
        labels.append((match[1], value))
        at = match.end()
    return labels
