package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recording is a history as a test tells it: time goes on by one with each event.
type recording struct {
	t      *testing.T
	now    int64
	events []Event
}

func (r *recording) add(event Event) {
	r.now++
	event.Time = r.now
	r.events = append(r.events, event)
}

// one is a partition's part of a poll: offset, value, offset, value …
func one(partition string, pairs ...any) map[string]Records {
	var records Records
	for i := 0; i < len(pairs); i += 2 {
		records.Offsets = append(records.Offsets, int64(pairs[i].(int)))
		records.Values = append(records.Values, pairs[i+1].(string))
	}
	return map[string]Records{partition: records}
}

func sent(partition string, values ...string) map[string][]string {
	return map[string][]string{partition: values}
}

func (r *recording) begin(process string, number int64, polls map[string]Records, sends map[string][]string) {
	r.add(Event{Process: process, What: begun, Txn: number, Polled: polls, Sent: sends})
}

func (r *recording) end(process, what string, number int64) {
	r.add(Event{Process: process, What: what, Txn: number})
}

func (r *recording) commit(process string, number int64, partition string, offsets ...int64) {
	r.end(process, committing, number)
	r.add(Event{Process: process, What: ok, Txn: number, Offsets: map[string][]int64{partition: offsets}})
}

// wrote is a transaction that sends values to partition p and commits.
func (r *recording) wrote(process string, number int64, values []string, offsets ...int64) {
	r.begin(process, number, nil, sent("p", values...))
	r.commit(process, number, "p", offsets...)
}

func (r *recording) poll(process string, pairs ...any) {
	r.add(Event{Process: process, What: polled, Polled: one("p", pairs...)})
}

func (r *recording) kinds() []string {
	r.t.Helper()
	h, err := newHistory(r.events)
	if err != nil {
		r.t.Fatal(err)
	}
	h.check()
	return h.found.kinds()
}

