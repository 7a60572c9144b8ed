// Package transactions is what the programs written in Go share: the lines of scenario.py, and what a reader has seen.
package transactions

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	Timeout    = 60 * time.Second
	Reconnect  = 200 * time.Millisecond
	FetchWait  = 100 * time.Millisecond
	CopyAtMost = 10 // records in one transaction

	abortEvery  = 4 // of a copier's transactions one is aborted and done again
	seenTimeout = 20 * time.Second
	quiet       = 100 * time.Millisecond // after this long without a record there are no more
	pause       = 5 * time.Millisecond
)

var isolations = []string{"read_committed", "read_uncommitted"}

// Record is the value of a partition.
type Record struct {
	Partition int32
	Value     string
}

// Producer is a client's, with a transactional id.
type Producer interface {
	Begin() error
	Send(topic string, records []Record) error // returns when all are acknowledged
	SendOffsets(group, topic string, offsets map[int32]int64) error
	Commit() error
	Abort() error
	Close()
}

// Client makes what the program is told of. A reader calls `seen` for each record, from any goroutine.
type Client struct {
	NewProducer func(bootstrap, id string, timeout time.Duration) (Producer, error)
	NewReader   func(bootstrap, topic string, partitions int32, committed bool, seen func(Record)) error
	Copy        func(copier *Copier) error
	ErrorName   func(error) string
}

// Copier is told by the program's arguments what to do.
type Copier struct {
	Bootstrap, ID, Group, Source, Target, Mode string
	Session                                    time.Duration
	Closing                                    chan struct{} // closed at the end of standard input

	transactions int
}

// WantsToAbort is asked once for each transaction.
func (c *Copier) WantsToAbort() bool {
	c.transactions++
	return c.transactions%abortEvery == 0
}

// Ended tells whether standard input has ended.
func (c *Copier) Ended() bool {
	select {
	case <-c.Closing:
		return true
	default:
		return false
	}
}

func Say(words ...any) {
	text := strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(words...)), "\n", " ")
	_, _ = os.Stdout.WriteString(text + "\n")
}

// Run is the whole program.
func Run(client Client) {
	if len(os.Args) == 2 {
		(&program{client: client, bootstrap: os.Args[1], producers: map[string]Producer{}}).run()
		return
	}
	session, err := strconv.Atoi(os.Args[7])
	if err != nil {
		log.Fatal(err)
	}
	copier := &Copier{
		Bootstrap: os.Args[1], ID: os.Args[2], Group: os.Args[3], Source: os.Args[4], Target: os.Args[5], Mode: os.Args[6],
		Session: time.Duration(session) * time.Millisecond, Closing: make(chan struct{}),
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(copier.Closing)
	}()
	if err := client.Copy(copier); err != nil {
		log.Fatal(err)
	}
}

type reader struct {
	mutex   sync.Mutex
	records []Record
	told    int
}

func (r *reader) count() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.records)
}

type program struct {
	client    Client
	bootstrap string
	producers map[string]Producer
	readers   []*reader
}

func (p *program) run() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		answer, err := p.do(words[0], words[1:])
		if err != nil {
			Say("error", p.client.ErrorName(err), err)
		} else {
			Say("ok", strings.Join(answer, " "))
		}
	}
}

func (p *program) do(command string, words []string) ([]string, error) {
	switch command {
	case "producer":
		producer, err := p.client.NewProducer(p.bootstrap, words[1], time.Duration(number(words[2]))*time.Millisecond)
		if err == nil {
			p.producers[words[0]] = producer
		}
		return nil, err
	case "begin":
		return nil, p.producers[words[0]].Begin()
	case "commit":
		return nil, p.producers[words[0]].Commit()
	case "abort":
		return nil, p.producers[words[0]].Abort()
	case "close":
		p.producers[words[0]].Close()
		return nil, nil
	case "send":
		return nil, p.send(words)
	case "offsets":
		offsets := map[int32]int64{}
		for entry := range strings.SplitSeq(words[3], ",") {
			partition, offset, _ := strings.Cut(entry, ":")
			offsets[int32(number(partition))] = number(offset)
		}
		return nil, p.producers[words[0]].SendOffsets(words[1], words[2], offsets)
	case "read":
		return nil, p.read(words[0], int32(number(words[1])))
	case "seen":
		return p.seen([]int{int(number(words[0])), int(number(words[1]))}), nil
	}
	return nil, errors.New("no such command")
}

func (p *program) send(words []string) error {
	partitions, first, count := number(words[2]), number(words[3]), number(words[4])
	var records []Record
	for i := first; i < first+count; i++ {
		records = append(records, Record{int32(i % partitions), strconv.FormatInt(i, 10)})
	}
	return p.producers[words[0]].Send(words[1], records)
}

func (p *program) read(topic string, partitions int32) error {
	for _, isolation := range isolations {
		reader := &reader{}
		p.readers = append(p.readers, reader)
		seen := func(record Record) {
			reader.mutex.Lock()
			defer reader.mutex.Unlock()
			reader.records = append(reader.records, record)
		}
		if err := p.client.NewReader(p.bootstrap, topic, partitions, isolation == isolations[0], seen); err != nil {
			return err
		}
	}
	return nil
}

// seen waits until each has read so many or time is up, and no more come.
func (p *program) seen(counts []int) []string {
	enough := func() bool { return p.readers[0].count() >= counts[0] && p.readers[1].count() >= counts[1] }
	for deadline := time.Now().Add(seenTimeout); !enough() && time.Now().Before(deadline); {
		time.Sleep(pause)
	}
	known, since := []int{-1, -1}, time.Now()
	for time.Since(since) < quiet {
		if now := []int{p.readers[0].count(), p.readers[1].count()}; !slices.Equal(now, known) {
			known, since = now, time.Now()
		}
		time.Sleep(pause)
	}
	var out []string
	for i, reader := range p.readers {
		reader.mutex.Lock()
		for _, record := range reader.records[reader.told:known[i]] {
			out = append(out, fmt.Sprintf("%s:%d:%s", isolations[i], record.Partition, record.Value))
		}
		reader.told = known[i]
		reader.mutex.Unlock()
	}
	return out
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return value
}
