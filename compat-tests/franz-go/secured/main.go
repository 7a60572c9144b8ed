// Ways into a secured broker with franz-go; security/ways.py tells what is asked and what is said.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const timeout = 30 * time.Second

type way struct {
	Name, Bootstrap, Protocol, Topic     string
	Values                               []string
	CA, Certificate, Key                 string
	Mechanism, Username, Password, Token string
}

type outcome struct {
	Way     string `json:"way"`
	Outcome string `json:"outcome"`
	Detail  any    `json:"detail"`
}

func tlsConfig(w way) (*tls.Config, error) {
	authority, err := os.ReadFile(w.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if w.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(w.Certificate, w.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func mechanism(w way) sasl.Mechanism {
	switch w.Mechanism {
	case "PLAIN":
		return plain.Auth{User: w.Username, Pass: w.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: w.Username, Pass: w.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: w.Username, Pass: w.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: w.Token}.AsMechanism()
	}
}

func connect(w way) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(w.Bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.AllowAutoTopicCreation(), kgo.RequestRetries(2),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.Topic: {0: kgo.NewOffset().AtStart()}}),
	}
	if strings.HasSuffix(w.Protocol, "SSL") {
		config, err := tlsConfig(w)
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if w.Mechanism != "" {
		options = append(options, kgo.SASL(mechanism(w)))
	}
	return kgo.NewClient(options...)
}

func produceAndConsume(w way) ([]string, error) {
	client, err := connect(w)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		return nil, refused{err}
	}
	for _, value := range w.Values {
		record := &kgo.Record{Topic: w.Topic, Value: []byte(value)}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return nil, err
		}
	}
	var values []string
	for len(values) < len(w.Values) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		fetches.EachError(func(_ string, _ int32, failure error) { err = failure })
		if err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
	}
	return values, nil
}

// Whatever ended it before the first request was answered.
type refused struct{ error }

func main() {
	content, err := os.ReadFile(os.Args[1])
	var ways []way
	if err == nil {
		err = json.Unmarshal(content, &ways)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	var running sync.WaitGroup
	var lock sync.Mutex
	for _, w := range ways {
		running.Add(1)
		go func() {
			defer running.Done()
			told := outcome{Way: w.Name, Outcome: "values"}
			values, err := produceAndConsume(w)
			told.Detail = values
			if err != nil {
				told.Outcome, told.Detail = "error", err.Error()
				if errors.As(err, &refused{}) {
					told.Outcome = "refused"
				}
				if errors.Is(err, kerr.TopicAuthorizationFailed) {
					told.Outcome = "denied"
				}
			}
			lock.Lock()
			defer lock.Unlock()
			_ = json.NewEncoder(os.Stdout).Encode(told)
		}()
	}
	running.Wait()
}
