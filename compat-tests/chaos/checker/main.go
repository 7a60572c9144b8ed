// Checker reads what producers, workers and readers recorded, and says whether a broker that keeps its promises could
// have answered so. `checker HISTORY.jsonl…`; ends with 0 when it could, 1 when not, 2 when the files say nothing.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "checker HISTORY.jsonl…")
		os.Exit(2)
	}
	debug.SetGCPercent(400)
	started := time.Now()
	events, err := readEvents(os.Args[1:])
	if err == nil && len(events) == 0 {
		err = fmt.Errorf("no events")
	}
	var h *history
	if err == nil {
		h, err = newHistory(events)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	h.check()
	fmt.Println(h.summary())
	h.found.print(os.Stdout)
	fmt.Printf("checked in %.1f s\n", time.Since(started).Seconds())
	if anomalies := h.found.anomalies(); len(anomalies) > 0 {
		fmt.Printf("INVALID: %s\n", strings.Join(anomalies, ", "))
		os.Exit(1)
	}
	fmt.Println("valid")
}

func (h *history) check() {
	h.checkReads()
	h.checkPolls()
	h.checkWrites()
	h.checkCopies()
	h.checkCycles()
}

func (h *history) summary() string {
	outcomes := map[outcome]int{}
	hidden := 0
	for _, txn := range h.txns {
		outcomes[txn.outcome]++
		if txn.outcome == notCommitted {
			hidden += len(txn.sent)
		}
	}
	read, uncommittedRead := 0, 0
	for _, poll := range h.polls {
		read += len(poll.entries)
	}
	aborted := map[*value]bool{}
	for _, poll := range h.dirtyPolls {
		uncommittedRead += len(poll.entries)
		for _, entry := range poll.entries {
			if writer := entry.value.writer; writer != nil && !writer.counts() {
				aborted[entry.value] = true
			}
		}
	}
	return fmt.Sprintf("%d processes; %d transactions committed, %d not, %d not known; %d values sent, %d of them not to be seen; "+
		"%d records read, and %d under read_uncommitted, %d of them of aborted transactions",
		len(h.processes), outcomes[committed], outcomes[notCommitted], outcomes[perhaps], len(h.values), hidden, read,
		uncommittedRead, len(aborted))
}
