module barnabas/compat/confluentkafkago/basics

go 1.26.0

replace barnabas/compat/basics => ../../basics/go

require (
	barnabas/compat/basics v0.0.0
	github.com/confluentinc/confluent-kafka-go/v2 v2.11.1
)
