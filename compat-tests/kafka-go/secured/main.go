// Ways into a secured broker with kafka-go; security/ways.py tells what is asked and what is said.
package main

import (
	"context"
	"errors"
	"time"

	"barnabas/compat/ways"
	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

const maxFetchWait = 200 * time.Millisecond

func mechanism(way ways.Way) (sasl.Mechanism, error) {
	switch way.Mechanism {
	case "":
		return nil, nil
	case "PLAIN":
		return plain.Mechanism{Username: way.Username, Password: way.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, way.Username, way.Password)
	default:
		return scram.Mechanism(scram.SHA512, way.Username, way.Password)
	}
}

func values(way ways.Way) ([]string, error) {
	encrypted, err := way.TLS()
	if err != nil {
		return nil, err
	}
	authenticated, err := mechanism(way)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), ways.Timeout)
	defer cancel()
	dialer := &kafka.Dialer{Timeout: ways.Timeout, TLS: encrypted, SASLMechanism: authenticated}
	connection, err := dialer.DialContext(ctx, "tcp", way.Bootstrap)
	if err != nil {
		return nil, ways.Unanswered{Err: err}
	}
	// In TLS 1.3 a client learns of a refused certificate when it reads.
	_, err = connection.Brokers()
	connection.Close()
	if err != nil {
		return nil, ways.Unanswered{Err: err}
	}
	writer := &kafka.Writer{
		Addr: kafka.TCP(way.Bootstrap), Topic: way.Topic, BatchTimeout: time.Millisecond, AllowAutoTopicCreation: true,
		MaxAttempts: 20, Transport: &kafka.Transport{TLS: encrypted, SASL: authenticated},
	}
	defer writer.Close()
	for _, value := range way.Values {
		if err := write(ctx, writer, value); err != nil {
			return nil, err
		}
	}
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{way.Bootstrap}, Topic: way.Topic, MaxWait: maxFetchWait, Dialer: dialer})
	defer reader.Close()
	var read []string
	for len(read) < len(way.Values) {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		read = append(read, string(message.Value))
	}
	return read, nil
}

// It gives up on a topic that is only just being made.
func write(ctx context.Context, writer *kafka.Writer, value string) error {
	for {
		err := writer.WriteMessages(ctx, kafka.Message{Value: []byte(value)})
		if !errors.Is(err, kafka.UnknownTopicOrPartition) && !errors.Is(err, kafka.LeaderNotAvailable) {
			return err
		}
	}
}

func main() { ways.Run(values, ways.Meaning(kafka.TopicAuthorizationFailed)) }