// Each plants one anomaly, and tells all that has to be found: some are seen in more than one way.
var planted = map[string]struct {
	plant func(r *recording)
	found []string
}{
	"nothing": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, 1)
		r.poll("r", 0, "a", 1, "b")
		r.wrote("w", 2, []string{"c"}, 3)
		r.poll("r", 3, "c")
	}, nil},
	"two readers are shown different records at one offset": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, -1)
		r.wrote("x", 1, []string{"b"}, -1)
		r.poll("r", 0, "a")
		r.poll("s", 0, "b")
	}, []string{inconsistentOffsets}},
	"a reader is shown another record than was acknowledged": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, -1)
		r.poll("r", 0, "b")
		r.poll("s", 1, "a")
	}, []string{duplicate, inconsistentOffsets, intNonmonotonicSend}},
	"what is read uncommitted is not what others read": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.begin("x", 1, nil, sent("p", "b"))
		r.poll("r", 0, "a")
		r.add(Event{Process: "u", What: polled, Isolation: uncommitted, Polled: one("p", 0, "b")})
	}, []string{inconsistentOffsets}},
	"a record is there that nobody sent": {func(r *recording) {
		r.poll("r", 0, "a")
	}, []string{unwritten}},
	"a record is in another partition than it was sent to": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, -1)
		r.add(Event{Process: "r", What: polled, Polled: one("q", 0, "a")})
	}, []string{unwritten}},
	"a record is there twice": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.poll("r", 0, "a", 1, "a")
	}, []string{duplicate}},
	"an acknowledged record is never read, but a later one is": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.wrote("w", 2, []string{"b"}, 2)
		r.poll("r", 2, "b")
	}, []string{lostWrite}},
	"an acknowledged record at the end is never read": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.wrote("w", 2, []string{"b"}, 2)
		r.poll("r", 0, "a")
	}, []string{unseen}},
	"of a transaction whose outcome is not known a part is there": {func(r *recording) {
		r.begin("w", 1, nil, map[string][]string{"p": {"a"}, "q": {"b"}})
		r.end("w", committing, 1)
		r.poll("r", 0, "a")
	}, []string{unseen}},
	"an aborted record is read": {func(r *recording) {
		r.begin("w", 1, nil, sent("p", "a"))
		r.end("w", failed, 1)
		r.poll("r", 0, "a")
	}, []string{abortedRead}},
	"a record is read whose writer died before it asked for a commit": {func(r *recording) {
		r.begin("w", 1, nil, sent("p", "a"))
		r.poll("r", 0, "a")
	}, []string{abortedRead}},
	"a record is read before its commit was asked for": {func(r *recording) {
		r.begin("w", 1, nil, sent("p", "a"))
		r.poll("r", 0, "a")
		r.commit("w", 1, "p", 0)
	}, []string{dirtyRead}},
	"a transaction reads what it wrote": {func(r *recording) {
		r.begin("w", 1, one("p", 0, "a"), sent("p", "a"))
		r.commit("w", 1, "p", 0)
	}, []string{precommittedRead}},
	"a reader skips a record between polls": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.wrote("w", 2, []string{"b"}, 1)
		r.wrote("w", 3, []string{"c"}, 2)
		r.poll("r", 0, "a")
		r.poll("r", 2, "c")
		r.poll("s", 0, "a", 1, "b", 2, "c")
	}, []string{pollSkip}},
	"a reader that begins with the first record is not shown it": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.wrote("w", 2, []string{"b"}, 1)
		r.add(Event{Process: "r", What: assigned, Beginning: true})
		r.poll("r", 1, "b")
		r.poll("s", 0, "a", 1, "b")
	}, []string{pollSkip}},
	"a reader that begins anywhere else need not be": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.wrote("w", 2, []string{"b"}, 1)
		r.add(Event{Process: "r", What: assigned})
		r.poll("r", 1, "b")
		r.poll("s", 0, "a", 1, "b")
	}, nil},
	"a reader skips a record in a poll": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.wrote("w", 2, []string{"b"}, 1)
		r.wrote("w", 3, []string{"c"}, 2)
		r.poll("r", 0, "a", 2, "c")
		r.poll("s", 0, "a", 1, "b", 2, "c")
	}, []string{intPollSkip}},
	"a reader is shown a part of a transaction": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b", "c"}, 0, 1, 2)
		r.poll("r", 0, "a", 2, "c")
		r.poll("s", 0, "a", 1, "b", 2, "c")
	}, []string{partialRead, intPollSkip}},
	"a reader is shown a part of a transaction, in two polls": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, 1)
		r.wrote("w", 2, []string{"c"}, 3)
		r.poll("r", 0, "a")
		r.poll("r", 3, "c")
		r.poll("s", 0, "a", 1, "b", 3, "c")
	}, []string{partialRead, pollSkip}},
	"a reader goes back between polls": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, 1)
		r.poll("r", 0, "a", 1, "b")
		r.poll("r", 1, "b")
	}, []string{nonmonotonicPoll}},
	"a reader goes back in a poll": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, 1)
		r.poll("r", 1, "b", 0, "a")
	}, []string{intNonmonotonicPoll}},
	"a reader that starts anew may go back": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, 1)
		r.poll("r", 0, "a", 1, "b")
		r.add(Event{Process: "r", What: assigned})
		r.poll("r", 0, "a")
	}, nil},
	"a worker polls again what it has not committed": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 0, 1)
		r.begin("x", 1, one("p", 0, "a"), sent("q", "1"))
		r.end("x", failed, 1)
		r.begin("x", 2, one("p", 0, "a", 1, "b"), sent("q", "2"))
		r.commit("x", 2, "q", 1)
		r.add(Event{Process: "r", What: polled, Polled: one("q", 1, "2")})
	}, nil},
	"a worker polls again what it has committed": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 0)
		r.begin("x", 1, one("p", 0, "a"), nil)
		r.commit("x", 1, "q")
		r.begin("x", 2, one("p", 0, "a"), nil)
		r.commit("x", 2, "q")
	}, []string{nonmonotonicPoll}},
	"a transaction's records are out of order": {func(r *recording) {
		r.wrote("w", 1, []string{"a", "b"}, 1, 0)
		r.poll("r", 0, "b", 1, "a")
	}, []string{intNonmonotonicSend}},
	"a process's transactions are out of order": {func(r *recording) {
		r.wrote("w", 1, []string{"a"}, 2)
		r.wrote("w", 2, []string{"b"}, 0)
		r.poll("r", 0, "b", 2, "a")
	}, []string{nonmonotonicSend}},
	"transactions read of each other": {func(r *recording) {
		r.begin("w", 1, one("p", 0, "b"), sent("p", "a"))
		r.begin("x", 1, one("p", 1, "a"), sent("p", "b"))
		r.end("w", committing, 1)
		r.end("x", committing, 1)
		r.poll("r", 0, "b", 1, "a")
	}, []string{readCycle, dirtyRead}},
	"transactions that interleave in a partition are nothing": {func(r *recording) {
		r.begin("w", 1, nil, sent("p", "a", "b"))
		r.begin("x", 1, nil, sent("p", "c"))
		r.commit("w", 1, "p", 0, 2)
		r.commit("x", 1, "p", 1)
		r.poll("r", 0, "a", 1, "c", 2, "b")
	}, []string{writeCycle, intSendSkip}},
	"a transaction is committed before what it read": {func(r *recording) {
		r.begin("w", 1, nil, sent("p", "a"))
		r.begin("x", 1, one("p", 0, "a"), sent("q", "1"))
		r.commit("x", 1, "q", 0)
		r.commit("w", 1, "p", 0)
		r.add(Event{Process: "r", What: polled, Polled: one("q", 0, "1")})
	}, []string{readBeforeItWas, dirtyRead}},
	"a record is read before what its writer read was committed": {func(r *recording) {
		r.begin("w", 1, nil, sent("p", "a"))
		r.begin("x", 1, one("p", 0, "a"), sent("q", "1"))
		r.end("x", committing, 1)
		r.add(Event{Process: "r", What: polled, Polled: one("q", 0, "1")})
		r.commit("w", 1, "p", 0)
	}, []string{readBeforeItWas, dirtyRead}},
	"a copy is there twice": {func(r *recording) {
		r.copied("p/0@0|1", "p/0@1|1", "p/0@0|2")
	}, []string{copiedTwice}},
	"a record has no copy": {func(r *recording) {
		r.copied("p/0@1|1")
	}, []string{notCopied}},
	"a copy is of nothing": {func(r *recording) {
		r.copied("p/0@0|1", "p/0@1|1", "p/0@2|1")
	}, []string{copiedFromNothing}},
	"copies are out of order": {func(r *recording) {
		r.copied("p/0@1|1", "p/0@0|1")
	}, []string{copiedOutOfOrder}},
	"copies are all there": {func(r *recording) {
		r.copied("p/0@0|1", "p/0@1|1")
	}, nil},
}

