package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type outcome int

const (
	notCommitted outcome = iota // a commit was never asked for, or refused for certain
	perhaps                     // asked for, but the answer is not known
	committed
)

// transaction is what one process polled and sent between two commits.
type transaction struct {
	process  *process
	number   int64
	outcome  outcome
	seen     bool  // something of it was read under read_committed
	commitAt int64 // when the commit was about to be asked for; it cannot have been visible before
	doneAt   int64 // when the answer was there, 0 without one
	polls    []*poll
	sent     []*value
}

func (t *transaction) String() string {
	return fmt.Sprintf("transaction %d of %s", t.number, t.process.name)
}

// counts says whether what it sent has to be in the log.
func (t *transaction) counts() bool {
	return t.outcome == committed || t.outcome == perhaps && t.seen
}

// value is the text of a record. A text is sent once, so it identifies its record.
type value struct {
	text   string
	writer *transaction
	sentTo *partition
	acked  int64   // the offset that its writer was told, or -1
	places []place // where it was read
	read   bool    // under read_committed
}

func (v *value) String() string { return fmt.Sprintf("%q", v.text) }

type place struct {
	partition *partition
	offset    int64
}

type entry struct {
	offset int64
	value  *value
}

// partition holds the order of its committed values: the same for all who look.
type partition struct {
	name    string
	order   []entry
	indexes map[int64]int // by offset: how many offsets of the order are before it
	end     int64         // the highest offset that was read, or -1
}

// poll is what one poll returned of one partition.
type poll struct {
	process   *process
	time      int64
	txn       *transaction // of a worker; nil of a reader
	partition *partition
	entries   []entry
}

// step is one thing that a process did, in its order: it polled, or its positions began anew.
type step struct {
	polls     []*poll
	anew      bool
	beginning bool // anew, with the first record of each partition
	within    *transaction
}

type process struct {
	name        string
	uncommitted bool // reads what is not committed as well
	steps       []step
	txns        []*transaction
	open        *transaction
}

type history struct {
	processes  map[string]*process
	values     map[string]*value
	partitions map[string]*partition
	txns       []*transaction
	polls      []*poll // under read_committed
	dirtyPolls []*poll
	copies     [][2]string
	found      *findings
}

func (h *history) process(name string) *process {
	return getOr(h.processes, name, func() *process { return &process{name: name} })
}

func (h *history) partition(name string) *partition {
	return getOr(h.partitions, name, func() *partition { return &partition{name: name, end: -1} })
}

func (h *history) value(text string) *value {
	return getOr(h.values, text, func() *value { return &value{text: text, acked: -1} })
}

func getOr[V any](all map[string]*V, name string, make func() *V) *V {
	if found, exists := all[name]; exists {
		return found
	}
	made := make()
	all[name] = made
	return made
}

// newHistory takes each process's events in their order. An error is one of the recording, not of what was recorded.
func newHistory(events []Event) (*history, error) {
	h := &history{
		processes: map[string]*process{}, values: map[string]*value{}, partitions: map[string]*partition{},
		found: &findings{},
	}
	for i := range events {
		if err := h.add(&events[i]); err != nil {
			return nil, fmt.Errorf("%s of %s at %d: %w", events[i].What, events[i].Process, events[i].Time, err)
		}
	}
	h.settle()
	return h, nil
}

func (h *history) add(event *Event) error {
	process := h.process(event.Process)
	switch event.What {
	case copying:
		h.copies = append(h.copies, [2]string{event.From, event.To})
	case assigned:
		process.steps = append(process.steps, step{anew: true, beginning: event.Beginning})
	case polled:
		process.uncommitted = event.Isolation == uncommitted
		return h.poll(process, event, nil)
	case begun:
		return h.begin(process, event)
	case committing, ok, failed, unknown:
		return process.end(event)
	default:
		return fmt.Errorf("an event that is not known")
	}
	return nil
}

func (h *history) begin(process *process, event *Event) error {
	txn := &transaction{process: process, number: event.Txn}
	process.open = txn
	process.txns = append(process.txns, txn)
	h.txns = append(h.txns, txn)
	for _, key := range slices.Sorted(maps.Keys(event.Sent)) {
		for _, text := range event.Sent[key] {
			value := h.value(text)
			if value.writer != nil {
				return fmt.Errorf("%s is sent twice", value)
			}
			value.writer, value.sentTo = txn, h.partition(key)
			txn.sent = append(txn.sent, value)
		}
	}
	return h.poll(process, event, txn)
}

