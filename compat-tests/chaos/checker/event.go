package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
)

// What an event says has happened; ../README.md explains each.
const (
	copying     = "copy"
	assigned    = "assign"
	begun       = "begin"
	committing  = "commit"
	ok          = "ok"
	failed      = "fail"
	unknown     = "info"
	polled      = "poll"
	uncommitted = "read_uncommitted"
)

// Event is one line of a history. Keys are partitions, such as "out/3".
type Event struct {
	Time      int64               `json:"time"` // microseconds; one clock for all processes
	Process   string              `json:"process"`
	What      string              `json:"f"`
	Txn       int64               `json:"txn"`
	Polled    map[string]Records  `json:"polled"`
	Sent      map[string][]string `json:"sent"`
	Offsets   map[string][]int64  `json:"offsets"`   // of what was sent, -1 where not known
	Beginning bool                `json:"beginning"` // of "assign": it begins with each partition's first record
	Isolation string              `json:"isolation"`
	From      string              `json:"from"` // of "copy": topics
	To        string              `json:"to"`
}

// Records are what a poll returned of one partition, in its order.
type Records struct {
	Offsets []int64  `json:"o"`
	Values  []string `json:"v"`
}

// readEvents reads the files one after the other. The last line of a file may be torn: its writer was killed.
func readEvents(paths []string) ([]Event, error) {
	var events []Event
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		more, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		events = append(events, more...)
	}
	return events, nil
}

// parse decodes on all processors, in parts of whole lines.
func parse(data []byte) ([]Event, error) {
	count := runtime.NumCPU()
	parts, errs := make([][]Event, count), make([]error, count)
	var wait sync.WaitGroup
	for i := range count {
		part := lines(data, i, count)
		wait.Go(func() { parts[i], errs[i] = parsePart(part, i+1 == count) })
	}
	wait.Wait()
	var events []Event
	for i := range parts {
		if errs[i] != nil {
			return nil, errs[i]
		}
		events = append(events, parts[i]...)
	}
	return events, nil
}

// lines is the i-th of count parts, each of which begins at the beginning of a line.
func lines(data []byte, i, count int) []byte {
	return data[lineStart(data, len(data)/count*i):partEnd(data, i, count)]
}

func partEnd(data []byte, i, count int) int {
	if i+1 == count {
		return len(data)
	}
	return lineStart(data, len(data)/count*(i+1))
}

func lineStart(data []byte, at int) int {
	if at == 0 || data[at-1] == '\n' {
		return at
	}
	if end := bytes.IndexByte(data[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(data)
}

func parsePart(data []byte, last bool) ([]Event, error) {
	var events []Event
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		data = rest
		if len(line) == 0 {
			continue
		}
		var event Event
		if err := json.Unmarshal(line, &event); err != nil {
			if last && !whole {
				break
			}
			return nil, fmt.Errorf("%.200q: %w", line, err)
		}
		events = append(events, event)
	}
	return events, nil
}
