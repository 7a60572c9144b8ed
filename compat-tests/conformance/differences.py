"""Where Barnabas answers otherwise than Apache Kafka on purpose: name, what Kafka does, what Barnabas does, and why.

Cases look their expectation up here, so that nothing differs silently. README.md repeats the reasons.
"""

import codes
from base import IS_KAFKA

# Kafka says UNKNOWN_SERVER_ERROR where its own code threw; a broker that knows what is wrong may say so.
_CORRUPT = (codes.UNKNOWN_SERVER_ERROR, codes.CORRUPT_MESSAGE, codes.INVALID_RECORD)
_UNKNOWN_CODEC = (*_CORRUPT, codes.UNSUPPORTED_COMPRESSION_TYPE)

_TABLE = {
    # A body that cannot be read as the newest request header's tags: Kafka closes, but an unknown version's layout is
    # nobody's to judge. Extra (version, body) pairs that are answered.
    "api-versions-any-body": {"kafka": (), "barnabas": ((99, b"arbitrary"), (6, b""), (7, b"\xff" * 40))},
    # Answers to one without rights, by what was asked.
    "authorization": {"kafka": {}, "barnabas": {}},
    "authorization-rights": {"kafka": {}, "barnabas": {}},
    # Entries of kinds that only filters have: Kafka's own code throws.
    "acl-of-any-kind": {"kafka": (codes.UNKNOWN_SERVER_ERROR,), "barnabas": (codes.INVALID_REQUEST,)},
    # Kafka never answers a produce whose records are null.
    "produce-null-records": {"kafka": None, "barnabas": codes.INVALID_RECORD},
    # Kafka's brokers learn of a topic a little later than its controller.
    "retries-after-creation": {"kafka": 10_000, "barnabas": 0},
    # A fetch that claims to come from the broker itself.
    "fetch-as-own-replica": {"kafka": (codes.NOT_LEADER_OR_FOLLOWER,),
                             "barnabas": (codes.NOT_LEADER_OR_FOLLOWER, codes.UNKNOWN_LEADER_EPOCH)},
    # (session id, epoch) at the edge, where Kafka's cache of sessions stumbles and says UNKNOWN_SERVER_ERROR.
    "odd-session-ids": {"kafka": (), "barnabas": ((2**31 - 1, 1), (2**31 - 1, 2**31 - 1))},
    # What another user, and then its own one, are told who go on with a fetch session; Kafka's sessions are anybody's.
    "fetch-session-of-another": {"kafka": (codes.NONE, codes.INVALID_FETCH_SESSION_EPOCH),
                                 "barnabas": (codes.FETCH_SESSION_ID_NOT_FOUND, codes.NONE)},
    # What its own user is told when another one has ended a session.
    "fetch-session-ended-by-another": {"kafka": codes.FETCH_SESSION_ID_NOT_FOUND, "barnabas": codes.NONE},
    # Who may find the coordinator of a share group's state is told where it is; here are no share groups.
    "share-coordinator": {"kafka": codes.NONE, "barnabas": codes.INVALID_REQUEST},
    # Seconds until a look-up by time is right again when records of whole segments were deleted: Kafka searches
    # segments below the log start, finds nothing there, and gives up, until its next retention round removes them.
    "time-lookup-after-deleting-records": {"kafka": 10.0, "barnabas": 0.0},
    # connections.max.idle.ms: Kafka closes also a connection whose long poll it has not answered yet.
    "idle-limit-spares-waiting-requests": {"kafka": False, "barnabas": True},
    # Log start offset, of a log that ends at 9, before an orderly restart that must keep the producers' state: when
    # every record is deleted, Kafka comes back without any state and takes a repeat for new.
    "delete-before-restart": {"kafka": 8, "barnabas": 9},
    # An operation that IncrementalAlterConfigs does not have, on anything but a broker: Kafka's controller throws, and
    # fails every resource of the request with it.
    "unknown-config-operation": {"kafka": (codes.UNKNOWN_SERVER_ERROR, codes.UNKNOWN_SERVER_ERROR),
                                 "barnabas": (codes.INVALID_REQUEST, codes.NONE)},
    # AlterClientQuotas of a host by name: Kafka asks the name service, whenever the record is read again.
    "quota-of-a-host-name": {"kafka": codes.NONE, "barnabas": codes.INVALID_REQUEST},
    # AlterConfigs that names a resource twice: Kafka never answers.
    "alter-configs-of-one-resource-twice": {"kafka": None, "barnabas": codes.INVALID_REQUEST},
    # Broker "01" is broker 1 to every check, but what is set on it has no effect in Kafka.
    "other-spellings-of-a-broker-id": {"kafka": False, "barnabas": True},
    # A log directory without space left.
    "full-disk-ends-the-broker": {"kafka": True, "barnabas": False},
    # Kafka unregisters also the broker that answers. It then leads nothing and is in no answer until it is started again.
    "unregister-running-broker": {"kafka": codes.NONE, "barnabas": codes.INVALID_REQUEST},
    # JoinGroup with a member id that was handed out to a dynamic member, and an instance id: Kafka's state machine throws.
    "pending-id-with-instance": {"kafka": codes.UNKNOWN_SERVER_ERROR, "barnabas": codes.UNKNOWN_MEMBER_ID},
    # A static member whose answer to its join was lost, and that joins again; later versions of Kafka welcome it, too.
    "static-member-joins-again": {"kafka": codes.UNRELEASED_INSTANCE_ID, "barnabas": codes.NONE},
    # How many times its delay a first rebalance waits when all members come at once.
    "first-rebalance-delays": {"kafka": 2, "barnabas": 1},
    # What a request is told that meets an outcome that is just being carried out, or that sets one going: Kafka lets its
    # client come again.
    "busy-transaction": {"kafka": codes.CONCURRENT_TRANSACTIONS, "barnabas": codes.NONE},
    # InitProducerId with the last epoch but one of a producer id, asked for once more: Kafka's state machine throws.
    "last-epoch-once-more": {"kafka": codes.UNKNOWN_SERVER_ERROR, "barnabas": codes.NONE},
    # Epochs and ids of markers that nobody has; Kafka's appending code throws.
    "impossible-marker": {"kafka": codes.UNKNOWN_SERVER_ERROR, "barnabas": codes.INVALID_REQUEST},
    # Whether a transaction ends of which a partition refuses the marker, because it has seen one of a later epoch.
    "marker-kept-out": {"kafka": False, "barnabas": True},
    # AddPartitionsToTxn of no transaction, WriteTxnMarkers with a partition twice: Kafka never answers.
    "transactions-unanswered": {"kafka": False, "barnabas": True},
    # After a batch of an epoch to come was refused, Kafka refuses what the producer sends until its transaction ends.
    "after-an-epoch-to-come": {"kafka": codes.OUT_OF_ORDER_SEQUENCE_NUMBER, "barnabas": codes.NONE},
    # What a broker is told that adds partitions while transaction.version 0 is finalized: of all, and of each partition.
    "unsupported-addition": {"kafka": (codes.UNSUPPORTED_VERSION, []),
                             "barnabas": (codes.NONE, [codes.UNSUPPORTED_VERSION])},
    # A transactional id of which something was refused because transaction.version 0 is finalized: Kafka's waits for ever.
    "after-an-unsupported-transaction": {"kafka": codes.CONCURRENT_TRANSACTIONS, "barnabas": codes.NONE},
    # JoinGroup of an id that a group of the consumer protocol does not know, with partitions that it claims to own.
    "put-out-with-partitions": {"kafka": codes.NONE, "barnabas": codes.UNKNOWN_MEMBER_ID},
    # What the first member of the consumer protocol is given at once of a classic group in the middle of a cooperative
    # rebalance: in Kafka also partition 2, which a member has, is not given again, and has not given up yet.
    "given-up-before-it-is-said": {"kafka": [2], "barnabas": []},
    # Heartbeat of members of the classic protocol that are alone in a group of the consumer protocol, and for which
    # there are more partitions now: Kafka tells nobody until somebody joins.
    "left-alone-in-a-consumer-group": {"kafka": codes.NONE, "barnabas": codes.REBALANCE_IN_PROGRESS},
    # A regular expression that is larger than 32767 characters with its repetitions written out.
    "repetitions-written-out": {"kafka": codes.NONE, "barnabas": codes.INVALID_REGULAR_EXPRESSION},
    # Another request than SaslAuthenticate in the middle of an authentication: whether it is answered, in its own form,
    # before the connection closes. A stranger's requests are not taken apart.
    "other-requests-while-authenticating": {"kafka": True, "barnabas": False},
    # AlterUserScramCredentials with an empty salted password: Java's cipher throws.
    "empty-salted-password": {"kafka": codes.UNKNOWN_SERVER_ERROR, "barnabas": codes.UNACCEPTABLE_CREDENTIAL},
    # A payload that its codec cannot read.
    "undecodable": {"kafka": (codes.UNKNOWN_SERVER_ERROR, codes.INVALID_RECORD), "barnabas": _CORRUPT},
    # Golden bad batches: the codes allowed instead of Kafka's own.
    "bad-batches": {"kafka": {}, "barnabas": {
        "length-max-int": _CORRUPT,
        "record-varint-11-bytes": _CORRUPT,
        "compressed-gzip-cut-short": _CORRUPT,
        "compressed-zstd-cut-short": _CORRUPT,
        **{f"compression-id-{codec}-but-plain-bytes": _CORRUPT for codec in range(1, 5)},
        **{f"compression-id-{codec}": _UNKNOWN_CODEC for codec in range(5, 8)},
        "offset-deltas-0-2-1-gzip": _CORRUPT,
        # Kafka hands deltas that are wrong to consumers when the records are not compressed.
        **{f"offset-delta{name}": (codes.NONE, codes.INVALID_RECORD)
           for name in ("s-0-2-1", "s-0-0-0", "s-0-5", "-negative")},
    }},
}


def differ(name):
    return _TABLE[name]["kafka" if IS_KAFKA else "barnabas"]
