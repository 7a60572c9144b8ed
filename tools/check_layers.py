#!/usr/bin/env python3
"""Fails when a room includes one that tools/layers.txt does not permit, or when a room is not listed there.

check_layers.py [ROOT]
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SOURCE_SUFFIXES = {".h", ".cc", ".hpp", ".cpp", ".c", ".inc", ".ipp"}
# Folders without C++ of ours.
NOT_ROOMS = {"build", "docs", "docker", "cmake", "debian"}
# Clients that see the broker from outside: they include no room, only files of their own.
OUTSIDE = {"compat-tests"}


def read_layers(text):
    """Room -> the rooms that it may include, itself among them."""
    layers = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        room, colon, permitted = line.partition(":")
        if not colon or room in layers:
            raise ValueError('layers.txt:%d: expected one line "room: permitted rooms" per room' % number)
        layers[room] = {room, *permitted.split()}
    for room, permitted in layers.items():
        for other in permitted - layers.keys():
            raise ValueError("layers.txt: %s may include %s, which is not listed" % (room, other))
    return layers


def cycles(layers):
    """Rooms that may, by some way, include a room that may include them."""
    reached = {room: permitted - {room} for room, permitted in layers.items()}
    for _ in layers:
        for room in reached:
            reached[room] = reached[room].union(*(reached[other] for other in reached[room]))
    return [
        "layers.txt: %s may include itself by way of another room" % room
        for room in layers
        if room in reached[room]
    ]


def sources(root):
    for folder in sorted(root.iterdir()):
        if folder.is_dir() and not folder.name.startswith(".") and folder.name not in NOT_ROOMS:
            for path in sorted(folder.rglob("*")):
                if path.suffix in SOURCE_SUFFIXES and path.is_file():
                    yield folder.name, path


def complaint_about(include, room, root, layers):
    """What is wrong with a file of `room` including `include`, or None."""
    other = include.split("/")[0] if "/" in include else ""
    if room in OUTSIDE:
        own = other not in layers and any((root / room).rglob(include))
        return None if own else "%s includes only files of its own" % room
    if other not in layers:
        return 'includes are written by room, as "%s/..."' % room
    return None if other in layers[room] else "%s must not include %s" % (room, other)


def check(root, layers):
    """The complaints, one text each."""
    complaints = cycles(layers)
    for room, path in sources(root):
        place = path.relative_to(root)
        if room not in layers and room not in OUTSIDE:
            complaints.append("%s: the room %s is not listed in tools/layers.txt" % (place, room))
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            reason = complaint_about(match.group(1), room, root, layers) if match else None
            if reason:
                complaints.append("%s:%d: %s: %s" % (place, number, reason, line.strip()))
    return complaints


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    complaints = check(root, read_layers((root / "tools" / "layers.txt").read_text(encoding="utf-8")))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
