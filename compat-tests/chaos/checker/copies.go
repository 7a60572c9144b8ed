package main

import (
	"strconv"
	"strings"
)

// checkCopies: where one topic is a copy of another, each record of that is in it once, and in order wherever two of one
// partition are in one partition again. A copy's text begins with what it is a copy of: PARTITION@OFFSET|.
func (h *history) checkCopies() {
	for _, topics := range h.copies {
		copied := map[string]int64{} // source → offset of its copy
		for _, p := range h.sortedPartitions() {
			if topicOf(p) == topics[1] {
				h.checkCopiesIn(p, topics[0], copied)
			}
		}
		for _, p := range h.sortedPartitions() {
			if topicOf(p) != topics[0] {
				continue
			}
			for _, entry := range p.order {
				if _, found := copied[sourceName(p.name, entry.offset)]; !found && entry.value.read {
					h.found.add(notCopied, "%s offset %d: %s is not in %s", p.name, entry.offset, entry.value, topics[1])
				}
			}
		}
	}
}

func (h *history) checkCopiesIn(p *partition, from string, copied map[string]int64) {
	last := map[string]int64{} // source partition → offset
	for _, entry := range p.order {
		source, _, _ := strings.Cut(entry.value.text, "|")
		name, offset := parseSource(source)
		of, found := h.partitions[name]
		if _, exists := of.offsetExists(offset); !found || topicOf(of) != from || !exists {
			h.found.add(copiedFromNothing, "%s offset %d: %s is a copy of nothing that was read", p.name, entry.offset, entry.value)
			continue
		}
		if before, exists := copied[source]; exists {
			h.found.add(copiedTwice, "%s offset %d: %s was copied before, at offset %d", p.name, entry.offset, entry.value, before)
			continue
		}
		copied[source] = entry.offset
		if before, exists := last[name]; exists && offset < before {
			h.found.add(copiedOutOfOrder, "%s offset %d: %s comes after the copy of %s", p.name, entry.offset, entry.value,
				sourceName(name, before))
		}
		last[name] = offset
	}
}

func (p *partition) offsetExists(offset int64) (int, bool) {
	if p == nil {
		return 0, false
	}
	index, exists := p.indexes[offset]
	return index, exists
}

func topicOf(p *partition) string {
	topic, _, _ := strings.Cut(p.name, "/")
	return topic
}

func sourceName(partition string, offset int64) string {
	return partition + "@" + strconv.FormatInt(offset, 10)
}

func parseSource(text string) (string, int64) {
	name, number, _ := strings.Cut(text, "@")
	offset, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", -1
	}
	return name, offset
}
