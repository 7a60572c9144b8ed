// Ways into a secured broker with Sarama; security/ways.py tells what is asked and what is said.
package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"time"

	"barnabas/compat/ways"
	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// Sarama leaves SCRAM to another package.
type conversation struct {
	hash func() hash.Hash
	*scram.ClientConversation
}

func (c *conversation) Begin(user, password, authorization string) error {
	client, err := scram.HashGeneratorFcn(c.hash).NewClient(user, password, authorization)
	if err == nil {
		c.ClientConversation = client.NewConversation()
	}
	return err
}

type token string

func (t token) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(t)}, nil
}

func settings(way ways.Way) (*sarama.Config, error) {
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Metadata.Retry.Max = 20 // until a topic is made that is wanted first
	config.Metadata.Retry.Backoff = 50 * time.Millisecond
	encrypted, err := way.TLS()
	if err != nil {
		return nil, err
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = encrypted != nil, encrypted
	if way.Mechanism != "" {
		config.Net.SASL.Enable = true
		config.Net.SASL.Mechanism = sarama.SASLMechanism(way.Mechanism)
		config.Net.SASL.User, config.Net.SASL.Password = way.Username, way.Password
		config.Net.SASL.TokenProvider = token(way.Token)
		hashes := map[string]func() hash.Hash{"SCRAM-SHA-256": sha256.New, "SCRAM-SHA-512": sha512.New}
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient {
			return &conversation{hash: hashes[way.Mechanism]}
		}
	}
	return config, nil
}

func values(way ways.Way) ([]string, error) {
	config, err := settings(way)
	if err != nil {
		return nil, err
	}
	client, err := sarama.NewClient([]string{way.Bootstrap}, config)
	if err != nil {
		return nil, ways.Unanswered{Err: err}
	}
	defer client.Close()
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		return nil, err
	}
	for _, value := range way.Values {
		message := &sarama.ProducerMessage{Topic: way.Topic, Value: sarama.StringEncoder(value)}
		if _, _, err := producer.SendMessage(message); err != nil {
			return nil, err
		}
	}
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	partition, err := consumer.ConsumePartition(way.Topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.AsyncClose()
	var read []string
	for deadline := time.After(ways.Timeout); len(read) < len(way.Values); {
		select {
		case message := <-partition.Messages():
			read = append(read, string(message.Value))
		case <-deadline:
			return nil, fmt.Errorf("only %d values", len(read))
		}
	}
	return read, nil
}

func main() { ways.Run(values, ways.Meaning(sarama.ErrTopicAuthorizationFailed)) }
