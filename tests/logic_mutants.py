#!/usr/bin/env python3
"""Mutation score of the logic.

The sources name deliberate errors: HF_MUTANT("P05", expression, mutated) of holdfast/base/mutant.hpp. The traced
build holds them all, switched off. Each is switched on at run time, one at a time, and the tests must notice. A
mutant that no test notices survives: either it changes nothing that matters, which tests/logic_mutants_allow.txt
then argues, or a test is missing. Exit code 0 if none survives, 1 if one does, 2 if the request was wrong.

  tests/logic_mutants.py                         all mutants, with the tests that tests/logic_mutants.txt names
  tests/logic_mutants.py --only P,holdfast/kv/   ids that begin so, or files
  tests/logic_mutants.py --changed main          only mutants in files changed since that revision
  tests/logic_mutants.py --sample 10 --seed 7    so many of them, drawn by the seed
  tests/logic_mutants.py --list                  the mutants and where they are

(tests/mutation.py does the same for flushes, fences and syncs, which need no marks in the sources.)
"""

import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
from pathlib import Path

from single_tests import list_tests, notice, reach_all

ROOT = Path(__file__).resolve().parent.parent
MUTANT = re.compile(r'\bHF_MUTANT\(\s*"([^"]*)"')
FAILED_TEST = re.compile(r'^\[  FAILED  \] (\S+?),? ', re.MULTILINE)


def wrong(message):
    print(f"logic_mutants.py: {message}", file=sys.stderr)
    sys.exit(2)


def find_mutants(root):
    """{id: (path, line, text of the line)} of the first place of each."""
    mutants = {}
    for path in sorted((root / "holdfast").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".hpp", ".cpp") or name == "holdfast/base/mutant.hpp":
            continue
        text = path.read_text()
        for match in MUTANT.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            place = (name, line, text.splitlines()[line - 1].strip())
            if match[1] in mutants and mutants[match[1]][0] != name:
                wrong(f"{name}:{line}: {match[1]} stands in {mutants[match[1]][0]}, too; an id belongs to one file")
            mutants.setdefault(match[1], place)
    return mutants


def lines_of(path):
    """(number, line) of all that is neither empty nor a comment."""
    if not path.exists():
        return []
    lines = enumerate(path.read_text().splitlines(), 1)
    return [(number, line.strip()) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def read_tests(path):
    """[(prefix, binary, filter, repetitions)]"""
    tests = []
    for number, line in lines_of(path):
        parts = line.split()
        if len(parts) == 3:
            parts.append("1")
        if len(parts) != 4 or not parts[3].isdigit():
            wrong(f"{path}:{number}: expected 'PATH-PREFIX BINARY GTEST-FILTER [REPETITIONS]', saw '{line}'")
        tests.append(tuple(parts))
    return tests


def read_allowed(path, mutants):
    """{id: reason}"""
    allowed = {}
    for number, line in lines_of(path):
        parts = line.split(None, 1)
        if len(parts) != 2:
            wrong(f"{path}:{number}: expected 'ID REASON', saw '{line}'")
        if parts[0] not in mutants:
            wrong(f"{path}:{number}: there is no mutant {parts[0]} in the sources")
        allowed[parts[0]] = parts[1]
    return allowed


def changed_files(root, base):
    diff = subprocess.run(["git", "-C", str(root), "diff", "--name-only", base, "--"], capture_output=True, text=True)
    if diff.returncode != 0:
        wrong(f"--changed {base}: {diff.stderr.strip()}")
    return set(diff.stdout.split())


def verdict(mutant, tests):
    """How a mutant was noticed, or None."""
    found = notice(tests, mutant, {"HOLDFAST_MUTANT": mutant})
    if found is None:
        return None
    test, code, output = found
    failed = FAILED_TEST.search(output)
    name = failed[1] if failed else test.name
    return f"by {name}" + (" (time-out)" if code is None else "" if failed else f" (exit code {code})")


def chosen_mutants(options, mutants):
    chosen = sorted(mutants)
    if options.only is not None:
        parts = tuple(options.only.split(","))
        chosen = [each for each in chosen if each.startswith(parts) or mutants[each][0].startswith(parts)]
    if options.changed is not None:
        changed = changed_files(options.root, options.changed)
        chosen = [each for each in chosen if mutants[each][0] in changed]
    if options.sample is not None and options.sample < len(chosen):
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample))
    return chosen


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=None, help="the build directory (default: build/release)")
    parser.add_argument("--only", metavar="PREFIXES", help="ids or files that begin so, separated by commas")
    parser.add_argument("--changed", metavar="BASE", help="only mutants in files changed since this git revision")
    parser.add_argument("--sample", type=int, metavar="N", help="at most so many, drawn by --seed")
    parser.add_argument("--seed", default="1", help="any text (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--timeout", type=float, default=900, metavar="S",
                        help="for a test without a mutant; with one it gets five times what that took, "
                             "at least 10 s (default: 900)")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: where this script lies)")
    options = parser.parse_args()
    if options.jobs < 1 or (options.sample is not None and options.sample < 1):
        wrong("--jobs and --sample must be at least 1")
    return options


def main():
    options = parse()
    root = options.root
    build = (options.build or root / "build" / "release").resolve()
    mutants = find_mutants(root)
    allowed = read_allowed(root / "tests" / "logic_mutants_allow.txt", mutants)
    table = read_tests(root / "tests" / "logic_mutants.txt")
    chosen = chosen_mutants(options, mutants)
    if options.list:
        for each in chosen:
            print("{}  {}:{}  {}".format(each, *mutants[each]))
        return 0
    print(f"{len(chosen)} of {len(mutants)} mutants" +
          (f", sample of seed {options.seed}" if options.sample is not None else ""), flush=True)

    groups = {}  # Line of the table: its tests.
    for prefix, name, only, repetitions in table:
        if any(mutants[each][0].startswith(prefix) for each in chosen) and (name, only, repetitions) not in groups:
            binary = str(build / name)
            if not os.access(binary, os.X_OK):
                wrong(f"{binary} is not a program that can be run; build it first")
            groups[name, only, repetitions] = list_tests(binary, [f"--gtest_filter={only}"], int(repetitions))
    failed = reach_all([test for tests in groups.values() for test in tests], "HOLDFAST_MUTANTS_OUT", options.timeout,
                       options.jobs)
    if failed is not None:
        wrong(failed)
    tests_of = {each: [test for prefix, *group in table if mutants[each][0].startswith(prefix)
                       for test in groups[tuple(group)]] for each in chosen}

    counts = {"killed": 0, "allowed": 0, "survived": 0}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {}
        for each in chosen:
            reaching = any(each in test.reached for test in tests_of[each])
            runs[pool.submit(verdict, each, tests_of[each])] = (each, reaching)
        for future in concurrent.futures.as_completed(runs):
            each, reaching = runs[future]
            how, word = future.result(), "killed"
            if how is None:
                how = allowed.get(each) or ("" if reaching else "no test reaches it")
                word = "allowed" if each in allowed else "SURVIVED"
            counts[word.lower()] += 1
            print("{:<9} {}  {}:{}  {}".format(word, each, *mutants[each][:2], how), flush=True)
    print(f"logic mutants: {counts['killed']}/{len(chosen)} noticed, {counts['allowed']} allowed, "
          f"{counts['survived']} survived")
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
