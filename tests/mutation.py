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
  tests/mutation.py BINARY -- --gtest_filter='Kv*'    arguments for the binary

The allow-list (tests/mutation_allow.txt) holds accepted survivors, one per line:
  fence holdfast/kv/store.cpp:123  reason why dropping it is harmless
Line numbers go stale; "fence holdfast/kv/store.cpp `text of the statement`  reason" follows the code.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
from pathlib import Path

from single_tests import list_tests, notice, progress, reach_all

ROOT = Path(__file__).resolve().parent.parent


def wrong(message):
    print(f"mutation.py: {message}", file=sys.stderr)
    sys.exit(2)


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
    if options.jobs < 1:
        wrong(f"--jobs {options.jobs}: must be at least 1")

    binary = str(Path(options.binary).resolve())
    allowed = read_allowed(options.allow)
    tests = list_tests(binary, arguments)
    failed = reach_all(tests, "HOLDFAST_SITES_OUT", options.timeout, options.jobs)
    if failed is not None:
        wrong(failed)
    sites = sorted(site for site in set().union(*(test.reached for test in tests))
                   if split_site(site)[1].startswith(options.only))
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

    noticed, by_timeout, survivors, excused = 0, 0, [], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(notice, tests, site, {"HOLDFAST_DROP_SITE": site}): site for site in sites}
        for done, future in enumerate(concurrent.futures.as_completed(runs), 1):
            site, found = runs[future], future.result()
            if found is None:
                reason = reason_for(site, allowed)
                excused.append((site, reason)) if reason else survivors.append(site)
                if not reason:  # At once: all of it can take an hour.
                    print(f"survived  {site}", flush=True)
            else:
                noticed += 1
                by_timeout += found[1] is None
            progress(f"{done}/{len(sites)} mutants, {len(survivors)} survived")
    if sys.stderr.isatty():
        print(file=sys.stderr)

    for site, reason in sorted(excused):
        print(f"allowed   {site}  ({reason})")
    for site in sorted(survivors):
        _, path, line = split_site(site)
        print(f"SURVIVED  {site}  {statement(path, line)}")
    print(f"mutation score: {noticed}/{len(sites)} dropped sites noticed"
          f" ({by_timeout} by time-out), {len(excused)} allowed, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
