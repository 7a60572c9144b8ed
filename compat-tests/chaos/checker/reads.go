package main

import (
	"slices"
	"sort"
)

// checkReads looks at each record that a reader was shown by itself.
func (h *history) checkReads() {
	for _, poll := range h.polls {
		for _, entry := range poll.entries {
			h.checkRead(poll, entry)
		}
	}
	for _, poll := range h.dirtyPolls {
		for _, entry := range poll.entries {
			h.checkUncommittedRead(poll, entry)
		}
	}
}

func (h *history) checkRead(poll *poll, read entry) {
	writer := read.value.writer
	where := func(kind string) {
		h.found.add(kind, "%s offset %d: %s of %s, read by %s at %d", poll.partition.name, read.offset, read.value, writer,
			poll.process.name, poll.time)
	}
	switch {
	case writer == nil || read.value.sentTo != poll.partition:
		h.found.add(unwritten, "%s offset %d: %s, read by %s, was never sent there", poll.partition.name, read.offset, read.value,
			poll.process.name)
	case writer == poll.txn:
		where(precommittedRead)
	case writer.outcome == notCommitted:
		where(abortedRead)
	case poll.time < writer.commitAt:
		where(dirtyRead)
	}
}

// checkUncommittedRead: whoever reads what is not committed is shown it where others see what is.
func (h *history) checkUncommittedRead(poll *poll, read entry) {
	p := poll.partition
	if read.value.writer == nil || read.value.sentTo != p {
		h.found.add(unwritten, "%s offset %d: %s, read by %s, was never sent there", p.name, read.offset, read.value, poll.process.name)
	}
	at, found := slices.BinarySearchFunc(p.order, read.offset, func(e entry, offset int64) int { return int(e.offset - offset) })
	if found && p.order[at].value != read.value {
		h.found.add(inconsistentOffsets, "%s offset %d: %s, and %s under read_uncommitted", p.name, read.offset, p.order[at].value,
			read.value)
	}
}

// position is where a process last was in a partition.
type position struct {
	offset int64
	poll   *poll
}

// checkPolls follows each process through each partition: it is shown all that is committed, in order. What a worker polls
// it polls again unless it commits it.
func (h *history) checkPolls() {
	for _, process := range h.sortedProcesses() {
		positions, first := map[*partition]position{}, false
		for _, step := range process.steps {
			if step.anew {
				clear(positions)
				first = step.beginning
			}
			for _, poll := range step.polls {
				if len(poll.entries) == 0 {
					continue
				}
				last, known := positions[poll.partition]
				if !known {
					last = position{-1, poll}
				}
				if known || first {
					h.checkPair(last, poll, poll.entries[0].offset, pollSkip, nonmonotonicPoll)
				}
				for i := range poll.entries[1:] {
					h.checkPair(position{poll.entries[i].offset, poll}, poll, poll.entries[i+1].offset, intPollSkip, intNonmonotonicPoll)
				}
				if step.within == nil || step.within.outcome == committed {
					positions[poll.partition] = position{poll.entries[len(poll.entries)-1].offset, poll}
				}
			}
		}
	}
}

func (h *history) checkPair(last position, poll *poll, next int64, skip, nonmonotonic string) {
	p := poll.partition
	if next <= last.offset {
		h.found.add(nonmonotonic, "%s: %s is at offset %d after %d, at %d", p.name, poll.process.name, next, last.offset, poll.time)
		return
	}
	index := -1
	if last.offset >= 0 {
		index = p.indexes[last.offset]
	}
	if p.indexes[next] <= index+1 {
		return
	}
	skipped := p.between(last.offset, next)
	h.found.add(skip, "%s: %s is at offset %d after %d, at %d, and has not seen %s", p.name, poll.process.name, next, last.offset,
		poll.time, skipped[0].value)
	for _, missing := range skipped {
		if missing.value.writer != nil && (shows(last.poll, missing.value.writer) || shows(poll, missing.value.writer)) {
			h.found.add(partialRead, "%s: %s is shown a part of %s without %s", p.name, poll.process.name, missing.value.writer,
				missing.value)
			return
		}
	}
}

func (p *partition) between(last, next int64) []entry {
	from := sort.Search(len(p.order), func(i int) bool { return p.order[i].offset > last })
	to := sort.Search(len(p.order), func(i int) bool { return p.order[i].offset >= next })
	return p.order[from:to]
}

func shows(p *poll, txn *transaction) bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool { return e.value.writer == txn })
}
