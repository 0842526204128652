"""The tests of a GoogleTest program, one by one: what each of them reaches, and which of them notice a mutant.

tests/mutation.py and tests/logic_mutants.py use it. A mutant then runs the tests that reach it, and no others: those
first that noticed most mutants before, of these the quick ones, until one fails.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path


class Test:
    """A test, or several in one program that cannot list its tests."""

    def __init__(self, binary, name, arguments, repetitions=1):
        self.binary, self.name, self.arguments, self.repetitions = binary, name, arguments, repetitions
        self.reached = set()
        self.seconds = 0.0
        self.noticed = 0

    def run(self, timeout, environment):
        """(exit code or None after `timeout` seconds, output)"""
        # What drives mutants comes from here only.
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith(("HOLDFAST_MUTANT", "HOLDFAST_DROP_SITE", "HOLDFAST_SITES_OUT"))}
        inherited |= {"GTEST_FAIL_FAST": "1", "GTEST_REPEAT": str(self.repetitions)}
        try:
            done = subprocess.run([self.binary, *self.arguments], timeout=timeout, env=inherited | environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as expired:
            return None, (expired.stdout or b"").decode(errors="replace")
        return done.returncode, done.stdout.decode(errors="replace")

    def reach(self, variable, timeout):
        """Runs it without a mutant; the program writes what it reaches into the file that `variable` names.
        Returns what went wrong, or None."""
        with tempfile.NamedTemporaryFile(mode="r", suffix=".reached") as out:
            begin = time.monotonic()
            code, output = self.run(timeout, {variable: out.name})
            self.seconds = time.monotonic() - begin
            if code is None:
                return f"{self.name} is not done in {timeout} s without any mutant; raise --timeout"
            if code != 0:
                return f"{output[-4000:]}\n{self.name} of {self.binary} fails without any mutant (exit code {code})"
            self.reached = {line.strip() for line in out.read().splitlines() if line.strip()}
        return None


def list_tests(binary, arguments=(), repetitions=1):
    """The tests that `arguments` select; one that is all of it for a program without GoogleTest."""
    try:
        done = subprocess.run([binary, *arguments, "--gtest_list_tests"], capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL)
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
            tests.append(Test(binary, full, [*arguments, f"--gtest_filter={full}"], repetitions))
    return tests or [Test(binary, Path(binary).name, list(arguments), repetitions)]


def reach_all(tests, variable, timeout, jobs):
    """Test.reach() of each, side by side. Returns what went wrong first, or None."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = [pool.submit(test.reach, variable, timeout) for test in tests]
        for done, future in enumerate(concurrent.futures.as_completed(runs), 1):
            if future.result() is not None:
                pool.shutdown(cancel_futures=True)
                return future.result()
            progress(f"{done}/{len(tests)} tests run without a mutant")
    return None


def notice(tests, mutant, environment):
    """(the test that notices the mutant, its exit code or None for a time-out, its output); None if none does."""
    for test in sorted((test for test in tests if mutant in test.reached),
                       key=lambda test: (-test.noticed, test.seconds)):
        code, output = test.run(max(10.0, 5 * test.seconds), environment)
        if code != 0:
            test.noticed += 1
            return test, code, output
    return None


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text} ", end="", file=sys.stderr, flush=True)
