// Ways into a secured broker with franz-go; security/ways.py tells what is asked and what is said.
package main

import (
	"context"

	"barnabas/compat/ways"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func mechanism(way ways.Way) sasl.Mechanism {
	switch way.Mechanism {
	case "PLAIN":
		return plain.Auth{User: way.Username, Pass: way.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: way.Username, Pass: way.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: way.Username, Pass: way.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: way.Token}.AsMechanism()
	}
}

func connect(way ways.Way) (*kgo.Client, error) {
	encrypted, err := way.TLS()
	if err != nil {
		return nil, err
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(way.Bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.AllowAutoTopicCreation(), kgo.RequestRetries(2),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{way.Topic: {0: kgo.NewOffset().AtStart()}}),
	}
	if encrypted != nil {
		options = append(options, kgo.DialTLSConfig(encrypted))
	}
	if way.Mechanism != "" {
		options = append(options, kgo.SASL(mechanism(way)))
	}
	return kgo.NewClient(options...)
}

func values(way ways.Way) ([]string, error) {
	client, err := connect(way)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), ways.Timeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		return nil, ways.Unanswered{Err: err}
	}
	for _, value := range way.Values {
		record := &kgo.Record{Topic: way.Topic, Value: []byte(value)}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return nil, err
		}
	}
	var read []string
	for len(read) < len(way.Values) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		fetches.EachError(func(_ string, _ int32, failure error) { err = failure })
		if err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { read = append(read, string(record.Value)) })
	}
	return read, nil
}

func main() { ways.Run(values, ways.Meaning(kerr.TopicAuthorizationFailed)) }
