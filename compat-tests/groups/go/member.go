// Package groupmember is what the members written in Go share: the lines of groups/scenario.py, and what is pending.
package groupmember

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	CommitAt = 20
	Idle     = 300 * time.Millisecond

	afterRefusal = 50 * time.Millisecond
)

// Member may be used by several goroutines at once.
type Member struct {
	Bootstrap, Group, Topic, Name, Mode string
	Instance                            string // empty but for static members
	Session, Heartbeat                  time.Duration
	Closing                             chan struct{} // closed at the end of standard input

	mutex      sync.Mutex
	partitions map[int32]bool
	pending    map[int32]int64
	records    int
}

// New takes the program's arguments.
func New() *Member {
	session, err := strconv.Atoi(os.Args[6])
	if err != nil {
		panic(err)
	}
	mode, _, static := strings.Cut(os.Args[5], "-")
	member := &Member{
		Bootstrap: os.Args[1], Group: os.Args[2], Topic: os.Args[3], Name: os.Args[4], Mode: mode,
		Session: time.Duration(session) * time.Millisecond, Heartbeat: time.Duration(session/12) * time.Millisecond,
		Closing: make(chan struct{}), partitions: map[int32]bool{}, pending: map[int32]int64{},
	}
	if static {
		member.Instance = member.Name
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(member.Closing)
	}()
	return member
}

func (m *Member) say(words ...string) {
	_, _ = os.Stdout.WriteString(m.Name + " " + strings.Join(words, " ") + "\n")
}

// Gained adds partitions to those that it has.
func (m *Member) Gained(partitions []int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, partition := range partitions {
		m.partitions[partition] = true
	}
	m.sayAssigned()
}

// Lost takes partitions away, and what was pending for them.
func (m *Member) Lost(partitions []int32) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, partition := range partitions {
		delete(m.partitions, partition)
		delete(m.pending, partition)
	}
	m.sayAssigned()
}

func (m *Member) sayAssigned() {
	var numbers []string
	for _, partition := range slices.Sorted(maps.Keys(m.partitions)) {
		numbers = append(numbers, strconv.Itoa(int(partition)))
	}
	if len(numbers) == 0 {
		numbers = []string{"-"}
	}
	m.say("assigned", strings.Join(numbers, ","))
}

func (m *Member) Consumed(partition int32, offset int64) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.pending[partition] = offset + 1
	m.records++
	m.say("consumed", strconv.Itoa(int(partition)), strconv.FormatInt(offset, 10))
}

func (m *Member) WantsToCommit(wasIdle bool) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.pending) > 0 && (wasIdle || m.records >= CommitAt)
}

// Commit commits what is pending; what was refused stays so.
func (m *Member) Commit(commit func(offsets map[int32]int64) error) {
	m.mutex.Lock()
	offsets := maps.Clone(m.pending)
	m.mutex.Unlock()
	m.commit(offsets, commit)
}

// CommitPartition commits what is pending for one partition.
func (m *Member) CommitPartition(partition int32, commit func(offsets map[int32]int64) error) {
	m.mutex.Lock()
	offsets := map[int32]int64{}
	if offset, found := m.pending[partition]; found {
		offsets[partition] = offset
	}
	m.mutex.Unlock()
	m.commit(offsets, commit)
}

func (m *Member) commit(offsets map[int32]int64, commit func(offsets map[int32]int64) error) {
	if len(offsets) == 0 {
		return
	}
	m.say("committing", text(offsets))
	err := commit(offsets)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err != nil {
		m.say("refused", strings.ReplaceAll(err.Error(), "\n", " "))
		time.Sleep(afterRefusal)
		return
	}
	m.say("committed", text(offsets))
	for partition, offset := range offsets {
		if m.pending[partition] == offset {
			delete(m.pending, partition)
		}
	}
	m.records = 0
}

func text(offsets map[int32]int64) string {
	var entries []string
	for _, partition := range slices.Sorted(maps.Keys(offsets)) {
		entries = append(entries, fmt.Sprintf("%d:%d", partition, offsets[partition]))
	}
	return strings.Join(entries, ",")
}

// Closed says that the group was left.
func (m *Member) Closed() { m.say("closed") }
