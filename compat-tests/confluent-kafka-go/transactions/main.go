// Transactions with confluent-kafka-go; what it is told and what it says is in transactions/scenario.py.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"barnabas/compat/transactions"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const (
	copierTimeout = 15 * time.Second
	pollMS        = 50
)

func main() {
	transactions.Run(transactions.Client{
		NewProducer: newProducer, NewReader: newReader, Copy: copyInGroup, ErrorName: errorName,
	})
}

// The error's code.
func errorName(err error) string {
	var told kafka.Error
	if errors.As(err, &told) {
		return fmt.Sprintf("code%d", told.Code())
	}
	return "other"
}

func settings(bootstrap string) kafka.ConfigMap {
	return kafka.ConfigMap{"bootstrap.servers": bootstrap, "log_level": 2,
		"reconnect.backoff.max.ms": int(transactions.Reconnect.Milliseconds())}
}

func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), transactions.Timeout)
}

type producer struct {
	*kafka.Producer
	bootstrap string
}

func newProducer(bootstrap, id string, timeout time.Duration) (transactions.Producer, error) {
	return newCopying(bootstrap, id, timeout)
}

func newCopying(bootstrap, id string, timeout time.Duration) (*producer, error) {
	config := settings(bootstrap)
	config["transactional.id"], config["transaction.timeout.ms"] = id, int(timeout.Milliseconds())
	config["linger.ms"] = 0
	made, err := kafka.NewProducer(&config)
	if err != nil {
		return nil, err
	}
	go func() { // what it says besides its answers
		for range made.Events() {
		}
	}()
	ctx, cancel := limited()
	defer cancel()
	return &producer{made, bootstrap}, made.InitTransactions(ctx)
}

func (p *producer) Begin() error { return p.BeginTransaction() }

func (p *producer) Commit() error {
	ctx, cancel := limited()
	defer cancel()
	return p.CommitTransaction(ctx)
}

func (p *producer) Abort() error {
	ctx, cancel := limited()
	defer cancel()
	return p.AbortTransaction(ctx)
}

func (p *producer) Close() { p.Producer.Close() }

func (p *producer) Send(topic string, records []transactions.Record) error {
	delivered := make(chan kafka.Event, len(records))
	for _, record := range records {
		where := kafka.TopicPartition{Topic: &topic, Partition: record.Partition}
		if err := p.Produce(&kafka.Message{TopicPartition: where, Value: []byte(record.Value)}, delivered); err != nil {
			return err
		}
	}
	var failure error
	for range records {
		event := <-delivered
		if err := event.(*kafka.Message).TopicPartition.Error; err != nil && failure == nil {
			failure = err
		}
	}
	return failure
}

func (p *producer) SendOffsets(group, topic string, offsets map[int32]int64) error {
	consumer, err := newConsumer(p.bootstrap, group, true, nil)
	if err != nil {
		return err
	}
	defer consumer.Close()
	return p.sendOffsets(consumer, topic, offsets)
}

func (p *producer) sendOffsets(consumer *kafka.Consumer, topic string, offsets map[int32]int64) error {
	var told []kafka.TopicPartition
	for partition, offset := range offsets {
		told = append(told, kafka.TopicPartition{Topic: &topic, Partition: partition, Offset: kafka.Offset(offset)})
	}
	member, err := consumer.GetConsumerGroupMetadata()
	if err != nil {
		return err
	}
	ctx, cancel := limited()
	defer cancel()
	return p.SendOffsetsToTransaction(ctx, told, member)
}

func newConsumer(bootstrap, group string, committed bool, more kafka.ConfigMap) (*kafka.Consumer, error) {
	config := settings(bootstrap)
	config["group.id"], config["auto.offset.reset"], config["enable.auto.commit"] = group, "earliest", false
	config["fetch.wait.max.ms"] = int(transactions.FetchWait.Milliseconds())
	config["isolation.level"] = map[bool]string{true: "read_committed", false: "read_uncommitted"}[committed]
	for name, value := range more {
		config[name] = value
	}
	return kafka.NewConsumer(&config)
}

