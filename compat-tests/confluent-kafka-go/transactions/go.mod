module barnabas/compat/confluentkafkago/transactions

go 1.26.0

replace barnabas/compat/transactions => ../../transactions/go

require (
	barnabas/compat/transactions v0.0.0
	github.com/confluentinc/confluent-kafka-go/v2 v2.11.1
)
