"""Lines of warning in Apache Kafka's log that it writes on directories of its own as well, or that a test provokes."""

import re

EXPLAINED = [
    # At each start, and each stop.
    r"WARN \[QuorumController id=1\] Performing controller activation\.",
    r"WARN \[NodeToControllerChannelManager id=1 name=registration\] Attempting to close NetworkClient",
    # The tests make metadata segments small.
    r"ERROR \[RaftLog partition=__cluster_metadata-0.*Overriding internal\.metadata\.log\.segment\.bytes",
    # A new partition in a broker with several log directories.
    r"ERROR \[Broker id=1\] Expected partition \S+ with topic id \S+ to exist, but it was missing\. Creating\.\.\.",
    # A broker that was killed registers anew while its first requests are on their way.
    r"ERROR .*(ASSIGN_REPLICAS_TO_DIRS|STALE_BROKER_EPOCH)",
    # Barnabas writes quorum-state when it is idle, and was killed before; the epoch in the log counts.
    r"WARN \[RaftManager id=1\] Epoch from quorum store file \(.*\) is \d+, which is smaller than last written epoch",
    # Somebody looked for a coordinator twice while its topic was being made.
    r"WARN Auto topic creation failed for __(consumer_offsets|transaction_state) with error 'TOPIC_ALREADY_EXISTS'",
    # A coordinator begins to load when the broker still leads as before it stopped, and once more when it leads anew.
    r"ERROR \[\w+Coordinator id=1\] Failed to load metadata from \S+ with epoch \d+ due to Stopped loading records",
    # A controller of one that leads already registers with itself before it has heard that it leads; it asks again.
    r"ERROR \[ControllerApis nodeId=1\].*\(apiKey=CONTROLLER_REGISTRATION, .*\n.*NotControllerException: .* to be node 1\.",
]
_EXPLAINED = re.compile("|".join(EXPLAINED))


def unexplained(lines):
    return [line for line in lines if not _EXPLAINED.search(line)]
