// model_test.go: right histories are accepted, and of each promise of the store a broken one is noticed.
package main

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// at places op in time and gives it a client of its own.
func at(call, ret int64, op operation) operation {
	op.Call, op.Return, op.Client = call, ret, int(call)
	return op
}

func write(kind string, key int, id, version uint64) operation {
	return operation{Kind: kind, Members: []member{{Key: key, ID: id}}, Succeeded: true, Version: version}
}
func put(key int, id uint64, overwrote bool) operation {
	op := write("put", key, id, 0)
	op.Overwrote = overwrote
	return op
}
func refused(op operation) operation { op.Succeeded = false; return op }
func killed(op operation) operation  { op.Pending = true; return op }

func compareAndPut(key int, expected, id, version uint64) operation {
	op := write("compare_and_put", key, id, version)
	op.Expected = expected
	return op
}
func updateWord(key int, id, old uint64) operation {
	op := write("update_word", key, id, 0)
	op.Members[0].Present, op.Members[0].Word = true, old
	return op
}
func update(key int, id, old, version uint64) operation {
	op := write("update", key, id, version)
	op.Members[0].Present, op.Members[0].Word, op.Members[0].Base = true, old, old
	return op
}
func erase(key int) operation { return write("erase", key, 0, 0) }

func seen(key int, word, base, version uint64) member {
	return member{Key: key, Present: true, Word: word, Base: base, Version: version}
}
func none(key int) member            { return member{Key: key} }
func get(m member) operation         { return operation{Kind: "get", Members: []member{m}} }
func getMany(m ...member) operation  { return operation{Kind: "get_many", Members: m} }
func snapshot(m ...member) operation { return operation{Kind: "snapshot", Members: m} }
func ranged(m ...member) operation   { return operation{Kind: "range", Members: m} }
func batch(members ...member) operation {
	return operation{Kind: "batch", Members: members, Succeeded: true}
}

