#!/usr/bin/env python3
"""Our histogram against PyPI's hdrhistogram on the same values.

usage: histogram_cross_check.py PATH_OF_HISTOGRAM_PRINT

Runs itself again under $HOLDFAST_TEST_PYTHON if that is set (./run test points it at a virtual
environment with the package). Exit code 77, "skipped" for ctest, if the package is not to be had.
"""
import os
import random
import subprocess
import sys

python = os.environ.get("HOLDFAST_TEST_PYTHON")
if python and not os.environ.get("HOLDFAST_TEST_PYTHON_RUNS"):
    os.environ["HOLDFAST_TEST_PYTHON_RUNS"] = "1"  # So that it happens once.
    os.execv(python, [python] + sys.argv)

try:
    from hdrh.histogram import HdrHistogram
except ImportError:
    print("skipped: this Python has no package hdrhistogram (HOLDFAST_TEST_PYTHON names one that has)")
    sys.exit(77)

OUR_ERROR = 1 / 128     # histogram.hpp: reported values are at most this much above.
THEIR_ERROR = 1 / 1000  # Three significant digits.


def distributions():
    rng = random.Random(2026)
    yield "uniform", [rng.randrange(1, 1_000_000) for _ in range(20_000)]
    yield "latencies", [int(rng.lognormvariate(5.5, 0.6)) + 1 for _ in range(20_000)]
    yield "long tail", [int(100 * rng.paretovariate(0.9)) for _ in range(20_000)]
    yield "two modes", [rng.choice((104, 4_000_000)) + rng.randrange(50) for _ in range(20_000)]
    yield "one value", [777_777] * 1_000


def main():
    failures = 0
    for name, values in distributions():
        output = subprocess.run([sys.argv[1]], input="\n".join(map(str, values)), text=True,
                                capture_output=True, check=True).stdout
        ours = dict(line.split() for line in output.splitlines())
        theirs = HdrHistogram(1, 10**15, 3)
        for value in values:
            theirs.record_value(value)
        assert int(ours["count"]) == theirs.get_total_count() == len(values), name
        assert int(ours["min"]) == min(values) and int(ours["max"]) == max(values), name
        assert abs(float(ours["mean"]) - sum(values) / len(values)) < 1e-3, name
        compared = differ = 0
        for key, text in ours.items():
            if key in ("count", "min", "max", "mean"):
                continue
            # Both report an upper bound of the same recorded value.
            our, their = int(text), theirs.get_value_at_percentile(float(key))
            compared += 1
            if not their / (1 + THEIR_ERROR) - 1 <= our <= their * (1 + OUR_ERROR) + 1:
                print(f"{name}: percentile {key}: ours {our}, hdrhistogram {their}")
                differ += 1
        assert compared == 8, name
        print(f"{name}: {compared - differ} of {compared} percentiles agree")
        failures += differ
    return 1 if failures else 0


sys.exit(main())