// copied is a partition p/0 of two records, and what q/0 holds as its copy.
func (r *recording) copied(texts ...string) {
	r.add(Event{What: copying, From: "p", To: "q"})
	r.begin("w", 1, nil, sent("p/0", "a", "b"))
	r.commit("w", 1, "p/0", 0, 1)
	r.add(Event{Process: "r", What: polled, Polled: one("p/0", 0, "a", 1, "b")})
	r.begin("x", 1, nil, sent("q/0", texts...))
	r.commit("x", 1, "q/0")
	var records Records
	for i, text := range texts {
		records.Offsets = append(records.Offsets, int64(i))
		records.Values = append(records.Values, text)
	}
	r.add(Event{Process: "r", What: polled, Polled: map[string]Records{"q/0": records}})
}

func TestPlantedAnomaliesAreFound(t *testing.T) {
	for name, each := range planted {
		t.Run(name, func(t *testing.T) {
			r := &recording{t: t}
			each.plant(r)
			slices.Sort(each.found)
			if kinds := r.kinds(); !slices.Equal(kinds, each.found) {
				t.Errorf("found %v, planted %v", kinds, each.found)
			}
		})
	}
}

func TestEachKindIsPlantedSomewhere(t *testing.T) {
	for _, kind := range []string{inconsistentOffsets, unwritten, duplicate, lostWrite, unseen, abortedRead, partialRead, dirtyRead,
		precommittedRead, pollSkip, nonmonotonicPoll, intPollSkip, intNonmonotonicPoll, nonmonotonicSend, intNonmonotonicSend,
		readCycle, readBeforeItWas, copiedTwice, notCopied, copiedFromNothing, copiedOutOfOrder, writeCycle, intSendSkip} {
		if !slices.ContainsFunc(mapValues(), func(found []string) bool { return slices.Contains(found, kind) }) {
			t.Errorf("%s is not", kind)
		}
	}
}

func mapValues() [][]string {
	var all [][]string
	for _, each := range planted {
		all = append(all, each.found)
	}
	return all
}

func TestWritersMayNotBeRecordedWrongly(t *testing.T) {
	for name, events := range map[string][]Event{
		"a value twice":                {{What: begun, Txn: 1, Sent: sent("p", "a")}, {What: begun, Txn: 2, Sent: sent("p", "a")}},
		"an end without a beginning":   {{What: ok, Txn: 1}},
		"committed without a question": {{What: begun, Txn: 1}, {What: ok, Txn: 1}},
		"a poll of more values":        {{What: polled, Polled: map[string]Records{"p": {nil, []string{"a"}}}}},
		"something that is not known":  {{What: "moved"}},
		"fewer offsets than were sent": {{What: begun, Txn: 1, Sent: sent("p", "a", "b")}, {What: committing, Txn: 1},
			{What: ok, Txn: 1, Offsets: map[string][]int64{"p": {1}}}},
	} {
		if _, err := newHistory(events); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
}

func TestTornLastLineIsDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	whole := strings.Repeat(`{"process":"r","f":"poll"}`+"\n", 50)
	for text, want := range map[string]int{whole: 50, whole + `{"process":"r","f":`: 50, "": 0, "{}": 1} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		events, err := readEvents([]string{path})
		if err != nil || len(events) != want {
			t.Errorf("%d events of %d, %v", len(events), want, err)
		}
	}
	if err := os.WriteFile(path, []byte(`{"process":`+"\n"+whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readEvents([]string{path}); err == nil {
		t.Error("a torn line in the middle is taken")
	}
}
