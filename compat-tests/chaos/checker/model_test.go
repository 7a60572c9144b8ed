package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// model is a broker that keeps its promises: partitions with transactions that interleave, and readers that see what is
// committed up to the first open transaction. It records what its clients would.
type model struct {
	chance  *rand.Rand
	now     int64
	events  []Event
	logs    map[string][]modelRecord
	workers []*modelWorker
	group   map[string]int // committed positions in what is copied
	readers map[string]map[string]int
}

type modelRecord struct {
	value  string
	writer *modelWorker
	txn    int64
	state  outcome // perhaps: open
}

type modelWorker struct {
	name      string
	txn       int64
	open      bool
	abort     bool
	positions map[string]int // that its commit sets
	sent      map[string][]string
	offsets   map[string][]int64
}

const (
	modelPartitions = 3
	modelFeeders    = 2
	modelWorkers    = 3 // each owns one partition of in
)

func newModel(seed uint64) *model {
	m := &model{chance: rand.New(rand.NewPCG(seed, 1)), logs: map[string][]modelRecord{}, group: map[string]int{},
		readers: map[string]map[string]int{"r": {}, "s": {}}}
	for i := range modelFeeders {
		m.workers = append(m.workers, &modelWorker{name: fmt.Sprintf("feeder%d", i)})
	}
	for i := range modelWorkers {
		m.workers = append(m.workers, &modelWorker{name: fmt.Sprintf("worker%d", i)})
	}
	m.add(Event{What: copying, From: "in", To: "out"})
	for reader := range m.readers {
		m.add(Event{Process: reader, What: assigned, Beginning: true})
	}
	return m
}

func (m *model) add(event Event) {
	m.now++
	event.Time = m.now
	m.events = append(m.events, event)
}

// live does so many steps, ends all that is open, and lets everybody read to the end.
func (m *model) live(steps int) []Event {
	for range steps {
		if reader := m.chance.IntN(4); reader == 0 {
			m.read([]string{"r", "s"}[m.chance.IntN(2)], 1+m.chance.IntN(5))
			continue
		}
		m.step(m.chance.IntN(len(m.workers)))
	}
	for number, worker := range m.workers {
		if worker.open {
			m.finish(worker, false)
		}
		if number >= modelFeeders {
			for m.beginCopy(worker, number-modelFeeders) {
				worker.abort = false
				m.finish(worker, false)
			}
		}
	}
	for reader := range m.readers {
		for range modelPartitions * 2 {
			m.read(reader, 1<<20)
		}
	}
	return m.events
}

func (m *model) step(number int) {
	worker := m.workers[number]
	switch {
	case worker.open:
		m.finish(worker, m.chance.IntN(10) == 0)
	case number < modelFeeders:
		m.beginFeed(worker)
	default:
		m.beginCopy(worker, number-modelFeeders)
	}
}

func (m *model) begin(worker *modelWorker, polls map[string]Records, sends map[string][]string) {
	worker.open = true
	worker.sent, worker.offsets = sends, map[string][]int64{}
	m.add(Event{Process: worker.name, What: begun, Txn: worker.txn, Polled: polls, Sent: sends})
	for key, values := range sends {
		for _, value := range values {
			worker.offsets[key] = append(worker.offsets[key], int64(len(m.logs[key])))
			m.logs[key] = append(m.logs[key], modelRecord{value, worker, worker.txn, perhaps})
		}
	}
}

func (m *model) beginFeed(worker *modelWorker) {
	worker.txn++
	worker.abort, worker.positions = m.chance.IntN(5) == 0, nil
	sends := map[string][]string{}
	for i := range 1 + m.chance.IntN(4) {
		key := fmt.Sprintf("in/%d", m.chance.IntN(modelPartitions))
		sends[key] = append(sends[key], fmt.Sprintf("%s:%d:%d", worker.name, worker.txn, i))
	}
	m.begin(worker, nil, sends)
}

// beginCopy is false where there is nothing to copy.
func (m *model) beginCopy(worker *modelWorker, partition int) bool {
	from := fmt.Sprintf("in/%d", partition)
	records, next := m.visible(from, m.group[from], 1+m.chance.IntN(4))
	if len(records.Values) == 0 {
		return false
	}
	worker.txn++
	worker.abort, worker.positions = m.chance.IntN(5) == 0, map[string]int{from: next}
	sends := map[string][]string{}
	for _, offset := range records.Offsets {
		key := fmt.Sprintf("out/%d", offset%modelPartitions)
		sends[key] = append(sends[key], fmt.Sprintf("%s@%d|%s:%d", from, offset, worker.name, worker.txn))
	}
	m.begin(worker, map[string]Records{from: records}, sends)
	return true
}

