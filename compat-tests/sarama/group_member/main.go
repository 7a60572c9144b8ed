// A member of a group in Sarama; the lines are those of groups/scenario.py.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"barnabas/compat/groupmember"
	"github.com/IBM/sarama"
)

// Each partition has a goroutine of its own; what it has read it commits before it gives the partition back.
type handler struct {
	member *groupmember.Member
	admin  sarama.ClusterAdmin
	mutex  sync.Mutex // of commits
}

func (h *handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	owned := []int32{claim.Partition()}
	h.member.Gained(owned)
	defer h.member.Lost(owned)
	defer h.commit(session, claim.Partition())
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			h.member.Consumed(message.Partition, message.Offset)
			if h.member.WantsToCommit(false) {
				h.commit(session, message.Partition)
			}
		case <-time.After(groupmember.Idle):
			if h.member.WantsToCommit(true) {
				h.commit(session, claim.Partition())
			}
		}
	}
}

// Sarama does not say what became of a commit, so the broker is asked.
func (h *handler) commit(session sarama.ConsumerGroupSession, partition int32) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.member.CommitPartition(partition, func(offsets map[int32]int64) error {
		session.MarkOffset(h.member.Topic, partition, offsets[partition], "")
		session.Commit()
		stored, err := h.admin.ListConsumerGroupOffsets(h.member.Group, map[string][]int32{h.member.Topic: {partition}})
		if err != nil {
			return err
		}
		if block := stored.GetBlock(h.member.Topic, partition); block == nil || block.Offset != offsets[partition] {
			return fmt.Errorf("the broker has %v", block)
		}
		return nil
	})
}

func main() {
	member := groupmember.New()
	config := sarama.NewConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Session.Timeout = member.Session
	config.Consumer.Group.Heartbeat.Interval = member.Heartbeat
	config.Consumer.Group.InstanceId = member.Instance
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Rebalance.GroupStrategies = map[string][]sarama.BalanceStrategy{
		"classic":     {sarama.NewBalanceStrategyRange()},
		"cooperative": {sarama.NewBalanceStrategyCooperativeSticky()},
	}[member.Mode]
	admin, err := sarama.NewClusterAdmin([]string{member.Bootstrap}, config)
	if err != nil {
		log.Fatal(err)
	}
	group, err := sarama.NewConsumerGroup([]string{member.Bootstrap}, member.Group, config)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for err := range group.Errors() {
			log.Printf("%s: %v", member.Name, err)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-member.Closing
		cancel()
	}()
	consumer := &handler{member: member, admin: admin}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{member.Topic}, consumer); err != nil && ctx.Err() == nil {
			log.Printf("%s: %v", member.Name, err)
			time.Sleep(member.Heartbeat)
		}
	}
	if err := group.Close(); err != nil {
		log.Fatal(err)
	}
	member.Closed()
}
