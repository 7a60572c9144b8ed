// Package basics is what the programs written in Go share: the lines of basics/scenario.py.
package basics

import (
	"bufio"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strings"
	"time"
)

const Timeout = 30 * time.Second

// Header of a record.
type Header struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// Record as it is sent, and as it was read. Timestamp is in milliseconds; 0 leaves it to the client.
type Record struct {
	Offset    int64    `json:"offset"`
	Timestamp int64    `json:"timestamp"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []Header `json:"headers"`
}

// Request is a line that the program is told; each `Do` has some of it.
type Request struct {
	Do, Topic, Codec, Group string
	Partition               int32
	Count                   int
	Offset                  int64
	Timestamp               *int64 // to begin at, instead of Offset
	Records                 []Record
	Config                  map[string]string
}

// Client does what a program is told, each by the name of `Do`.
type Client map[string]func(bootstrap string, request Request) (any, error)

// Run answers line by line.
func Run(client Client) {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			log.Fatal(err)
		}
		answer := map[string]any{}
		do, found := client[request.Do]
		if !found {
			err = errors.New("it has no " + request.Do)
		} else {
			answer["ok"], err = do(os.Args[1], request)
		}
		if err != nil {
			answer = map[string]any{"error": strings.ReplaceAll(err.Error(), "\n", " ")}
		}
		if err := answers.Encode(answer); err != nil {
			log.Fatal(err)
		}
	}
}