// finish ends a transaction; silently: the client does not hear of it, and comes back as another process.
func (m *model) finish(worker *modelWorker, silently bool) {
	if !worker.abort {
		m.add(Event{Process: worker.name, What: committing, Txn: worker.txn})
	}
	state := committed
	if worker.abort {
		state = notCommitted
	}
	for key := range worker.sent {
		for i := range m.logs[key] {
			if record := &m.logs[key][i]; record.writer == worker && record.txn == worker.txn {
				record.state = state
			}
		}
		m.logs[key] = append(m.logs[key], modelRecord{}) // the marker
	}
	for key, position := range worker.positions {
		if state == committed {
			m.group[key] = position
		}
	}
	worker.open = false
	switch {
	case silently:
		worker.name += "'"
	case state == committed:
		m.add(Event{Process: worker.name, What: ok, Txn: worker.txn, Offsets: worker.offsets})
	default:
		m.add(Event{Process: worker.name, What: failed, Txn: worker.txn})
	}
}

// visible are the committed records from a position on, up to the first that is open, and the position after them.
func (m *model) visible(key string, from, most int) (Records, int) {
	var records Records
	at := from
	for ; at < len(m.logs[key]) && len(records.Values) < most; at++ {
		record := m.logs[key][at]
		if record.writer != nil && record.state == perhaps {
			break
		}
		if record.state == committed {
			records.Offsets = append(records.Offsets, int64(at))
			records.Values = append(records.Values, record.value)
		}
	}
	return records, at
}

func (m *model) read(reader string, most int) {
	polls := map[string]Records{}
	for _, topic := range []string{"in", "out"} {
		for partition := range modelPartitions {
			key := fmt.Sprintf("%s/%d", topic, partition)
			records, next := m.visible(key, m.readers[reader][key], most)
			m.readers[reader][key] = next
			if len(records.Values) > 0 {
				polls[key] = records
			}
		}
	}
	m.add(Event{Process: reader, What: polled, Polled: polls})
}

func findingsOf(t *testing.T, events []Event) *findings {
	t.Helper()
	h, err := newHistory(events)
	if err != nil {
		t.Fatal(err)
	}
	h.check()
	return h.found
}

func TestHistoryOfACorrectBrokerIsValid(t *testing.T) {
	for seed := range uint64(300) {
		found := findingsOf(t, newModel(seed).live(200))
		if anomalies := found.anomalies(); len(anomalies) > 0 {
			var text strings.Builder
			found.print(&text)
			t.Fatalf("seed %d: %v\n%s", seed, anomalies, text.String())
		}
	}
}

// somePoll is a poll of two records at least of one partition, which both are committed, of a random reader.
func somePoll(chance *rand.Rand, events []Event) (event *Event, key string) {
	for {
		event = &events[chance.IntN(len(events))]
		if event.What != polled {
			continue
		}
		for _, key := range []string{"in/0", "in/1", "in/2", "out/0", "out/1", "out/2"} {
			if len(event.Polled[key].Values) >= 2 {
				return event, key
			}
		}
	}
}

// replace gives a poll other records of one partition; what others share with it stays as it is.
func replace(event *Event, key string, change func(*Records)) {
	old := event.Polled[key]
	records := Records{slices.Clone(old.Offsets), slices.Clone(old.Values)}
	change(&records)
	event.Polled[key] = records
}

func TestDamagedHistoryIsNotValid(t *testing.T) {
	damages := map[string]struct {
		damage func(chance *rand.Rand, events []Event) []Event
		kinds  []string // one of them at least
	}{
		"a reader is not shown a record": {func(chance *rand.Rand, events []Event) []Event {
			event, key := somePoll(chance, events)
			replace(event, key, func(r *Records) {
				r.Offsets, r.Values = slices.Delete(r.Offsets, 0, 1), slices.Delete(r.Values, 0, 1)
			})
			return events
		}, []string{pollSkip, lostWrite, unseen, notCopied, partialRead, intPollSkip}},
		"a reader is shown records in another order": {func(chance *rand.Rand, events []Event) []Event {
			event, key := somePoll(chance, events)
			replace(event, key, func(r *Records) {
				slices.Reverse(r.Offsets)
				slices.Reverse(r.Values)
			})
			return events
		}, []string{intNonmonotonicPoll}},
		"a reader is shown records in each other's place": {func(chance *rand.Rand, events []Event) []Event {
			event, key := somePoll(chance, events)
			replace(event, key, func(r *Records) { r.Values[0], r.Values[1] = r.Values[1], r.Values[0] })
			return events
		}, []string{inconsistentOffsets, duplicate}},
		"what was shown was not committed": {func(chance *rand.Rand, events []Event) []Event {
			for {
				event, key := somePoll(chance, events)
				process, txn := writerIn(events, event.Polled[key].Values[0])
				kept := slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
					return e.Process == process && e.Txn == txn && (e.What == ok || e.What == committing)
				})
				return kept
			}
		}, []string{abortedRead}},
	}
	for name, each := range damages {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				events := each.damage(rand.New(rand.NewPCG(seed, 2)), newModel(seed).live(200))
				kinds := findingsOf(t, events).anomalies()
				if !slices.ContainsFunc(each.kinds, func(kind string) bool { return slices.Contains(kinds, kind) }) {
					t.Fatalf("seed %d: found %v", seed, kinds)
				}
			}
		})
	}
}

func writerIn(events []Event, value string) (string, int64) {
	for _, event := range events {
		for _, values := range event.Sent {
			if slices.Contains(values, value) {
				return event.Process, event.Txn
			}
		}
	}
	return "", 0
}
