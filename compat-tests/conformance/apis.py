"""The APIs under test, with the versions that a Kafka 4.4 broker listener announces."""

ANNOUNCED = {  # name: (key, first, last)
    "Produce": (0, 0, 13),
    "Fetch": (1, 4, 18),
    "ListOffsets": (2, 1, 11),
    "Metadata": (3, 0, 13),
    "ApiVersions": (18, 0, 5),
    "CreateTopics": (19, 2, 7),
    "DeleteTopics": (20, 1, 6),
    "DeleteRecords": (21, 0, 2),
    "InitProducerId": (22, 0, 5),
    "OffsetForLeaderEpoch": (23, 2, 4),
    "DescribeConfigs": (32, 1, 4),
    "AlterConfigs": (33, 0, 2),
    "AlterReplicaLogDirs": (34, 1, 2),
    "DescribeLogDirs": (35, 1, 5),
    "CreatePartitions": (37, 0, 3),
    "ElectLeaders": (43, 0, 2),
    "IncrementalAlterConfigs": (44, 0, 1),
    "AlterPartitionReassignments": (45, 0, 1),
    "ListPartitionReassignments": (46, 0, 0),
    "DescribeQuorum": (55, 0, 2),
    "DescribeClientQuotas": (48, 0, 1),
    "AlterClientQuotas": (49, 0, 1),
    "UpdateFeatures": (57, 0, 2),
    "DescribeCluster": (60, 0, 2),
    "DescribeProducers": (61, 0, 0),
    "UnregisterBroker": (64, 0, 0),
    "ListConfigResources": (74, 0, 1),
    "DescribeTopicPartitions": (75, 0, 0),
}

# Of groups; Kafka announces the same.
GROUPS = {
    "OffsetCommit": (8, 2, 10),
    "OffsetFetch": (9, 1, 10),
    "FindCoordinator": (10, 0, 6),
    "JoinGroup": (11, 0, 9),
    "Heartbeat": (12, 0, 4),
    "LeaveGroup": (13, 0, 5),
    "SyncGroup": (14, 0, 5),
    "DescribeGroups": (15, 0, 6),
    "ListGroups": (16, 0, 5),
    "DeleteGroups": (42, 0, 3),
    "OffsetDelete": (47, 0, 0),
    "ConsumerGroupHeartbeat": (68, 0, 1),
    "ConsumerGroupDescribe": (69, 0, 1),
}

# Of transactions.
TRANSACTIONS = {
    "AddPartitionsToTxn": (24, 0, 5),
    "AddOffsetsToTxn": (25, 0, 4),
    "EndTxn": (26, 0, 5),
    "WriteTxnMarkers": (27, 1, 2),
    "TxnOffsetCommit": (28, 0, 6),
    "DescribeTransactions": (65, 0, 0),
    "ListTransactions": (66, 0, 2),
}

# Of authentication, and of who may.
SECURITY = {
    "SaslHandshake": (17, 0, 1),
    "SaslAuthenticate": (36, 0, 2),
    "CreateDelegationToken": (38, 1, 3),
    "RenewDelegationToken": (39, 1, 2),
    "ExpireDelegationToken": (40, 1, 2),
    "DescribeDelegationToken": (41, 1, 3),
    "DescribeUserScramCredentials": (50, 0, 0),
    "AlterUserScramCredentials": (51, 0, 0),
}

# Of access control.
ACCESS_CONTROL = {
    "DescribeAcls": (29, 1, 3),
    "CreateAcls": (30, 1, 3),
    "DeleteAcls": (31, 1, 3),
}

# Produce 0 to 2 are announced for the sake of old clients' negotiation, but sending one closes the connection.
PRODUCE_FIRST_SERVED = 3
PRODUCE_FIRST_WITH_TOPIC_ID = 13
PRODUCE_FIRST_THAT_ADDS = 12  # its partitions to the transaction, by itself
FETCH_FIRST_WITH_SESSION = 7
FETCH_FIRST_WITH_TOPIC_ID = 13


def versions(api):
    """Every version that is served."""
    _, first, last = (ANNOUNCED | GROUPS | TRANSACTIONS | SECURITY | ACCESS_CONTROL)[api]
    return range(PRODUCE_FIRST_SERVED if api == "Produce" else first, last + 1)


def newest(api):
    return versions(api)[-1]
