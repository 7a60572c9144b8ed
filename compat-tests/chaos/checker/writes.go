package main

// checkWrites: what a committed transaction sent is there once, in the order of sending.
func (h *history) checkWrites() {
	for _, txn := range h.txns {
		if !txn.counts() {
			continue
		}
		for _, value := range txn.sent {
			h.checkSeen(txn, value)
		}
	}
	for _, partition := range h.sortedPartitions() {
		h.checkOnce(partition)
	}
	for _, process := range h.sortedProcesses() {
		h.checkSends(process)
	}
}

func (h *history) checkSeen(txn *transaction, value *value) {
	switch {
	case value.read:
	case value.acked >= 0 && value.acked <= value.sentTo.end:
		h.found.add(lostWrite, "%s offset %d: %s of %s was never read, but offset %d was", value.sentTo.name, value.acked, value, txn,
			value.sentTo.end)
	default:
		h.found.add(unseen, "%s: %s of %s was never read", value.sentTo.name, value, txn)
	}
}

func (h *history) checkOnce(p *partition) {
	first := make(map[*value]int64, len(p.order))
	for _, entry := range p.order {
		if offset, exists := first[entry.value]; exists {
			h.found.add(duplicate, "%s: %s is at offset %d and at %d", p.name, entry.value, offset, entry.offset)
			continue
		}
		first[entry.value] = entry.offset
	}
}

// lastSent is where a process has sent to a partition last, as far as that is known.
type lastSent struct {
	offset int64
	txn    *transaction
}

func (h *history) checkSends(process *process) {
	last := map[*partition]lastSent{}
	for _, txn := range process.txns {
		if !txn.counts() {
			continue
		}
		for _, value := range txn.sent {
			p, offset := value.sentTo, value.where()
			if offset < 0 {
				continue
			}
			before, known := last[p]
			switch {
			case !known:
			case offset <= before.offset && before.txn == txn:
				h.found.add(intNonmonotonicSend, "%s: %s of %s is at offset %d, what it sent before at %d", p.name, value, txn, offset,
					before.offset)
			case offset <= before.offset:
				h.found.add(nonmonotonicSend, "%s: %s of %s is at offset %d, what %s sent before at %d", p.name, value, txn, offset,
					before.txn, before.offset)
			case before.txn == txn && p.indexes[offset] > p.indexes[before.offset]+1:
				h.found.add(intSendSkip, "%s: others sent between offsets %d and %d of %s", p.name, before.offset, offset, txn)
			}
			last[p] = lastSent{offset, txn}
		}
	}
}

// where is the offset at which it was read in its partition first or acknowledged; -1 when neither.
func (v *value) where() int64 {
	for _, place := range v.places {
		if place.partition == v.sentTo {
			return place.offset
		}
	}
	return v.acked
}
