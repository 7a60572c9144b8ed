// Package basics is what the programs written in Go share: the lines of basics/scenario.py.
package basics

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"maps"
	"os"
	"slices"
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

// Time is its timestamp, or the zero time, by which all clients are left to choose.
func (r Record) Time() time.Time {
	if r.Timestamp == 0 {
		return time.Time{}
	}
	return time.UnixMilli(r.Timestamp)
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

// NullableConfig is Config for clients that take settings which may be null.
func (r Request) NullableConfig() map[string]*string {
	settings := map[string]*string{}
	for name, value := range r.Config {
		settings[name] = &value
	}
	return settings
}

// Names are the keys, and an empty list of them is not null in JSON.
func Names[Value any](found map[string]Value) []string {
	return slices.AppendSeq([]string{}, maps.Keys(found))
}

// Verb does what one kind of line asks for, until `ctx` ends.
type Verb func(ctx context.Context, bootstrap string, request Request) (any, error)

// Client does what a program is told, each by the name of `Do`.
type Client map[string]Verb

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
		if done, err := client.do(request); err != nil {
			answer["error"] = strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			answer["ok"] = done
		}
		if err := answers.Encode(answer); err != nil {
			log.Fatal(err)
		}
	}
}

func (c Client) do(request Request) (any, error) {
	verb, found := c[request.Do]
	if !found {
		return nil, errors.New("it has no " + request.Do)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	return verb(ctx, os.Args[1], request)
}
