// A member of a group in franz-go; the lines are those of groups/scenario.py.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"barnabas/compat/groupmember"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const commitTimeout = 10 * time.Second

func main() {
	member := groupmember.New()
	options := []kgo.Opt{
		kgo.SeedBrokers(member.Bootstrap), kgo.ConsumerGroup(member.Group), kgo.ConsumeTopics(member.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(member.Session), kgo.HeartbeatInterval(member.Heartbeat),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
			member.Gained(assigned[member.Topic])
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, client *kgo.Client, revoked map[string][]int32) {
			commit(member, client)
			member.Lost(revoked[member.Topic])
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			member.Lost(lost[member.Topic])
		}),
	}
	if member.Instance != "" {
		options = append(options, kgo.InstanceID(member.Instance))
	}
	switch member.Mode {
	case "classic":
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	case "cooperative":
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case "consumer":
		options = append(options, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	for !ended(member) {
		ctx, cancel := context.WithTimeout(context.Background(), groupmember.Idle)
		fetches := client.PollRecords(ctx, groupmember.CommitAt)
		cancel()
		fetches.EachError(func(_ string, partition int32, err error) {
			if !errors.Is(err, context.DeadlineExceeded) {
				log.Printf("%s: partition %d: %v", member.Name, partition, err)
			}
		})
		fetches.EachRecord(func(record *kgo.Record) { member.Consumed(record.Partition, record.Offset) })
		if member.WantsToCommit(fetches.NumRecords() == 0) {
			commit(member, client)
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	member.Closed()
}

func ended(member *groupmember.Member) bool {
	select {
	case <-member.Closing:
		return true
	default:
		return false
	}
}

func commit(member *groupmember.Member, client *kgo.Client) {
	member.Commit(func(offsets map[int32]int64) (failed error) {
		of := map[int32]kgo.EpochOffset{}
		for partition, offset := range offsets {
			of[partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
		}
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		defer cancel()
		client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{member.Topic: of},
			func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
				failed = err
				if err != nil {
					return
				}
				for _, topic := range response.Topics {
					for _, partition := range topic.Partitions {
						if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
							failed = err
						}
					}
				}
			})
		return failed
	})
}
