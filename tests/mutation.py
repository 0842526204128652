#!/usr/bin/env python3
"""Mutation score of flush, fence and sync sites.

Every write-back, fence and sync that a traced test binary reaches is dropped once, at run time, and
the tests must notice. A mutant that no test notices survives: either the step is not needed, or a
test is missing. Exit code 0 if none survives, 1 if one does, 2 if the request was wrong.

First each test of the binary runs alone, which shows the sites that it reaches. A mutant then runs
the tests that reach its site, until one fails: those first that noticed most mutants before, of
these the quick ones. A binary that cannot list its tests (GoogleTest's --gtest_list_tests) is run
whole.

  tests/mutation.py build/release/tests/kv/kv_tests_traced
  tests/mutation.py BINARY --changed main             only sites in lines changed since that revision
  tests/mutation.py BINARY --only holdfast/kv/        only sites whose path begins so
  tests/mutation.py BINARY --sample N --seed TEXT     N of the sites, drawn by TEXT
  tests/mutation.py BINARY -- --gtest_filter='Kv*'    arguments for the binary

The allow-list (tests/mutation_allow.txt) holds accepted survivors, one per line:
  fence holdfast/kv/store.cpp:123  reason why dropping it is harmless
Line numbers go stale; "fence holdfast/kv/store.cpp `text of the statement`  reason" follows the code.
"""

import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def wrong(message):
    print(f"mutation.py: {message}", file=sys.stderr)
    sys.exit(2)


class Test:
    """One test of the binary: the sites that it reaches, how long it takes, the mutants it noticed."""

    def __init__(self, name, arguments):
        self.name = name
        self.arguments = arguments
        self.sites = set()
        self.seconds = 0.0
        self.noticed = 0


def list_tests(binary, arguments):
    """The tests of a GoogleTest binary that `arguments` select; one that is all of it for another binary."""
    try:
        done = subprocess.run([binary, *arguments, "--gtest_list_tests"], capture_output=True, text=True,
                              timeout=60, stdin=subprocess.DEVNULL)
        lines = done.stdout.splitlines() if done.returncode == 0 else []
    except subprocess.TimeoutExpired:
        lines = []
    tests, suite = [], None
    for line in lines:
        name = line.split("#")[0].rstrip()  # What follows describes a parameter.
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif suite is not None and re.fullmatch(r"  \S+", name) and "DISABLED_" not in suite + name:
            full = suite + name.strip()
            tests.append(Test(full, [*arguments, f"--gtest_filter={full}"]))
    return tests or [Test(Path(binary).name, arguments)]


