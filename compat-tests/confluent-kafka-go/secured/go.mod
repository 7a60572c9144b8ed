module barnabas/compat/confluentkafkago/secured

go 1.26.0

replace barnabas/compat/ways => ../../security/go

require (
	barnabas/compat/ways v0.0.0
	github.com/confluentinc/confluent-kafka-go/v2 v2.11.1
)
