package main

import (
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transaction is one in the history, from its beginning on.
type transaction struct {
	field   *field
	number  int
	abort   bool
	records []*kgo.Record
	mutex   sync.Mutex
	failed  error
}

func (f *field) begin(number int, abort bool, polled map[string]*records, records []*kgo.Record) *transaction {
	sent := map[string][]string{}
	for _, record := range records {
		key := f.key(record.Topic, record.Partition)
		sent[key] = append(sent[key], string(record.Value))
	}
	f.history.add(event{What: "begin", Txn: number, Polled: polled, Sent: sent})
	return &transaction{field: f, number: number, abort: abort, records: records}
}

func mark(abort bool) string {
	if abort {
		return "aborted"
	}
	return "committed"
}

// unique is the end of a value's text: whose it is, of which transaction, and whether it is to be aborted.
func (f *field) unique(number int, abort bool) string {
	return fmt.Sprintf("%s:%d|%s", f.history.process, number, mark(abort))
}

func (t *transaction) noteFailure(_ *kgo.Record, err error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if err != nil && t.failed == nil {
		t.failed = err
	}
}

func (t *transaction) failure() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.failed
}

func (t *transaction) committing() { t.field.history.add(event{What: "commit", Txn: t.number}) }

func (t *transaction) ended(what string, err error) {
	e := event{What: what, Txn: t.number}
	if err != nil {
		e.Error = err.Error()
	}
	t.field.history.add(e)
}

func (t *transaction) committed() {
	offsets := map[string][]int64{}
	for _, record := range t.records {
		key := t.field.key(record.Topic, record.Partition)
		offsets[key] = append(offsets[key], record.Offset)
	}
	t.field.history.add(event{What: "ok", Txn: t.number, Offsets: offsets})
}
