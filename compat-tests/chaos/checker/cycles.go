package main

import (
	"slices"
	"strings"
)

// graph has an edge from each transaction to those that have to come after it.
type graph map[*transaction][]*transaction

func (g graph) link(from, to *transaction) {
	if from != nil && to != nil && from != to && !slices.Contains(g[from], to) {
		g[from] = append(g[from], to)
	}
}

// checkCycles looks for transactions each of which comes before the other.
func (h *history) checkCycles() {
	for _, component := range h.components(h.writeGraph()) {
		h.found.add(writeCycle, "%s", names(component))
	}
	reads := h.readGraph()
	components := h.components(reads)
	for _, component := range components {
		h.found.add(readCycle, "each read what another of them sent: %s", names(component))
	}
	if len(components) == 0 {
		h.checkRealTime(reads)
	}
}

// writeGraph: one sent to a partition just before another did.
func (h *history) writeGraph() graph {
	g := graph{}
	for _, p := range h.sortedPartitions() {
		for i := 1; i < len(p.order); i++ {
			g.link(p.order[i-1].value.writer, p.order[i].value.writer)
		}
	}
	return g
}

// readGraph: one read what another sent.
func (h *history) readGraph() graph {
	g := graph{}
	for _, txn := range h.txns {
		for _, poll := range txn.polls {
			for _, entry := range poll.entries {
				g.link(entry.value.writer, txn)
			}
		}
	}
	return g
}

// checkRealTime: a transaction takes effect after its commit was asked for, after those that it read from, and before the
// answer; and nobody reads of it before it does.
func (h *history) checkRealTime(reads graph) {
	earliest := make(map[*transaction]int64, len(h.txns))
	for _, txn := range h.topological(reads) {
		earliest[txn] = max(earliest[txn], txn.commitAt)
		for _, after := range reads[txn] {
			earliest[after] = max(earliest[after], earliest[txn])
		}
		if txn.doneAt > 0 && earliest[txn] > txn.doneAt {
			h.found.add(readBeforeItWas, "%s was committed at %d, but read what cannot have been there before %d", txn, txn.doneAt,
				earliest[txn])
		}
	}
	for _, poll := range h.polls {
		for _, entry := range poll.entries {
			if writer := entry.value.writer; writer != nil && writer.commitAt <= poll.time && poll.time < earliest[writer] {
				h.found.add(readBeforeItWas, "%s offset %d: %s read %s at %d, which cannot have been there before %d",
					poll.partition.name, entry.offset, poll.process.name, entry.value, poll.time, earliest[writer])
			}
		}
	}
}

// topological is an order of an acyclic graph's transactions in which each comes after those that have to be before it.
func (h *history) topological(g graph) []*transaction {
	before := map[*transaction]int{}
	for _, to := range g {
		for _, txn := range to {
			before[txn]++
		}
	}
	var order []*transaction
	for _, txn := range h.txns {
		if before[txn] == 0 {
			order = append(order, txn)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, txn := range g[order[i]] {
			if before[txn]--; before[txn] == 0 {
				order = append(order, txn)
			}
		}
	}
	return order
}

// search finds strongly connected components by Tarjan's algorithm, on a stack of its own: paths are long.
type search struct {
	graph  graph
	index  map[*transaction]int
	low    map[*transaction]int
	within map[*transaction]bool
	stack  []*transaction
	found  [][]*transaction
}

type visit struct {
	txn  *transaction
	next int // of its edges
}

// components are those of more than one transaction.
func (h *history) components(g graph) [][]*transaction {
	s := search{g, map[*transaction]int{}, map[*transaction]int{}, map[*transaction]bool{}, nil, nil}
	for _, txn := range h.txns {
		if _, visited := s.index[txn]; !visited {
			s.from(txn)
		}
	}
	return s.found
}

func (s *search) from(root *transaction) {
	path := []visit{s.enter(root)}
	for len(path) > 0 {
		top := &path[len(path)-1]
		if top.next == len(s.graph[top.txn]) {
			s.leave(top.txn)
			path = path[:len(path)-1]
			if len(path) > 0 {
				above := path[len(path)-1].txn
				s.low[above] = min(s.low[above], s.low[top.txn])
			}
			continue
		}
		next := s.graph[top.txn][top.next]
		top.next++
		if at, visited := s.index[next]; !visited {
			path = append(path, s.enter(next))
		} else if s.within[next] {
			s.low[top.txn] = min(s.low[top.txn], at)
		}
	}
}

func (s *search) enter(txn *transaction) visit {
	s.index[txn] = len(s.index)
	s.low[txn] = s.index[txn]
	s.stack = append(s.stack, txn)
	s.within[txn] = true
	return visit{txn, 0}
}

func (s *search) leave(txn *transaction) {
	if s.low[txn] != s.index[txn] {
		return
	}
	at := len(s.stack) - 1
	for s.stack[at] != txn {
		at--
	}
	component := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, each := range component {
		s.within[each] = false
	}
	if len(component) > 1 {
		s.found = append(s.found, component)
	}
}

func names(txns []*transaction) string {
	const shown = 6
	var all []string
	for _, txn := range txns[:min(len(txns), shown)] {
		all = append(all, txn.String())
	}
	if len(txns) > shown {
		all = append(all, "…")
	}
	return strings.Join(all, ", ")
}
