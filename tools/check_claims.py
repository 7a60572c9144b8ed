#!/usr/bin/env python3
"""Every test that a page names in brackets after a claim exists: `check_claims.py ROOT PAGE…`.

A name in back quotes within [brackets] is one of ctest, a case of a conformance family or a unit test.
"""

import pathlib
import re
import sys


def named(text):
    """Names in claims, in order."""
    return [name for claim in re.findall(r"\[(`[^\]]+`)\]", text) for name in re.findall(r"`([^`]+)`", claim)]


def is_case(root, name):
    family, kind, case = name.split(".")
    path = root / "compat-tests" / "conformance" / f"test_{family}.py"
    text = path.read_text() if path.exists() else ""
    body = re.search(rf"^class {kind}\(.*?(?=^class |\Z)", text, re.MULTILINE | re.DOTALL)
    return body is not None and re.search(rf"^    def {case}\(", body[0], re.MULTILINE) is not None


def unit_tests(root):
    found = set()
    for path in root.glob("*/**/*_test.cc"):
        if "build" not in path.relative_to(root).parts:
            found |= {f"{suite}.{name}" for suite, name in
                      re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE)}
    return found


def ctest_names(root):
    """Those that are written out, and those of loops over names."""
    found = set()
    for path in (root / "compat-tests").glob("**/CMakeLists.txt"):
        text = path.read_text()
        found |= set(re.findall(r"compat_test\(([\w.-]+)\s", text))
        for values, prefix in re.findall(r"foreach\(\w+ ([^)]*)\)\s*compat_test\(([\w.]+)\$\{", text):
            found |= {prefix + value for value in values.split()}
    return found


def missing(root, text):
    tests, names = unit_tests(root), ctest_names(root)
    return [name for name in named(text)
            if not (name in tests or name in names or (name.count(".") == 2 and is_case(root, name)))]


def main(root, *pages):
    root = pathlib.Path(root)
    complaints = []
    for page in pages:
        text = (root / page).read_text()
        if not named(text):
            complaints.append(f"{page}: no test is named")
        complaints += [f"{page}: there is no test {name}" for name in missing(root, text)]
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
