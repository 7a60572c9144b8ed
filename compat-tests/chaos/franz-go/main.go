// The part of franz-go in the chaos test: `franzgo NAME=VALUE…`; ../README.md says what each role does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	next       = ".next" // what a process that goes on with new clients appends to its name, and a number
	callAtMost = 20 * time.Second
	idle       = 200 * time.Millisecond
	retryAfter = 200 * time.Millisecond
	fenced     = 3 // the exit code of one whose place another has taken
)

type field struct {
	arguments  map[string]string
	history    *history
	chance     *rand.Rand
	partitions int
	sessions   int
	closing    context.Context
}

func main() {
	f := &field{arguments: map[string]string{}}
	for _, argument := range os.Args[1:] {
		name, value, _ := strings.Cut(argument, "=")
		f.arguments[name] = value
	}
	seed := uint64(f.number("seed"))
	f.chance = rand.New(rand.NewPCG(seed, seed))
	f.partitions = f.number("partitions")
	f.history = openHistory(f.arguments["history"])
	closing, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	f.closing = closing
	go f.endWithInput(stop)
	switch role := f.arguments["role"]; role {
	case "worker":
		f.work()
	case "feeder":
		f.feed()
	case "reader":
		f.read()
	default:
		log.Fatalf("no role %q", role)
	}
}

func (f *field) endWithInput(stop func()) {
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
}

func (f *field) number(name string) int {
	value, err := strconv.Atoi(f.arguments[name])
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return value
}

func (f *field) milliseconds(name string) time.Duration {
	return time.Duration(f.number(name)) * time.Millisecond
}

// percent is true in so many of a hundred cases as the argument says.
func (f *field) percent(name string) bool { return f.chance.IntN(100) < f.number(name) }

func (f *field) topic(name string) string { return f.arguments["prefix"] + name }

// key is a partition's name in the history: without the prefix.
func (f *field) key(topic string, partition int32) string {
	return fmt.Sprintf("%s/%d", strings.TrimPrefix(topic, f.arguments["prefix"]), partition)
}

// anew names the process whose events follow: a new one as far as the history is concerned.
func (f *field) anew() string {
	f.history.process = f.arguments["name"]
	if f.sessions > 0 {
		f.history.process += next + strconv.Itoa(f.sessions)
	}
	f.sessions++
	return f.history.process
}

func (f *field) options(more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{
		kgo.SeedBrokers(f.arguments["bootstrap"]), kgo.RetryTimeout(callAtMost), kgo.MetadataMinAge(retryAfter),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(idle), kgo.RequestTimeoutOverhead(5 * time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, more...)
}

func (f *field) producing() []kgo.Opt {
	return []kgo.Opt{
		kgo.TransactionalID(f.arguments["id"]), kgo.TransactionTimeout(f.milliseconds("txn_timeout_ms")),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
	}
}

// until runs sessions, each with clients of its own, until the process is to end. It ends itself when another one has
// taken its place.
func (f *field) until(session func() error) {
	for f.closing.Err() == nil {
		f.anew()
		err := session()
		if err != nil {
			log.Printf("%s: %v", f.history.process, err)
		}
		if errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) {
			os.Exit(fenced)
		}
		if err != nil {
			f.pause(retryAfter)
		}
	}
}

// pause returns at once where the process is to end.
func (f *field) pause(duration time.Duration) {
	select {
	case <-time.After(duration):
	case <-f.closing.Done():
	}
}

func (f *field) sometime(atMost string) {
	if most := f.number(atMost); most > 0 {
		f.pause(time.Duration(f.chance.IntN(most)) * time.Millisecond)
	}
}

func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), callAtMost)
}
