package main

import (
	"encoding/json"
	"log"
	"os"
	"syscall"
	"unsafe"

	"github.com/twmb/franz-go/pkg/kgo"
)

type records struct {
	Offsets []int64  `json:"o"`
	Values  []string `json:"v"`
}

type event struct {
	Time      int64               `json:"time"`
	Process   string              `json:"process"`
	What      string              `json:"f"`
	Txn       int                 `json:"txn,omitempty"`
	Polled    map[string]*records `json:"polled,omitempty"`
	Sent      map[string][]string `json:"sent,omitempty"`
	Offsets   map[string][]int64  `json:"offsets,omitempty"`
	Beginning bool                `json:"beginning,omitempty"`
	Isolation string              `json:"isolation,omitempty"`
	Error     string              `json:"error,omitempty"`
	Seen      map[string]int      `json:"seen,omitempty"`
}

// history writes events to a file, each when it happens and in one write, so that all are there when it is killed.
type history struct {
	file    *os.File
	process string
}

func openHistory(path string) *history {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	return &history{file: file}
}

func (h *history) add(e event) {
	e.Time, e.Process = monotonicMicroseconds(), h.process
	line, err := json.Marshal(e)
	if err == nil {
		_, err = h.file.Write(append(line, '\n'))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// monotonicMicroseconds is the system's clock that all processes share and nobody sets.
func monotonicMicroseconds() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		log.Fatal(errno)
	}
	return now.Nano() / 1000
}

func polledOf(all []*kgo.Record, keyOf func(topic string, partition int32) string) map[string]*records {
	polled := map[string]*records{}
	for _, record := range all {
		key := keyOf(record.Topic, record.Partition)
		if polled[key] == nil {
			polled[key] = &records{}
		}
		polled[key].Offsets = append(polled[key].Offsets, record.Offset)
		polled[key].Values = append(polled[key].Values, string(record.Value))
	}
	return polled
}
