// Package main checks histories recorded by record_histories.cpp with porcupine.
//
// model.go: what one store of numKeys keys does, one operation at a time.
//
// A record is named by the id of the operation that put it (base) and of the update_word that changed its
// word 0 since (word). Its version is known once an operation returned it; before that it is only
// known to be above the version of the record before: versions grow with every write of a key, also
// over an erase. update_word keeps the version where it works in place and raises it where it appends.
//
// A pending operation (its process was killed before it returned) either happened, at one moment before
// the process was dead, or never does. That is stricter than durable linearizability, which would
// let it happen after recovery: a record must not appear later that recovery did not find.
package main

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

const numKeys = 3

// member is what an operation does to one key, and what it saw there.
type member struct {
	Key     int    `json:"key"`
	Erase   bool   `json:"erase"`
	ID      uint64 `json:"id"`
	Present bool   `json:"present"`
	Word    uint64 `json:"word"`
	Base    uint64 `json:"base"`    // 0: not told.
	Version uint64 `json:"version"` // 0: not told.
}

// operation is one line of the recording; member lists what was asked for and what came back.
type operation struct {
	History   uint64   `json:"history"`
	Client    int      `json:"client"`
	Kind      string   `json:"kind"`
	Call      int64    `json:"call"`
	Return    int64    `json:"return"`
	Pending   bool     `json:"pending"`
	Expected  uint64   `json:"expected"`
	Members   []member `json:"members"`
	Succeeded bool     `json:"succeeded"`
	Overwrote bool     `json:"overwrote"`
	Version   uint64   `json:"version"` // 0: not told.
}

// record is the state of one key.
type record struct {
	present    bool
	word, base uint64
	version    uint64 // If known, its version; else the newest known one of an earlier record.
	known      bool
}

type store [numKeys]record

// put is the record after a write of id; version 0 is not told. ok is false if versions would not grow.
func (r record) put(id, version uint64) (next record, ok bool) {
	if version == 0 {
		return record{present: true, word: id, base: id, version: r.version}, true
	}
	return record{present: true, word: id, base: id, version: version, known: true}, version > r.version
}

// inPlain returns op as the verb that it is: one through a pipeline promises what the single verb does,
// between its submission and its callback.
func (op operation) inPlain() operation {
	op.Kind = strings.TrimPrefix(op.Kind, "pipelined_")
	return op
}

func (r record) erased() record {
	return record{version: r.version}
}

// sees tells whether m is what a read of r returns, and what is known of r afterwards.
func (r record) sees(m member) (next record, ok bool) {
	if m.Present != r.present {
		return r, false
	}
	if !r.present {
		return r, true
	}
	if m.Word != r.word || (m.Base != 0 && m.Base != r.base) {
		return r, false
	}
	return r.learns(m.Version)
}

// learns tells whether version can be that of r. 0 is no information.
func (r record) learns(version uint64) (next record, ok bool) {
	if version == 0 {
		return r, true
	}
	if r.known {
		return r, version == r.version
	}
	if version <= r.version {
		return r, false
	}
	r.version, r.known = version, true
	return r, true
}

// patched returns s after update_word: in place the version stays, through a new record it grows.
func patched(s store, key int, r record, id uint64) []store {
	r.word = id
	s[key] = r
	appended := s
	appended[key].known = false
	return []store{s, appended}
}

func one(s store, ok bool) []store {
	if !ok {
		return nil
	}
	return []store{s}
}

// step returns every state in which the store may be after op; none if op is impossible in s.
func step(s store, op operation) []store {
	if op.Pending {
		return append([]store{s}, stepPending(s, op)...)
	}
	if len(op.Members) == 0 {
		return nil
	}
	m := op.Members[0]
	r := s[m.Key]
	ok := false
	switch op.Kind {
	case "get", "snapshot", "range":
		for _, m := range op.Members {
			if s[m.Key], ok = s[m.Key].sees(m); !ok {
				return nil
			}
		}
		return []store{s}
	case "put":
		s[m.Key], ok = r.put(m.ID, 0)
		return one(s, ok && op.Succeeded && op.Overwrote == r.present)
	case "put_if_absent":
		if !op.Succeeded {
			return one(s, r.present)
		}
		s[m.Key], ok = r.put(m.ID, op.Version)
		return one(s, ok && !r.present)
	case "compare_and_put":
		return stepCompareAndPut(s, op)
	case "update":
		if !op.Succeeded {
			return one(s, !r.present)
		}
		if r, ok = r.sees(m); !ok {
			return nil
		}
		s[m.Key], ok = r.put(m.ID, op.Version)
		return one(s, ok)
	case "update_word":
		if !op.Succeeded {
			return one(s, !r.present)
		}
		if r, ok = r.sees(m); !ok {
			return nil
		}
		return patched(s, m.Key, r, m.ID)
	case "erase":
		s[m.Key] = r.erased()
		return one(s, op.Succeeded == r.present)
	case "batch":
		return one(applyBatch(s, op), op.Succeeded)
	}
	return nil
}

