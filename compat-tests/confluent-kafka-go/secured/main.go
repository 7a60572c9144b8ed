// Ways into a secured broker with confluent-kafka-go; security/ways.py tells what is asked and what is said.
package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"barnabas/compat/ways"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

const poll = 100 * time.Millisecond

// In TLS 1.3 a client learns that its certificate is refused by the end of its connection.
var refusals = []kafka.ErrorCode{
	kafka.ErrAuthentication, kafka.ErrSsl, kafka.ErrSaslAuthenticationFailed, kafka.ErrAllBrokersDown}

func settings(way ways.Way) *kafka.ConfigMap {
	config := kafka.ConfigMap{
		"bootstrap.servers": way.Bootstrap, "security.protocol": strings.ToLower(way.Protocol), "log_level": 0}
	for name, value := range map[string]string{
		"ssl.ca.location": way.CA, "ssl.certificate.location": way.Certificate, "ssl.key.location": way.Key,
		"sasl.mechanism": way.Mechanism, "sasl.username": way.Username, "sasl.password": way.Password,
	} {
		if value != "" {
			config[name] = value
		}
	}
	return &config
}

// What both kinds of clients have.
type client interface {
	SetOAuthBearerToken(kafka.OAuthBearerToken) error
}

// An event other than a record: a request for a token, or an error.
func handle(asking client, way ways.Way, event kafka.Event) error {
	switch told := event.(type) {
	case kafka.OAuthBearerTokenRefresh:
		return asking.SetOAuthBearerToken(kafka.OAuthBearerToken{
			TokenValue: way.Token, Expiration: time.Now().Add(10 * time.Minute)})
	case kafka.Error:
		if slices.Contains(refusals, told.Code()) {
			return told
		}
	}
	return nil
}

func produce(way ways.Way) error {
	config := settings(way)
	(*config)["linger.ms"] = 0
	producer, err := kafka.NewProducer(config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, value := range way.Values {
		message := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &way.Topic}, Value: []byte(value)}
		if err := producer.Produce(message, nil); err != nil {
			return err
		}
	}
	deadline := time.After(ways.Timeout)
	for delivered := 0; delivered < len(way.Values); {
		select {
		case event := <-producer.Events():
			if message, isRecord := event.(*kafka.Message); isRecord {
				if message.TopicPartition.Error != nil {
					return message.TopicPartition.Error
				}
				delivered++
			} else if err := handle(producer, way, event); err != nil {
				return err
			}
		case <-deadline:
			return errors.New("not delivered")
		}
	}
	return nil
}

func values(way ways.Way) ([]string, error) {
	if err := produce(way); err != nil {
		return nil, err
	}
	config := settings(way)
	(*config)["group.id"] = "secured-" + way.Name
	consumer, err := kafka.NewConsumer(config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	start := kafka.TopicPartition{Topic: &way.Topic, Offset: kafka.OffsetBeginning}
	if err := consumer.Assign([]kafka.TopicPartition{start}); err != nil {
		return nil, err
	}
	var read []string
	for deadline := time.Now().Add(ways.Timeout); len(read) < len(way.Values); {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("only %d values", len(read))
		}
		event := consumer.Poll(int(poll.Milliseconds()))
		if message, isRecord := event.(*kafka.Message); isRecord {
			read = append(read, string(message.Value))
		} else if err := handle(consumer, way, event); err != nil {
			return nil, err
		}
	}
	return read, nil
}

func meaning(err error) string {
	var told kafka.Error
	switch {
	case errors.As(err, &told) && told.Code() == kafka.ErrTopicAuthorizationFailed:
		return ways.Denied
	case errors.As(err, &told) && slices.Contains(refusals, told.Code()):
		return ways.Refused
	}
	return ways.Other
}

func main() { ways.Run(values, meaning) }
