// A member of a group in confluent-kafka-go; the lines are those of groups/scenario.py.
package main

import (
	"log"
	"time"

	"barnabas/compat/groupmember"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const pollMS = int(groupmember.Idle / time.Millisecond)

func settings(member *groupmember.Member) *kafka.ConfigMap {
	config := kafka.ConfigMap{
		"bootstrap.servers": member.Bootstrap, "group.id": member.Group, "auto.offset.reset": "earliest",
		"enable.auto.commit": false, "reconnect.backoff.max.ms": 500, "log_level": 3,
		// What is polled in one go belongs to the assignment of that moment.
		"go.events.channel.enable": false,
	}
	if member.Instance != "" {
		config["group.instance.id"] = member.Instance
	}
	if member.Mode == "consumer" { // the broker says how long a session lasts
		config["group.protocol"] = "consumer"
		return &config
	}
	config["session.timeout.ms"] = int(member.Session.Milliseconds())
	config["heartbeat.interval.ms"] = int(member.Heartbeat.Milliseconds())
	config["partition.assignment.strategy"] = map[string]string{
		"classic": "range", "cooperative": "cooperative-sticky"}[member.Mode]
	return &config
}

func numbers(partitions []kafka.TopicPartition) []int32 {
	var out []int32
	for _, partition := range partitions {
		out = append(out, partition.Partition)
	}
	return out
}

func main() {
	member := groupmember.New()
	consumer, err := kafka.NewConsumer(settings(member))
	if err != nil {
		log.Fatal(err)
	}
	commit := func() {
		member.Commit(func(offsets map[int32]int64) error {
			var told []kafka.TopicPartition
			for partition, offset := range offsets {
				told = append(told, kafka.TopicPartition{
					Topic: &member.Topic, Partition: partition, Offset: kafka.Offset(offset)})
			}
			done, err := consumer.CommitOffsets(told)
			for _, one := range done {
				if err == nil {
					err = one.Error
				}
			}
			return err
		})
	}
	// Called by Poll; librdkafka then assigns as its protocol asks for.
	rebalanced := func(_ *kafka.Consumer, event kafka.Event) error {
		switch rebalance := event.(type) {
		case kafka.AssignedPartitions:
			member.Gained(numbers(rebalance.Partitions))
		case kafka.RevokedPartitions:
			if !consumer.AssignmentLost() {
				commit()
			}
			member.Lost(numbers(rebalance.Partitions))
		}
		return nil
	}
	if err := consumer.SubscribeTopics([]string{member.Topic}, rebalanced); err != nil {
		log.Fatal(err)
	}
	for closing := false; !closing; {
		select {
		case <-member.Closing:
			closing = true
			continue
		default:
		}
		message, isRecord := consumer.Poll(pollMS).(*kafka.Message)
		isRecord = isRecord && message.TopicPartition.Error == nil
		if isRecord {
			member.Consumed(message.TopicPartition.Partition, int64(message.TopicPartition.Offset))
		}
		if member.WantsToCommit(!isRecord) {
			commit()
		}
	}
	if err := consumer.Close(); err != nil {
		log.Fatal(err)
	}
	member.Closed()
}
