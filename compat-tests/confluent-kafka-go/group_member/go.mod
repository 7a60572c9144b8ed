module barnabas/compat/confluentkafkago/groupmember

go 1.26.0

replace barnabas/compat/groupmember => ../../groups/go

require (
	barnabas/compat/groupmember v0.0.0
	github.com/confluentinc/confluent-kafka-go/v2 v2.11.1
)
