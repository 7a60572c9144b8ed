package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
)

// The anomalies; ../README.md says what each is.
const (
	inconsistentOffsets = "inconsistent-offsets"
	unwritten           = "unwritten"
	duplicate           = "duplicate"
	lostWrite           = "lost-write"
	unseen              = "unseen"
	abortedRead         = "G1a"
	partialRead         = "G1b"
	dirtyRead           = "dirty-read"
	precommittedRead    = "precommitted-read"
	pollSkip            = "poll-skip"
	nonmonotonicPoll    = "nonmonotonic-poll"
	intPollSkip         = "int-poll-skip"
	intNonmonotonicPoll = "int-nonmonotonic-poll"
	nonmonotonicSend    = "nonmonotonic-send"
	intNonmonotonicSend = "int-nonmonotonic-send"
	readCycle           = "G1c"
	readBeforeItWas     = "G1c-realtime"
	copiedTwice         = "copied-twice"
	notCopied           = "not-copied"
	copiedFromNothing   = "copied-from-nothing"
	copiedOutOfOrder    = "copied-out-of-order"

	// Kafka does not isolate writers: transactions interleave in a partition, and each goes on while others commit.
	writeCycle  = "G0"
	intSendSkip = "int-send-skip"
)

var allowed = []string{writeCycle, intSendSkip}

const examplesShown = 8

type finding struct {
	count    int
	examples []string
}

type findings struct {
	byKind map[string]*finding
}

func (f *findings) add(kind, format string, arguments ...any) {
	if f.byKind == nil {
		f.byKind = map[string]*finding{}
	}
	of := getOr(f.byKind, kind, func() *finding { return &finding{} })
	of.count++
	if len(of.examples) < examplesShown {
		of.examples = append(of.examples, fmt.Sprintf(format, arguments...))
	}
}

func (f *findings) kinds() []string { return slices.Sorted(maps.Keys(f.byKind)) }

// anomalies are the kinds that a correct broker does not show.
func (f *findings) anomalies() []string {
	return slices.DeleteFunc(f.kinds(), func(kind string) bool { return slices.Contains(allowed, kind) })
}

func (f *findings) print(to io.Writer) {
	for _, kind := range f.kinds() {
		found := f.byKind[kind]
		if slices.Contains(allowed, kind) {
			fmt.Fprintf(to, "%s: %d, which is allowed\n", kind, found.count)
			continue
		}
		fmt.Fprintf(to, "%s: %d\n", kind, found.count)
		for _, example := range found.examples {
			fmt.Fprintf(to, "  %s\n", example)
		}
	}
}
