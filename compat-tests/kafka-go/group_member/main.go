// A member of a group in kafka-go; the lines are those of groups/scenario.py.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"barnabas/compat/groupmember"
	"github.com/segmentio/kafka-go"
)

const maxFetchWait = 200 * time.Millisecond

func main() {
	member := groupmember.New()
	if member.Mode == "reader" {
		readInGroup(member)
	} else {
		consumeInGenerations(member)
	}
	member.Closed()
}

// With a ConsumerGroup, and a Reader for each partition of a generation.
func consumeInGenerations(member *groupmember.Member) {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: member.Group, Brokers: []string{member.Bootstrap}, Topics: []string{member.Topic},
		GroupBalancers: []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}, HeartbeatInterval: member.Heartbeat,
		SessionTimeout: member.Session, JoinGroupBackoff: member.Heartbeat, StartOffset: kafka.FirstOffset,
		ErrorLogger: kafka.LoggerFunc(log.Printf),
	})
	if err != nil {
		log.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-member.Closing
		if err := group.Close(); err != nil {
			log.Print(err)
		}
	}()
	for {
		generation, err := group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			break
		}
		if err != nil {
			log.Printf("%s: %v", member.Name, err)
			continue
		}
		for _, assigned := range generation.Assignments[member.Topic] {
			generation.Start(func(ctx context.Context) { consume(ctx, member, generation, assigned) })
		}
	}
	<-closed
}

// One partition until the generation ends; what was read is committed before another one begins.
func consume(ctx context.Context, member *groupmember.Member, generation *kafka.Generation, assigned kafka.PartitionAssignment) {
	if ctx.Err() != nil {
		return
	}
	partition := int32(assigned.ID)
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{member.Bootstrap}, Topic: member.Topic, Partition: assigned.ID, MaxWait: maxFetchWait,
	})
	defer reader.Close()
	if err := reader.SetOffset(assigned.Offset); err != nil {
		log.Fatal(err)
	}
	commit := func() {
		member.CommitPartition(partition, func(offsets map[int32]int64) error {
			return generation.CommitOffsets(map[string]map[int]int64{member.Topic: {assigned.ID: offsets[partition]}})
		})
	}
	member.Gained([]int32{partition})
	defer member.Lost([]int32{partition})
	defer commit()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, groupmember.Idle)
		message, err := reader.ReadMessage(limited)
		cancel()
		switch {
		case err == nil:
			member.Consumed(partition, message.Offset)
			if member.WantsToCommit(false) {
				commit()
			}
		case errors.Is(err, context.DeadlineExceeded):
			if member.WantsToCommit(true) {
				commit()
			}
		case ctx.Err() == nil:
			log.Printf("%s: partition %d: %v", member.Name, partition, err)
			return
		}
	}
}
