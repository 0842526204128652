// main.go: checker FILE [-picture FILE.html]
//
// Reads the JSON lines of record_histories and decides for every history whether it is linearizable.
// Then it puts errors into the histories found right (a read that returns what another read of that key
// returned, an update that claims to have seen another value, an erase or put that claims the other
// outcome, a batch of which one member is taken away) and counts how many of them are noticed: a checker
// that accepts everything would otherwise look like a store without errors.
//
// Exit 0 all linearizable and the errors noticed; 1 a history is not, or was not decided in time; 2 usage.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	timePerHistory    = 20 * time.Second
	historiesPerRound = 1_000_000 // record_histories numbers them so.
	// Some errors make another right history (a put that reports the other outcome beside a
	// concurrent erase), so not all are noticed. What is measured lies far above.
	leastNoticed = 0.5
)

func readHistories(path string) (map[uint64][]operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	histories := map[uint64][]operation{}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	for number := 1; lines.Scan(); number++ {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, fmt.Errorf("%s: line %d: %v", path, number, err)
		}
		for _, m := range op.Members {
			if m.Key < 0 || m.Key >= numKeys {
				return nil, fmt.Errorf("%s: line %d: key %d, allowed are 0 to %d", path, number, m.Key, numKeys-1)
			}
		}
		if len(op.Members) == 0 {
			return nil, fmt.Errorf("%s: line %d: an operation without members", path, number)
		}
		histories[op.History] = append(histories[op.History], op.inPlain())
	}
	return histories, lines.Err()
}

func check(history []operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(), events(history), timePerHistory)
}

// mutate returns a copy of history with one error in it, or false where there is nothing to do it to.
func mutate(history []operation, random *rand.Rand) ([]operation, bool) {
	copied := make([]operation, len(history))
	for i, op := range history {
		copied[i] = op
		copied[i].Members = append([]member(nil), op.Members...)
	}
	for _, i := range random.Perm(len(copied)) {
		op := &copied[i]
		if op.Pending {
			continue
		}
		switch op.Kind {
		case "get", "snapshot", "range":
			if other, found := anotherRead(copied, op.Members[0], random); found {
				op.Members[0] = other
				return copied, true
			}
		case "update_word", "update":
			if op.Succeeded {
				op.Members[0].Word++ // The id of another operation, or of none.
				return copied, true
			}
		case "erase":
			op.Succeeded = !op.Succeeded
			return copied, true
		case "put":
			op.Overwrote = !op.Overwrote
			return copied, true
		case "batch":
			if wasRead(copied, op.Members[0].ID) {
				op.Members = op.Members[1:]
				return copied, true
			}
		}
	}
	return nil, false
}

func reads(op operation) bool { return !op.Pending && (op.Kind == "get" || op.Kind == "snapshot" || op.Kind == "range") }

// anotherRead draws what some read of the same key returned that is not what m is.
func anotherRead(history []operation, m member, random *rand.Rand) (member, bool) {
	var others []member
	for _, op := range history {
		if !reads(op) {
			continue
		}
		for _, other := range op.Members {
			if other.Key == m.Key && (other.Present != m.Present || other.Word != m.Word) {
				others = append(others, other)
			}
		}
	}
	if len(others) == 0 {
		return m, false
	}
	return others[random.Intn(len(others))], true
}

func wasRead(history []operation, id uint64) bool {
	for _, op := range history {
		for _, m := range op.Members {
			if reads(op) && m.Present && m.Base == id {
				return true
			}
		}
	}
	return false
}

func printHistory(history []operation) {
	sort.SliceStable(history, func(i, j int) bool { return history[i].Call < history[j].Call })
	first := history[0].Call
	for _, op := range history {
		fmt.Printf("  client %d  %9d … %9d ns  %s\n", op.Client, op.Call-first, op.Return-first, op)
	}
}

func run() int {
	picture := flag.String("picture", "", "where to write a picture of the first history that is not linearizable (HTML)")
	seed := flag.Int64("seed", 1, "of the errors put into the histories")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: checker [-picture FILE.html] [-seed N] FILE")
		return 2
	}
	histories, err := readHistories(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "checker:", err)
		return 2
	}
	var numbers []uint64
	for number := range histories {
		numbers = append(numbers, number)
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })

	random := rand.New(rand.NewSource(*seed))
	operations, pending, wrong, undecided, mutants, noticed := 0, 0, 0, 0, 0, 0
	for _, number := range numbers {
		history := histories[number]
		operations += len(history)
		for _, op := range history {
			if op.Pending {
				pending++
			}
		}
		switch check(history) {
		case porcupine.Illegal:
			wrong++
			fmt.Printf("FAIL history %d (round %d) is not linearizable\n", number%historiesPerRound, number/historiesPerRound)
			if wrong == 1 {
				printHistory(history)
				if *picture != "" {
					_, information := porcupine.CheckOperationsVerbose(model(), events(history), timePerHistory)
					if err := porcupine.VisualizePath(model(), information, *picture); err == nil {
						fmt.Println("  picture:", *picture)
					}
				}
			}
			continue
		case porcupine.Unknown:
			undecided++
			fmt.Printf("FAIL history %d (%d operations) was not decided within %v\n", number, len(history), timePerHistory)
			continue
		}
		if mutant, ok := mutate(history, random); ok {
			mutants++
			if check(mutant) == porcupine.Illegal {
				noticed++
			}
		}
	}
	fmt.Printf("%d histories, %d operations, %d pending: %d not linearizable, %d undecided; %d of %d errors put in were noticed\n",
		len(histories), operations, pending, wrong, undecided, noticed, mutants)
	if len(histories) == 0 || mutants == 0 || float64(noticed) < leastNoticed*float64(mutants) {
		fmt.Println("FAIL too little was checked, or too few errors were noticed, for this to show anything")
		return 1
	}
	if wrong+undecided > 0 {
		return 1
	}
	fmt.Println("PASS linearizability")
	return 0
}

func main() { os.Exit(run()) }
