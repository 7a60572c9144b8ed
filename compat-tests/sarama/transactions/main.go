// Transactions with Sarama; what it is told and what it says is in transactions/scenario.py.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"barnabas/compat/transactions"
	"github.com/IBM/sarama"
)

const copierTimeout = 15 * time.Second

func main() {
	transactions.Run(transactions.Client{
		NewProducer: newProducer, NewReader: newReader, Copy: copyInGroup, ErrorName: errorName,
	})
}

// The broker's error codes; for what Sarama says by itself its state.
func errorName(err error) string {
	var code sarama.KError
	if errors.As(err, &code) {
		return fmt.Sprintf("code%d", int16(code))
	}
	var several sarama.ProducerErrors
	if errors.As(err, &several) {
		return errorName(several[0].Err)
	}
	for name, known := range map[string]error{
		"ErrTransactionNotReady": sarama.ErrTransactionNotReady, "ErrNonTransactedProducer": sarama.ErrNonTransactedProducer,
		"ErrTransitionNotAllowed": sarama.ErrTransitionNotAllowed,
	} {
		if errors.Is(err, known) {
			return name
		}
	}
	return "other"
}

type producer struct{ sarama.SyncProducer }

func newConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Metadata.Retry.Max = 100
	config.Metadata.Retry.Backoff = transactions.Reconnect
	return config
}

func newProducer(bootstrap, id string, timeout time.Duration) (transactions.Producer, error) {
	config := newConfig()
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Retry.Max = 20 // also of what is final
	config.Producer.Transaction.ID = id
	config.Producer.Transaction.Timeout = timeout
	config.Producer.Transaction.Retry.Max = 20
	config.Producer.Transaction.Retry.Backoff = transactions.Reconnect / 4
	made, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	return &producer{made}, err
}

func (p *producer) Begin() error  { return p.BeginTxn() }
func (p *producer) Commit() error { return p.CommitTxn() }
func (p *producer) Abort() error  { return p.AbortTxn() }

func (p *producer) Close() {
	if err := p.SyncProducer.Close(); err != nil {
		log.Print(err)
	}
}

func (p *producer) Send(topic string, records []transactions.Record) error {
	var messages []*sarama.ProducerMessage
	for _, record := range records {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: topic, Partition: record.Partition, Value: sarama.StringEncoder(record.Value)})
	}
	return p.SendMessages(messages)
}

func (p *producer) SendOffsets(group, topic string, offsets map[int32]int64) error {
	var all []*sarama.PartitionOffsetMetadata
	for partition, offset := range offsets {
		all = append(all, &sarama.PartitionOffsetMetadata{Partition: partition, Offset: offset})
	}
	return p.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{topic: all}, group)
}

func consumerConfig(committed bool) *sarama.Config {
	config := newConfig()
	config.Consumer.MaxWaitTime = transactions.FetchWait
	config.Consumer.Retry.Backoff = transactions.Reconnect
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	if committed {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	return config
}

func newReader(bootstrap, topic string, partitions int32, committed bool, seen func(transactions.Record)) error {
	consumer, err := sarama.NewConsumer([]string{bootstrap}, consumerConfig(committed))
	if err != nil {
		return err
	}
	for partition := range partitions {
		claimed, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		go func() {
			for message := range claimed.Messages() {
				seen(transactions.Record{Partition: message.Partition, Value: string(message.Value)})
			}
		}()
	}
	return nil
}

// Each partition has a goroutine of its own; they take turns with the producer.
type handler struct {
	copier   *transactions.Copier
	producer *producer
	mutex    sync.Mutex
	failed   chan error
}

func (h *handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			if err := h.copy(session, some(message, claim.Messages())); err != nil {
				h.failed <- err
				return err
			}
		}
	}
}

func some(first *sarama.ConsumerMessage, more <-chan *sarama.ConsumerMessage) []*sarama.ConsumerMessage {
	messages := []*sarama.ConsumerMessage{first}
	for len(messages) < transactions.CopyAtMost {
		select {
		case message, open := <-more:
			if !open {
				return messages
			}
			messages = append(messages, message)
		default:
			return messages
		}
	}
	return messages
}

// A claim cannot go back, so what was aborted is done again at once.
func (h *handler) copy(session sarama.ConsumerGroupSession, messages []*sarama.ConsumerMessage) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for session.Context().Err() == nil {
		if err := h.producer.Begin(); err != nil {
			return err
		}
		err := h.add(session, messages)
		aborts := h.copier.WantsToAbort()
		if err == nil && !aborts {
			if err = h.producer.Commit(); err == nil {
				transactions.Say("committed", len(messages))
				return nil
			}
		}
		if err != nil {
			transactions.Say("failed", err)
		}
		if err := h.producer.Abort(); err != nil {
			return err
		}
		transactions.Say("aborted", len(messages))
	}
	return nil
}

func (h *handler) add(session sarama.ConsumerGroupSession, messages []*sarama.ConsumerMessage) error {
	var records []transactions.Record
	for _, message := range messages {
		records = append(records, transactions.Record{Partition: message.Partition, Value: string(message.Value)})
	}
	if err := h.producer.Send(h.copier.Target, records); err != nil {
		return err
	}
	last := messages[len(messages)-1]
	offsets := []*sarama.PartitionOffsetMetadata{{Partition: last.Partition, Offset: last.Offset + 1}}
	return h.producer.AddOffsetsToTxnWithGroupMetadata(
		map[string][]*sarama.PartitionOffsetMetadata{h.copier.Source: offsets},
		&sarama.ConsumerGroupMetadata{
			GroupID: h.copier.Group, MemberID: session.MemberID(), GenerationID: session.GenerationID()})
}

func copyInGroup(copier *transactions.Copier) error {
	made, err := newProducer(copier.Bootstrap, copier.ID, copierTimeout)
	if err != nil {
		return err
	}
	config := consumerConfig(true)
	config.Consumer.Group.Session.Timeout = copier.Session
	config.Consumer.Group.Heartbeat.Interval = copier.Session / 6
	group, err := sarama.NewConsumerGroup([]string{copier.Bootstrap}, copier.Group, config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-copier.Closing
		cancel()
	}()
	copying := &handler{copier: copier, producer: made.(*producer), failed: make(chan error, 100)}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{copier.Source}, copying); err != nil && ctx.Err() == nil {
			log.Printf("%s: %v", copier.ID, err)
			time.Sleep(transactions.Reconnect)
		}
		select {
		case err := <-copying.failed:
			return err
		default:
		}
	}
	made.Close()
	return group.Close()
}