func newReader(bootstrap, topic string, partitions int32, committed bool, seen func(transactions.Record)) error {
	consumer, err := newConsumer(bootstrap, "unused", committed, nil)
	if err != nil {
		return err
	}
	var all []kafka.TopicPartition
	for partition := range partitions {
		all = append(all, kafka.TopicPartition{Topic: &topic, Partition: partition, Offset: kafka.OffsetBeginning})
	}
	go func() {
		for {
			if message, isRecord := consumer.Poll(pollMS).(*kafka.Message); isRecord && message.TopicPartition.Error == nil {
				seen(transactions.Record{Partition: message.TopicPartition.Partition, Value: string(message.Value)})
			}
		}
	}()
	return consumer.Assign(all)
}

// Some records that have come, without waiting for more than one.
func some(consumer *kafka.Consumer) []*kafka.Message {
	var messages []*kafka.Message
	for wait := 2 * pollMS; len(messages) < transactions.CopyAtMost; wait = 0 {
		message, isRecord := consumer.Poll(wait).(*kafka.Message)
		if !isRecord {
			break
		}
		if message.TopicPartition.Error == nil {
			messages = append(messages, message)
		}
	}
	return messages
}

func copyInGroup(copier *transactions.Copier) error {
	more := kafka.ConfigMap{"group.protocol": "consumer"}
	if copier.Mode != "consumer" {
		more = kafka.ConfigMap{"session.timeout.ms": int(copier.Session.Milliseconds())}
	}
	consumer, err := newConsumer(copier.Bootstrap, copier.Group, true, more)
	if err != nil {
		return err
	}
	made, err := newCopying(copier.Bootstrap, copier.ID, copierTimeout)
	if err != nil {
		return err
	}
	// With a callback a rebalance waits for Poll, and what was polled before it is dropped there.
	rebalanced := false
	if err := consumer.SubscribeTopics([]string{copier.Source}, func(*kafka.Consumer, kafka.Event) error {
		rebalanced = true
		return nil
	}); err != nil {
		return err
	}
	for !copier.Ended() {
		rebalanced = false
		messages := some(consumer)
		if len(messages) == 0 {
			continue
		}
		first := map[int32]kafka.Offset{}
		for _, message := range messages {
			where := message.TopicPartition
			if _, found := first[where.Partition]; !found {
				first[where.Partition] = where.Offset
			}
		}
		if rebalanced { // in the middle: it is read again by whom it belongs to
			seekBack(consumer, copier.Source, first)
			continue
		}
		if err := made.Begin(); err != nil {
			return err
		}
		err := copyAll(copier, made, consumer, messages)
		aborts := copier.WantsToAbort()
		if err == nil && !aborts {
			if err = made.Commit(); err == nil {
				transactions.Say("committed", len(messages))
				continue
			}
		}
		if err != nil {
			transactions.Say("failed", err)
			if told := (kafka.Error{}); errors.As(err, &told) && told.IsFatal() {
				log.Fatal(err)
			}
		}
		if err := made.Abort(); err != nil {
			return err
		}
		seekBack(consumer, copier.Source, first)
		transactions.Say("aborted", len(messages))
	}
	return consumer.Close()
}

func copyAll(copier *transactions.Copier, made *producer, consumer *kafka.Consumer, messages []*kafka.Message) error {
	var records []transactions.Record
	following := map[int32]int64{}
	for _, message := range messages {
		where := message.TopicPartition
		records = append(records, transactions.Record{Partition: where.Partition, Value: string(message.Value)})
		following[where.Partition] = int64(where.Offset) + 1
	}
	if err := made.Send(copier.Target, records); err != nil {
		return err
	}
	return made.sendOffsets(consumer, copier.Source, following)
}

// Only what it still has can be read again by it.
func seekBack(consumer *kafka.Consumer, topic string, offsets map[int32]kafka.Offset) {
	assigned, err := consumer.Assignment()
	if err != nil {
		log.Print(err)
	}
	for _, mine := range assigned {
		if offset, found := offsets[mine.Partition]; found {
			where := kafka.TopicPartition{Topic: &topic, Partition: mine.Partition, Offset: offset}
			if _, err := consumer.SeekPartitions([]kafka.TopicPartition{where}); err != nil {
				log.Print(err)
			}
		}
	}
}