func (h *history) poll(process *process, event *Event, txn *transaction) error {
	var polls []*poll
	for _, key := range slices.Sorted(maps.Keys(event.Polled)) {
		records := event.Polled[key]
		if len(records.Offsets) != len(records.Values) {
			return fmt.Errorf("%d offsets of %d values", len(records.Offsets), len(records.Values))
		}
		one := &poll{process: process, time: event.Time, txn: txn, partition: h.partition(key)}
		for i, text := range records.Values {
			value := h.value(text)
			value.seenAt(place{one.partition, records.Offsets[i]})
			value.read = value.read || !process.uncommitted
			one.entries = append(one.entries, entry{records.Offsets[i], value})
		}
		polls = append(polls, one)
	}
	if process.uncommitted {
		h.dirtyPolls = append(h.dirtyPolls, polls...)
		return nil
	}
	h.polls = append(h.polls, polls...)
	if txn != nil {
		txn.polls = polls
	}
	process.steps = append(process.steps, step{polls: polls, within: txn})
	return nil
}

func (v *value) seenAt(where place) {
	if !slices.Contains(v.places, where) {
		v.places = append(v.places, where)
	}
}

func (p *process) end(event *Event) error {
	txn := p.open
	if txn == nil || txn.number != event.Txn {
		return fmt.Errorf("transaction %d is not open", event.Txn)
	}
	if event.What == committing {
		txn.outcome, txn.commitAt = perhaps, event.Time
		return nil
	}
	p.open = nil
	switch {
	case event.What == failed:
		txn.outcome = notCommitted
	case event.What == ok && txn.outcome != perhaps:
		return fmt.Errorf("transaction %d was not to be committed", event.Txn)
	case event.What == ok:
		txn.outcome, txn.doneAt = committed, event.Time
		return txn.acknowledge(event.Offsets)
	}
	return nil
}

// acknowledge takes the offsets of what was sent, which come in the order of sending.
func (t *transaction) acknowledge(offsets map[string][]int64) error {
	next := map[*partition]int{}
	for _, value := range t.sent {
		of := offsets[value.sentTo.name]
		at := next[value.sentTo]
		next[value.sentTo]++
		if of == nil {
			continue
		}
		if at >= len(of) {
			return fmt.Errorf("%d offsets of %s", len(of), value.sentTo.name)
		}
		value.acked = of[at]
	}
	return nil
}

// settle says which transactions were seen, and builds the order of each partition: from what was read, and from what
// those transactions that count were told of their own. An offset of which there is more than one opinion is a finding.
func (h *history) settle() {
	for _, value := range h.values {
		if value.read && value.writer != nil {
			value.writer.seen = true
		}
	}
	for _, poll := range h.polls {
		poll.partition.order = append(poll.partition.order, poll.entries...)
		for _, entry := range poll.entries {
			poll.partition.end = max(poll.partition.end, entry.offset)
		}
	}
	for _, txn := range h.txns {
		for _, value := range txn.sent {
			if txn.counts() && value.acked >= 0 {
				value.sentTo.order = append(value.sentTo.order, entry{value.acked, value})
			}
		}
	}
	for _, partition := range h.sortedPartitions() {
		h.settleOrder(partition)
	}
}

func (h *history) settleOrder(p *partition) {
	slices.SortFunc(p.order, func(a, b entry) int {
		if a.offset != b.offset {
			return cmp.Compare(a.offset, b.offset)
		}
		return strings.Compare(a.value.text, b.value.text)
	})
	p.order = slices.Compact(p.order)
	p.indexes = make(map[int64]int, len(p.order))
	for i, entry := range p.order {
		if i > 0 && p.order[i-1].offset == entry.offset {
			h.found.add(inconsistentOffsets, "%s offset %d: %s and %s", p.name, entry.offset, p.order[i-1].value, entry.value)
			continue
		}
		p.indexes[entry.offset] = len(p.indexes)
	}
}

func (h *history) sortedPartitions() []*partition {
	return slices.SortedFunc(maps.Values(h.partitions), func(a, b *partition) int { return strings.Compare(a.name, b.name) })
}

func (h *history) sortedProcesses() []*process {
	return slices.SortedFunc(maps.Values(h.processes), func(a, b *process) int { return strings.Compare(a.name, b.name) })
}
