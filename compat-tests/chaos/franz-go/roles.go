package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// feed sends records to the topic in, and sometimes aborts.
func (f *field) feed() {
	number := 0
	f.until(func() error {
		client, err := kgo.NewClient(f.options(f.producing()...)...)
		if err != nil {
			log.Fatal(err)
		}
		defer client.CloseAllowingRebalance()
		for f.closing.Err() == nil {
			number++
			if err := f.feedOnce(client, number); err != nil {
				return err
			}
			f.pause(time.Duration(f.number("batch")) * time.Second / time.Duration(f.number("rate")))
		}
		return nil
	})
}

func (f *field) feedOnce(client *kgo.Client, number int) error {
	abort := f.percent("abort")
	var records []*kgo.Record
	for i := range f.number("batch") {
		value := fmt.Sprintf("%d|%s", i, f.unique(number, abort))
		records = append(records, &kgo.Record{
			Topic: f.topic("in"), Partition: f.chance.Int32N(int32(f.partitions)), Value: []byte(value),
		})
	}
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	txn := f.begin(number, abort, nil, records)
	ctx, cancel := limited()
	defer cancel()
	for _, record := range records {
		client.Produce(ctx, record, txn.noteFailure)
	}
	if err := client.Flush(ctx); err != nil {
		txn.ended("fail", err)
		return err
	}
	if abort || txn.failure() != nil {
		err := client.EndTransaction(ctx, kgo.TryAbort)
		txn.ended("fail", errors.Join(err, txn.failure()))
		return err
	}
	txn.committing()
	if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		txn.ended("info", err)
		return err
	}
	txn.committed()
	return nil
}

// work copies in to mid and mid to out, as a member of the group.
func (f *field) work() {
	f.until(func() error {
		options := append(f.producing(),
			kgo.ConsumerGroup(f.arguments["group"]), kgo.ConsumeTopics(f.topic("in"), f.topic("mid")),
			kgo.Balancers(kgo.RangeBalancer()), kgo.SessionTimeout(f.milliseconds("session_ms")),
			kgo.HeartbeatInterval(f.milliseconds("session_ms")/10), kgo.RebalanceTimeout(f.milliseconds("rebalance_ms")),
			kgo.OnPartitionsAssigned(f.assigned), kgo.OnPartitionsRevoked(f.assigned), kgo.OnPartitionsLost(f.assigned))
		if f.arguments["protocol"] == "consumer" {
			options = append(options, kgo.ServerSideBalancer())
		}
		session, err := kgo.NewGroupTransactSession(f.options(options...)...)
		if err != nil {
			log.Fatal(err)
		}
		defer session.CloseAllowingRebalance()
		for number := 1; f.closing.Err() == nil; {
			ctx, cancel := context.WithTimeout(f.closing, idle)
			fetches := session.PollRecords(ctx, 1+f.chance.IntN(f.number("batch")))
			cancel()
			if fetches.NumRecords() == 0 {
				continue
			}
			if err := f.copy(session, number, fetches.Records()); err != nil {
				return err
			}
			number++
		}
		return nil
	})
}

// assigned: the positions begin anew, of those that stay too, since it may have given them up meanwhile.
func (f *field) assigned(context.Context, *kgo.Client, map[string][]int32) {
	f.history.add(event{What: "assign"})
}

func (f *field) copy(session *kgo.GroupTransactSession, number int, polled []*kgo.Record) error {
	abort := f.percent("abort")
	to := map[string]string{f.topic("in"): f.topic("mid"), f.topic("mid"): f.topic("out")}
	var copies []*kgo.Record
	for _, record := range polled {
		value := fmt.Sprintf("%s@%d|%s", f.key(record.Topic, record.Partition), record.Offset, f.unique(number, abort))
		copies = append(copies, &kgo.Record{
			Topic: to[record.Topic], Partition: int32((int64(record.Partition) + record.Offset) % int64(f.partitions)),
			Value: []byte(value),
		})
	}
	if err := session.Begin(); err != nil {
		return err
	}
	txn := f.begin(number, abort, polledOf(polled, f.key), copies)
	ctx, cancel := limited()
	defer cancel()
	for _, record := range copies {
		session.Produce(ctx, record, txn.noteFailure)
	}
	f.sometime("work_ms")
	if err := session.Client().Flush(ctx); err != nil {
		txn.ended("fail", err)
		return err
	}
	if failure := txn.failure(); abort || failure != nil {
		_, err := session.End(ctx, kgo.TryAbort)
		txn.ended("fail", errors.Join(failure, err))
		return err
	}
	txn.committing()
	committed, err := session.End(ctx, kgo.TryCommit)
	switch {
	case err != nil:
		txn.ended("info", err)
		return err
	case committed:
		txn.committed()
	default:
		// Not for certain: an outcome that the broker could not tell is reported like an abort.
		txn.ended("info", txn.failure())
	}
	return nil
}

// read notes all that it is shown of all partitions, to the end or to the offsets given.
func (f *field) read() {
	f.anew()
	assignment := map[string]map[int32]kgo.Offset{}
	for _, topic := range []string{"in", "mid", "out"} {
		partitions := map[int32]kgo.Offset{}
		for partition := range f.partitions {
			partitions[int32(partition)] = kgo.NewOffset().AtStart()
		}
		assignment[f.topic(topic)] = partitions
	}
	isolation := kgo.ReadCommitted()
	if f.arguments["isolation"] == "read_uncommitted" {
		isolation = kgo.ReadUncommitted()
	}
	client, err := kgo.NewClient(f.options(
		kgo.ConsumePartitions(assignment), kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords())...)
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseAllowingRebalance()
	ends := f.ends()
	seen := map[string]int{}
	f.history.add(event{What: "assign", Beginning: true})
	for f.closing.Err() == nil && (ends == nil || len(ends) > 0) {
		ctx, cancel := context.WithTimeout(f.closing, idle)
		fetches := client.PollRecords(ctx, 1000)
		cancel()
		var shown []*kgo.Record
		fetches.EachRecord(func(record *kgo.Record) {
			if !record.Attrs.IsControl() {
				shown = append(shown, record)
				seen[strings.TrimPrefix(record.Topic, f.arguments["prefix"])]++
			}
			if key := f.key(record.Topic, record.Partition); ends != nil && record.Offset+1 >= ends[key] {
				delete(ends, key)
			}
		})
		if len(shown) > 0 {
			f.history.add(event{What: "poll", Polled: polledOf(shown, f.key), Isolation: f.arguments["isolation"],
				Seen: maps.Clone(seen)})
		}
	}
}

// ends are the offsets at which a reader is done with each partition, nil where it reads until it is told to end.
func (f *field) ends() map[string]int64 {
	text, given := f.arguments["ends"]
	if !given {
		return nil
	}
	ends := map[string]int64{}
	for part := range strings.SplitSeq(text, ",") {
		key, number, _ := strings.Cut(part, ":")
		offset, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			log.Fatal(err)
		}
		if offset > 0 {
			ends[key] = offset
		}
	}
	return ends
}
