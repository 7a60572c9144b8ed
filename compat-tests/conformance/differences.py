"""Where Barnabas answers otherwise than Apache Kafka on purpose: name, what Kafka does, what Barnabas does, and why.

Cases look their expectation up here, so that nothing differs silently. README.md repeats the reasons.
"""

import codes
from base import IS_KAFKA

_TABLE = {
    # A body that cannot be read as the newest request header's tags: Kafka closes, but an unknown version's layout is
    # nobody's to judge. Extra (version, body) pairs that are answered.
    "api-versions-any-body": {"kafka": (), "barnabas": ((99, b"arbitrary"), (6, b""), (7, b"\xff" * 40))},
    # Kafka never answers a produce whose records are null.
    "produce-null-records": {"kafka": None, "barnabas": codes.INVALID_RECORD},
}


def differ(name):
    return _TABLE[name]["kafka" if IS_KAFKA else "barnabas"]
