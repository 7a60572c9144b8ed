package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"barnabas/compat/groupmember"
	"github.com/segmentio/kafka-go"
)

const commitTimeout = 5 * time.Second

var partitionNumber = regexp.MustCompile(`partition:(\d+)`)

// groupReader is a Reader with a GroupID. It does not tell a program which partitions it has, but notes in its log when it
// begins to read them and, before it joins again, that heartbeats have ended. Only between the two is it asked for messages.
type groupReader struct {
	member *groupmember.Member
	reader *kafka.Reader
	turn   chan struct{} // holds one thing while there are partitions: who has taken it may read or commit

	mutex       sync.Mutex
	begun, gone int // generations, counted apart: a short one may be gone before it is read
	owned       []int32
}

// readInGroup lets a Reader do all, as most programs do.
func readInGroup(member *groupmember.Member) {
	r := &groupReader{member: member, turn: make(chan struct{}, 1)}
	r.reader = kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{member.Bootstrap}, GroupID: member.Group, Topic: member.Topic, MaxWait: maxFetchWait,
		HeartbeatInterval: member.Heartbeat, SessionTimeout: member.Session, JoinGroupBackoff: member.Heartbeat,
		StartOffset: kafka.FirstOffset, Logger: kafka.LoggerFunc(r.noted), ErrorLogger: kafka.LoggerFunc(log.Printf),
	})
	for open := true; open; {
		select {
		case <-member.Closing:
			open = false
		case <-r.turn:
			r.readOne()
			r.turn <- struct{}{}
		}
	}
	select {
	case <-r.turn:
		r.commit()
		r.turn <- struct{}{}
	default: // a generation ends right now, and with it comes a commit
	}
	if err := r.reader.Close(); err != nil {
		log.Print(err)
	}
}

// noted is called by the Reader's own goroutines, which wait for it.
func (r *groupReader) noted(format string, arguments ...any) {
	switch {
	case strings.HasPrefix(format, "subscribed to"):
		r.began(fmt.Sprintf(format, arguments...))
	case strings.HasPrefix(format, "stopped heartbeat"):
		r.ended()
	}
}

func (r *groupReader) began(note string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.begun++
	if r.begun <= r.gone {
		return
	}
	for _, found := range partitionNumber.FindAllStringSubmatch(note, -1) {
		partition, _ := strconv.ParseInt(found[1], 10, 32)
		r.owned = append(r.owned, int32(partition))
	}
	if len(r.owned) > 0 {
		r.member.Gained(r.owned)
		r.turn <- struct{}{}
	}
}

func (r *groupReader) ended() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.gone++
	if len(r.owned) > 0 {
		<-r.turn
		r.commit()
		r.member.Lost(r.owned)
		r.owned = nil
	}
}

func (r *groupReader) readOne() {
	limited, cancel := context.WithTimeout(context.Background(), groupmember.Idle)
	defer cancel()
	message, err := r.reader.FetchMessage(limited)
	if err == nil {
		r.member.Consumed(int32(message.Partition), message.Offset)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		log.Printf("%s: %v", r.member.Name, err)
	}
	if r.member.WantsToCommit(err != nil) {
		r.commit()
	}
}

func (r *groupReader) commit() {
	r.member.Commit(func(offsets map[int32]int64) error {
		limited, cancel := context.WithTimeout(context.Background(), commitTimeout)
		defer cancel()
		var last []kafka.Message
		for partition, next := range offsets {
			last = append(last, kafka.Message{Topic: r.member.Topic, Partition: int(partition), Offset: next - 1})
		}
		return r.reader.CommitMessages(limited, last...)
	})
}