func TestHistories(t *testing.T) {
	ab := batch(member{Key: 0, ID: 10}, member{Key: 1, ID: 11})
	for _, c := range []struct {
		name    string
		right   bool
		history []operation
	}{
		{"a get after a put sees it", true, []operation{at(1, 2, put(0, 5, false)), at(3, 4, get(seen(0, 5, 5, 1)))}},
		{"a get after a put sees nothing", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, get(none(0)))}},
		{"a get during a put sees either", true, []operation{at(1, 9, put(0, 5, false)), at(2, 3, get(none(0))), at(4, 5, get(seen(0, 5, 5, 1)))}},
		{"a later get goes back in time", false, []operation{at(1, 9, put(0, 5, false)), at(2, 3, get(seen(0, 5, 5, 1))), at(4, 5, get(none(0)))}},
		{"a value that was overwritten is seen", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, put(0, 6, true)), at(5, 6, get(seen(0, 5, 5, 1)))}},
		{"another key's value is seen", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, get(seen(1, 5, 5, 1)))}},
		{"the second of two puts claims to have inserted", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, put(0, 6, false))}},
		{"one version, two values", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, get(seen(0, 5, 5, 7))), at(5, 6, put(0, 6, true)), at(7, 8, get(seen(0, 6, 6, 7)))}},
		{"a version goes down over an erase", false, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, erase(0)), at(5, 6, write("put_if_absent", 0, 6, 3))}},
		{"an update_word lowers the version", false, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, updateWord(0, 6, 5)), at(5, 6, get(seen(0, 6, 5, 6)))}},
		{"an update_word in place keeps the version", true, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, updateWord(0, 6, 5)), at(5, 6, get(seen(0, 6, 5, 7)))}},
		{"an update_word through a new record raises the version", true, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, updateWord(0, 6, 5)), at(5, 6, get(seen(0, 6, 5, 8)))}},

		{"an erased record is gone", true, []operation{at(1, 2, put(0, 5, false)), at(3, 4, erase(0)), at(5, 6, get(none(0)))}},
		{"an erased record is seen", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, erase(0)), at(5, 6, get(seen(0, 5, 5, 1)))}},
		{"two erases of one record", false, []operation{at(1, 2, put(0, 5, false)), at(3, 8, erase(0)), at(4, 9, erase(0))}},
		{"one erases, the other finds nothing", true, []operation{at(1, 2, put(0, 5, false)), at(3, 8, erase(0)), at(4, 9, refused(erase(0)))}},

		{"put_if_absent twice", false, []operation{at(1, 8, write("put_if_absent", 0, 5, 1)), at(2, 9, write("put_if_absent", 0, 6, 2))}},
		{"put_if_absent refused without a record", false, []operation{at(1, 2, refused(write("put_if_absent", 0, 5, 0)))}},
		{"compare_and_put of the right version", true, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, compareAndPut(0, 7, 6, 8)), at(5, 6, get(seen(0, 6, 6, 8)))}},
		{"compare_and_put of 0 puts where nothing is", true, []operation{at(1, 2, compareAndPut(0, 0, 6, 8)), at(5, 6, get(seen(0, 6, 6, 8)))}},
		{"two of one version both succeed", false, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 8, compareAndPut(0, 7, 6, 8)), at(4, 9, compareAndPut(0, 7, 9, 10))}},
		{"compare_and_put of the right version refused", false, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, refused(compareAndPut(0, 7, 6, 0)))}},
		{"compare_and_put of an old version succeeds", false, []operation{at(1, 2, write("put_if_absent", 0, 5, 7)), at(3, 4, put(0, 6, true)), at(5, 6, compareAndPut(0, 7, 9, 9))}},

		{"two updates, each sees the other's or the first value", true, []operation{at(1, 2, put(0, 5, false)), at(3, 8, updateWord(0, 6, 5)), at(4, 9, updateWord(0, 7, 6))}},
		{"a lost update", false, []operation{at(1, 2, put(0, 5, false)), at(3, 8, updateWord(0, 6, 5)), at(4, 9, updateWord(0, 7, 5))}},
		{"a lost update of the whole value", false, []operation{at(1, 2, put(0, 5, false)), at(3, 8, update(0, 6, 5, 2)), at(4, 9, update(0, 7, 5, 3))}},
		{"the old word in the new record", false, []operation{at(1, 2, put(0, 5, false)), at(3, 4, updateWord(0, 6, 5)), at(5, 6, put(0, 7, true)), at(7, 8, get(seen(0, 6, 7, 3)))}},

		{"a snapshot sees all of a batch", true, []operation{at(1, 8, ab), at(2, 7, snapshot(seen(0, 10, 10, 1), seen(1, 11, 11, 2), none(2)))}},
		{"a snapshot sees half of a batch", false, []operation{at(1, 8, ab), at(2, 7, snapshot(seen(0, 10, 10, 1), none(1), none(2)))}},
		{"a range sees all of a batch", true, []operation{at(1, 8, ab), at(2, 7, ranged(seen(0, 10, 10, 1), seen(1, 11, 11, 2), none(2)))}},
		{"a range sees half of a batch", false, []operation{at(1, 8, ab), at(2, 7, ranged(none(0), seen(1, 11, 11, 2), none(2)))}},
		{"a range misses what an earlier put wrote", false, []operation{at(1, 2, ab), at(3, 7, ranged(seen(0, 10, 10, 1), none(1), none(2)))}},
		{"gets see a batch half after whole", false, []operation{at(1, 8, ab), at(2, 3, get(seen(0, 10, 10, 1))), at(4, 5, get(none(1)))}},
		{"get_many may see half of a batch", true, []operation{at(1, 8, ab), at(2, 7, getMany(seen(0, 10, 10, 0), none(1)))}},
		{"get_many sees an old value", false, []operation{at(1, 2, ab), at(3, 7, getMany(seen(0, 10, 10, 0), none(1)))}},
		{"two batches mix", false, []operation{at(1, 8, ab), at(2, 9, batch(member{Key: 0, ID: 20}, member{Key: 1, ID: 21})), at(10, 11, snapshot(seen(0, 10, 10, 1), seen(1, 21, 21, 4)))}},

		{"a killed put happened", true, []operation{at(1, 5, killed(put(0, 5, false))), at(6, 7, get(seen(0, 5, 5, 1)))}},
		{"a killed put did not happen", true, []operation{at(1, 5, killed(put(0, 5, false))), at(6, 7, get(none(0))), at(8, 9, get(none(0)))}},
		{"a killed put appears after recovery", false, []operation{at(1, 5, killed(put(0, 5, false))), at(6, 7, get(none(0))), at(8, 9, get(seen(0, 5, 5, 1)))}},
		{"a killed put vanishes after recovery", false, []operation{at(1, 5, killed(put(0, 5, false))), at(6, 7, get(seen(0, 5, 5, 1))), at(8, 9, get(none(0)))}},
		{"an acknowledged put is lost by the kill", false, []operation{at(1, 2, put(0, 5, false)), at(1, 5, killed(put(1, 6, false))), at(6, 7, get(none(0)))}},
		{"half of a killed batch", false, []operation{at(1, 5, killed(ab)), at(6, 7, get(seen(0, 10, 10, 1))), at(8, 9, get(none(1)))}},
		{"all of a killed batch", true, []operation{at(1, 5, killed(ab)), at(6, 7, get(seen(0, 10, 10, 1))), at(8, 9, get(seen(1, 11, 11, 2)))}},
		{"a killed erase and a killed update", true, []operation{at(1, 2, put(0, 5, false)), at(3, 5, killed(updateWord(0, 6, 0))), at(3, 5, killed(erase(1))), at(6, 7, get(seen(0, 6, 5, 1)))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if right := check(c.history) == porcupine.Ok; right != c.right {
				t.Errorf("linearizable: %v, expected %v", right, c.right)
			}
		})
	}
}