def reach(binary, test, timeout):
    """Runs the test as it is; fills in the sites it reaches and how long it takes."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".sites") as out:
        environment = dict(os.environ, HOLDFAST_SITES_OUT=out.name)
        environment.pop("HOLDFAST_DROP_SITE", None)
        begin = time.monotonic()
        try:
            done = subprocess.run([binary, *test.arguments], env=environment, timeout=timeout,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"{test.name} takes longer than {timeout} s without any mutation; raise --timeout"
        test.seconds = time.monotonic() - begin
        if done.returncode != 0:
            end = done.stdout[-4000:].decode(errors="replace")
            return f"{end}\n{test.name} fails without any mutation (exit code {done.returncode})"
        test.sites = {line.strip() for line in out.read().splitlines() if line.strip()}
    return None


def reached_sites(binary, arguments, timeout, jobs):
    """Runs every test of the binary as it is; returns the tests and the sites they reach."""
    tests = list_tests(binary, arguments)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = [pool.submit(reach, binary, test, timeout) for test in tests]
        for done, future in enumerate(concurrent.futures.as_completed(runs), 1):
            if future.result() is not None:
                pool.shutdown(cancel_futures=True)
                wrong(future.result())
            progress(f"{done}/{len(tests)} tests run without a mutant")
    return tests, sorted(set().union(*(test.sites for test in tests)))


def run(binary, tests, site):
    """Drops the site in the tests that reach it: 'green', 'red' or 'timeout' (which counts as noticed)."""
    environment = dict(os.environ, HOLDFAST_DROP_SITE=site, GTEST_FAIL_FAST="1")
    environment.pop("HOLDFAST_SITES_OUT", None)
    of_site = [test for test in tests if site in test.sites]
    for test in sorted(of_site, key=lambda test: (-test.noticed, test.seconds)):
        try:
            done = subprocess.run([binary, *test.arguments], env=environment, timeout=max(10.0, 5 * test.seconds),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            verdict = "green" if done.returncode == 0 else "red"
        except subprocess.TimeoutExpired:
            verdict = "timeout"
        if verdict != "green":
            test.noticed += 1
            return verdict
    return "green"


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text} ", end="", file=sys.stderr)


def changed_lines(base):
    """{path: set of line numbers} added or changed since `base`, uncommitted changes included."""
    diff = subprocess.run(["git", "-C", str(ROOT), "diff", "-U0", "--no-color", base, "--"],
                          capture_output=True, text=True)
    if diff.returncode != 0:
        wrong(f"--changed {base}: {diff.stderr.strip()}")
    changed, path = {}, None
    for line in diff.stdout.splitlines():
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@") and path:
            begin, count = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line).groups()
            begin, count = int(begin), int(count or 1)
            changed.setdefault(path, set()).update(range(begin, begin + count))
    return changed


def split_site(site):
    step, place = site.split(" ", 1)
    path, line = place.rsplit(":", 1)
    return step, path, int(line)


def statement(path, line):
    """The statement that begins at a line: a call over several lines, also one in a macro, is named by the first."""
    try:
        lines = (ROOT / path).read_text().splitlines()[line - 1:line + 7]
    except OSError:
        return ""
    text = ""
    for part in lines:
        text += (" " if text else "") + part.strip()
        if re.search(r"[;{}]\s*(//.*)?$", part):
            break
    return text


def read_allowed(path):
    """[(step, path, line or None, text or None, reason)]"""
    allowed = []
    if not path.exists():
        return allowed
    pattern = re.compile(r"(write_back|fence|sync) ([^\s:`]+)(?::(\d+)|\s+`([^`]+)`)\s+(\S.*)")
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = pattern.fullmatch(line)
        if not match:
            wrong(f"{path}:{number}: expected 'STEP FILE:LINE  REASON' or 'STEP FILE `CODE`  REASON', "
                  f"saw '{line}'")
        step, file, at, text, reason = match.groups()
        allowed.append((step, file, int(at) if at else None, text, reason))
    return allowed


def reason_for(site, allowed):
    step, path, line = split_site(site)
    for entry_step, entry_path, entry_line, text, reason in allowed:
        if (step, path) == (entry_step, entry_path):
            if entry_line == line or (text is not None and text in statement(path, line)):
                return reason
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="a traced test binary")
    parser.add_argument("--changed", metavar="BASE", help="only sites in lines changed since this git revision")
    parser.add_argument("--only", metavar="PREFIX", default="holdfast/",
                        help="only sites whose path begins so (default: holdfast/)")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of the sites at most")
    parser.add_argument("--seed", default="1", metavar="TEXT", help="which of them (default: 1)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="for a test without a mutant; with one it gets five times what it took, "
                             "at least 10 s (default: 600)")
    parser.add_argument("--allow", type=Path, default=ROOT / "tests" / "mutation_allow.txt", metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the sites and stop")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    arguments = sys.argv[end + 1:]  # For the binary.
    if not os.access(options.binary, os.X_OK):
        wrong(f"{options.binary} is not a program that can be run")
    for name, number in (("jobs", options.jobs), ("sample", options.sample)):
        if number is not None and number < 1:
            wrong(f"--{name} {number}: must be at least 1")

    binary = str(Path(options.binary).resolve())
    allowed = read_allowed(options.allow)
    tests, sites = reached_sites(binary, arguments, options.timeout, options.jobs)
    sites = [site for site in sites if split_site(site)[1].startswith(options.only)]
    if options.changed is not None:
        changed = changed_lines(options.changed)
        sites = [site for site in sites if split_site(site)[2] in changed.get(split_site(site)[1], ())]
    if options.list:
        print("\n".join(sites))
        return 0
    if not sites:
        print("mutation score: no sites to drop" +
              (f" in lines changed since {options.changed}" if options.changed is not None else ""))
        return 0

    if options.sample is not None:
        print(f"{min(options.sample, len(sites))} of {len(sites)} sites, drawn by --seed {options.seed}")
        random.Random(options.seed).shuffle(sites)
        del sites[options.sample:]
    counts = {"red": 0, "timeout": 0}
    survivors, excused = [], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(run, binary, tests, site): site for site in sites}
        for done, future in enumerate(concurrent.futures.as_completed(runs), 1):
            site, verdict = runs[future], future.result()
            if verdict == "green":
                reason = reason_for(site, allowed)
                excused.append((site, reason)) if reason else survivors.append(site)
                if not reason:  # At once: all of it can take an hour.
                    print(f"survived  {site}", flush=True)
            else:
                counts[verdict] += 1
            progress(f"{done}/{len(sites)} mutants, {len(survivors)} survived")
    if sys.stderr.isatty():
        print(file=sys.stderr)

    for site, reason in sorted(excused):
        print(f"allowed   {site}  ({reason})")
    for site in sorted(survivors):
        _, path, line = split_site(site)
        print(f"SURVIVED  {site}  {statement(path, line)}")
    noticed = counts["red"] + counts["timeout"]
    print(f"mutation score: {noticed}/{len(sites)} dropped sites noticed"
          f" ({counts['timeout']} by time-out), {len(excused)} allowed, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