func stepCompareAndPut(s store, op operation) []store {
	m := op.Members[0]
	r := s[m.Key]
	if !op.Succeeded {
		switch {
		case !r.present:
			return one(s, op.Expected != 0)
		case r.known:
			return one(s, op.Expected != r.version)
		default: // Which of the versions above it has is not known: it may be another.
			return []store{s}
		}
	}
	ok := false
	if op.Expected == 0 {
		if r.present {
			return nil
		}
	} else if !r.present {
		return nil
	} else if r, ok = r.learns(op.Expected); !ok {
		return nil
	}
	s[m.Key], ok = r.put(m.ID, op.Version)
	return one(s, ok)
}

func applyBatch(s store, op operation) store {
	for _, m := range op.Members {
		if m.Erase {
			s[m.Key] = s[m.Key].erased()
		} else {
			s[m.Key], _ = s[m.Key].put(m.ID, 0)
		}
	}
	return s
}

// stepPending returns the states in which op has happened, whatever it would have returned.
func stepPending(s store, op operation) []store {
	m := op.Members[0]
	r := s[m.Key]
	ok := true
	switch op.Kind {
	case "put":
		s[m.Key], _ = r.put(m.ID, 0)
	case "put_if_absent":
		s[m.Key], _ = r.put(m.ID, 0)
		ok = !r.present
	case "compare_and_put":
		if op.Expected != 0 && r.present {
			r, ok = r.learns(op.Expected)
		} else {
			ok = op.Expected == 0 && !r.present
		}
		s[m.Key], _ = r.put(m.ID, 0)
	case "update":
		s[m.Key], _ = r.put(m.ID, 0)
		ok = r.present
	case "update_word":
		if r.present {
			return patched(s, m.Key, r, m.ID)
		}
		ok = false
	case "erase":
		s[m.Key] = r.erased()
	case "batch":
		s = applyBatch(s, op)
	default: // A read.
		ok = false
	}
	return one(s, ok)
}

// events turns a recording into porcupine's operations. get_many promises each get for itself.
func events(history []operation) []porcupine.Operation {
	var all []porcupine.Operation
	add := func(op operation) {
		all = append(all, porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Output: nil, Return: op.Return})
	}
	for _, op := range history {
		if op.Kind != "get_many" {
			add(op)
			continue
		}
		for _, m := range op.Members {
			single := op
			single.Kind, single.Members = "get", []member{m}
			add(single)
		}
	}
	return all
}

func (m member) String() string {
	if !m.Present {
		return fmt.Sprintf("%d: none", m.Key)
	}
	return fmt.Sprintf("%d: (word %d, put %d, version %d)", m.Key, m.Word, m.Base, m.Version)
}

func (op operation) String() string {
	var parts []string
	for _, m := range op.Members {
		switch {
		case op.Kind == "get" || op.Kind == "get_many" || op.Kind == "snapshot" || op.Kind == "range":
			parts = append(parts, m.String())
		case m.Erase || op.Kind == "erase":
			parts = append(parts, fmt.Sprintf("%d erased", m.Key))
		default:
			parts = append(parts, fmt.Sprintf("%d := %d", m.Key, m.ID))
		}
	}
	text := fmt.Sprintf("%s %s", op.Kind, strings.Join(parts, ", "))
	if op.Kind == "compare_and_put" {
		text += fmt.Sprintf(" if version %d", op.Expected)
	}
	switch {
	case op.Pending:
		text += " (killed)"
	case !op.Succeeded && op.Kind != "get" && op.Kind != "get_many" && op.Kind != "snapshot" && op.Kind != "range":
		text += " (refused)"
	case op.Kind == "update" || op.Kind == "update_word":
		text += fmt.Sprintf(" was word %d", op.Members[0].Word)
	}
	return text
}

// model is what porcupine asks: states are comparable, so no Equal is needed.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{store{}} },
		Step: func(state, input, _ interface{}) []interface{} {
			var next []interface{}
			for _, s := range step(state.(store), input.(operation)) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(input, _ interface{}) string { return input.(operation).String() },
		DescribeState:     func(state interface{}) string { return fmt.Sprintf("%+v", state) },
	}
	return nondeterministic.ToModel()
}
