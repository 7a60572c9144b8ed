// Transactions with franz-go; what it is told and what it says is in transactions/scenario.py.
package main

import (
	"context"
	"errors"
	"log"
	"time"

	"barnabas/compat/transactions"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const copierTimeout = 15 * time.Second

func main() {
	transactions.Run(transactions.Client{
		NewProducer: newProducer, NewReader: newReader, Copy: copyInGroup,
		ErrorName: func(err error) string {
			var known *kerr.Error
			if errors.As(err, &known) {
				return known.Message
			}
			return "other"
		},
	})
}

type producer struct{ client *kgo.Client }

func newProducer(bootstrap, id string, timeout time.Duration) (transactions.Producer, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap), kgo.TransactionalID(id), kgo.TransactionTimeout(timeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err == nil {
		_, _, err = client.ProducerID(context.Background()) // otherwise it would wait for the first record
	}
	return &producer{client}, err
}

func (p *producer) Begin() error { return p.client.BeginTransaction() }
func (p *producer) Commit() error {
	return p.client.EndTransaction(context.Background(), kgo.TryCommit)
}
func (p *producer) Abort() error { return p.client.EndTransaction(context.Background(), kgo.TryAbort) }
func (p *producer) Close()       { p.client.Close() }

func (p *producer) Send(topic string, records []transactions.Record) error {
	ctx, cancel := context.WithTimeout(context.Background(), transactions.Timeout)
	defer cancel()
	var all []*kgo.Record
	for _, record := range records {
		all = append(all, &kgo.Record{Topic: topic, Partition: record.Partition, Value: []byte(record.Value)})
	}
	return p.client.ProduceSync(ctx, all...).FirstErr()
}

func (p *producer) SendOffsets(string, string, map[int32]int64) error {
	return errors.New("only a member of the group can")
}

func isolation(committed bool) kgo.Opt {
	if committed {
		return kgo.FetchIsolationLevel(kgo.ReadCommitted())
	}
	return kgo.FetchIsolationLevel(kgo.ReadUncommitted())
}

func newReader(bootstrap, topic string, partitions int32, committed bool, seen func(transactions.Record)) error {
	offsets := map[int32]kgo.Offset{}
	for partition := range partitions {
		offsets[partition] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		isolation(committed), kgo.FetchMaxWait(transactions.FetchWait))
	if err != nil {
		return err
	}
	go func() {
		for {
			client.PollFetches(context.Background()).EachRecord(func(record *kgo.Record) {
				seen(transactions.Record{Partition: record.Partition, Value: string(record.Value)})
			})
		}
	}()
	return nil
}

func copyInGroup(copier *transactions.Copier) error {
	options := []kgo.Opt{
		kgo.SeedBrokers(copier.Bootstrap), kgo.TransactionalID(copier.ID), kgo.TransactionTimeout(copierTimeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ConsumerGroup(copier.Group), kgo.ConsumeTopics(copier.Source), isolation(true),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequireStableFetchOffsets(),
		kgo.FetchMaxWait(transactions.FetchWait), kgo.SessionTimeout(copier.Session),
		kgo.HeartbeatInterval(copier.Session / 6),
	}
	if copier.Mode == "consumer" {
		options = append(options, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	} else {
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	for !copier.Ended() {
		if err := copySome(copier, session); err != nil {
			return err
		}
	}
	session.Close()
	return nil
}

// copySome is one transaction; the session reads again what was aborted.
func copySome(copier *transactions.Copier, session *kgo.GroupTransactSession) error {
	ctx, cancel := context.WithTimeout(context.Background(), transactions.FetchWait)
	fetches := session.PollRecords(ctx, transactions.CopyAtMost)
	cancel()
	fetches.EachError(func(_ string, partition int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			log.Printf("%s: partition %d: %v", copier.ID, partition, err)
		}
	})
	if fetches.NumRecords() == 0 {
		return nil
	}
	if err := session.Begin(); err != nil {
		return err
	}
	promise := kgo.AbortingFirstErrPromise(session.Client())
	fetches.EachRecord(func(record *kgo.Record) {
		session.Produce(context.Background(),
			&kgo.Record{Topic: copier.Target, Partition: record.Partition, Value: record.Value}, promise.Promise())
	})
	failed := promise.Err()
	if failed != nil {
		transactions.Say("failed", failed)
	}
	commit := kgo.TransactionEndTry(failed == nil && !copier.WantsToAbort())
	committed, err := session.End(context.Background(), commit)
	if err != nil {
		return err
	}
	transactions.Say(map[bool]string{true: "committed", false: "aborted"}[committed], fetches.NumRecords())
	return nil
}
