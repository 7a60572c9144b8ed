#!/usr/bin/env python3
"""Fails when a row of the table of rights (broker/rights.h) is asked about by nobody: a page that promises a check must not
promise one that is never made.

check_rights.py [ROOT]
"""

import pathlib
import re
import sys


def rights(header):
    """The names of `enum class Right`, without the number of them."""
    body = re.search(r"enum class Right\b[^{]*\{(.*?)\}", header, re.DOTALL)
    names = re.findall(r"^\s*(\w+),", body[1], re.MULTILINE) if body else []
    return [name for name in names if name != "count_"]


def unasked(names, sources):
    asked = set()
    for text in sources:
        asked.update(re.findall(r"\bRight::(\w+)", text))
    return [name for name in names if name not in asked]


def main(root):
    names = rights((root / "broker" / "rights.h").read_text())
    if not names:
        return ["broker/rights.h: no enum class Right"]
    handlers = [path for path in (root / "broker").rglob("*") if path.suffix in (".h", ".cc")
                and path.stem not in ("rights", "rights_test") and not path.stem.endswith("_test")]
    return [f"broker/rights.h: no handler asks about Right::{name}"
            for name in unasked(names, (path.read_text() for path in handlers))]


if __name__ == "__main__":
    complaints = main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(complaints) or "every right is asked about")
    sys.exit(1 if complaints else 0)
