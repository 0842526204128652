#!/usr/bin/env python3
"""The rules of the house that a compiler does not check (docs/architecture.md):

  layers    includes go down only: base 0; memory 1 (crash 1: tests only); blocks 2; index 3;
            kv, stream, olap 4, which never include one another; bench 5; tools, tests: anything
  heavy     no heavy third-party header in a header of holdfast/
  persist   flush, fence and non-temporal store instructions stand in memory/ only (and in bench/,
            which measures them)
  alone     every header compiles on its own, in the normal and in the traced build

usage: layer_test.py SOURCE_DIRECTORY [--compiler CXX]   without a compiler, "alone" is left out
       layer_test.py --self-test                         each rule catches a violation made for it
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LEVEL = {"base": 0, "memory": 1, "crash": 1, "blocks": 2, "index": 3,
         "kv": 4, "stream": 4, "olap": 4, "bench": 5}
# Beside the lower levels and a layer itself.
EXTRA = {("crash", "memory")}
# Not included by anything that is shipped.
TESTS_ONLY = {"crash"}
HEAVY = re.compile(r'#\s*include\s*[<"](nlohmann|CLI|fmt|spdlog|yaml-cpp|rocksdb|leveldb|lmdb|tbb|oneapi|'
                   r'hwloc|gtest|gmock|rapidcheck)[/.]')
PERSIST = re.compile(r'_mm_(clwb|clflush|clflushopt|sfence|mfence|stream_)|_mm(256|512)_stream_|'
                     r'\b(clwb|clflushopt|clflush|sfence)\b\s*(\(%|"|;|\()|\bmsync\s*\(|\bf(data)?sync\s*\(')
INCLUDE = re.compile(r'^\s*#\s*include\s*<holdfast/([a-z0-9_]+)/', re.M)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)


def layer_of(path, source):
    return path.relative_to(source / "holdfast").parts[0]


def check_text(path, source):
    """Violations of the first three rules in one file."""
    layer = layer_of(path, source)
    where = path.relative_to(source)
    text = path.read_text(encoding="utf-8")
    code = COMMENT.sub("", text)
    if layer not in LEVEL:
        yield f"{where}: layer '{layer}' is unknown; add it to tests/layer_test.py"
        return
    for other in INCLUDE.findall(code):
        if other == layer or (layer, other) in EXTRA:
            continue
        if other not in LEVEL:
            yield f"{where}: includes holdfast/{other}/, which is no layer"
        elif LEVEL[other] >= LEVEL[layer]:
            yield f"{where}: {layer} ({LEVEL[layer]}) includes {other} ({LEVEL[other]}); includes go down only"
        elif other in TESTS_ONLY:
            yield f"{where}: includes {other}, which is for tests only"
    if path.suffix == ".hpp":
        for heavy in HEAVY.findall(code):
            yield f"{where}: a header includes {heavy}; heavy headers belong into .cpp files"
    if layer not in ("memory", "bench"):
        found = PERSIST.search(code)
        if found:
            yield f"{where}: '{found.group(0)}' outside of memory/; use memory/persist.hpp or Region"


def check_alone(path, source, compiler):
    """Whether the header compiles as the only one of a translation unit; both builds."""
    name = path.relative_to(source)
    layer = layer_of(path, source)
    builds = {"normal": [], "traced": ["-DHOLDFAST_TRACED=1"]}
    if layer == "crash":
        del builds["normal"]  # Exists as traced only.
    for build, flags in builds.items():
        command = compiler + ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-I", str(source), "-Werror",
                              *flags, "-x", "c++", "-"]
        result = subprocess.run(command, input=f"#include <{name}>\n#include <{name}>\n", text=True,
                                capture_output=True)
        if result.returncode != 0:
            first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr[:300])
            yield f"{name}: does not compile alone ({build}): {first}"


def files_of(source):
    return sorted(path for path in (source / "holdfast").rglob("*") if path.suffix in (".hpp", ".cpp"))


def check(source, compiler):
    files = files_of(source)
    violations = [violation for path in files for violation in check_text(path, source)]
    headers = [path for path in files if path.suffix == ".hpp"]
    if compiler:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(lambda path: list(check_alone(path, source, compiler)), headers):
                violations += found
    return len(files), len(headers), violations


def self_test():
    good = {"base/a.hpp": "#pragma once\n// _mm_sfence() in a comment\ninline int a() { return 1; }\n",
            "kv/store.hpp": "#pragma once\n#include <holdfast/base/a.hpp>\ninline int s() { return a(); }\n",
            "kv/store.cpp": "#include <fmt/format.h>\n",
            "memory/persist.hpp": "#pragma once\n#include <emmintrin.h>\ninline void f() { _mm_sfence(); }\n",
            "crash/check.hpp": "#pragma once\n#include <holdfast/memory/persist.hpp>\n"}
    bad = {"up": ("base/b.hpp", "#pragma once\n#include <holdfast/kv/store.hpp>\n"),
           "sideways": ("olap/o.hpp", "#pragma once\n#include <holdfast/kv/store.hpp>\n"),
           "crash in the library": ("kv/c.cpp", "#include <holdfast/crash/check.hpp>\n"),
           "unknown layer": ("misc/m.hpp", "#pragma once\n"),
           "heavy header": ("kv/j.hpp", "#pragma once\n#include <nlohmann/json.hpp>\n"),
           "fence elsewhere": ("kv/f.cpp", "#include <emmintrin.h>\nvoid f() { _mm_sfence(); }\n"),
           "flush elsewhere": ("kv/g.cpp", 'void f(char* p) { asm volatile("clwb (%0)" : : "r"(p)); }\n'),
           "fdatasync elsewhere": ("kv/h.cpp", "#include <unistd.h>\nvoid f() { fdatasync(1); }\n"),
           "not alone": ("kv/n.hpp", "#pragma once\ninline std::string n();\n"),
           "no include guard": ("kv/i.hpp", "struct Twice {};\n")}
    failures = 0
    for name, extra in [("nothing", None), *bad.items()]:
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory)
            for path, text in [*good.items(), *([extra] if extra else [])]:
                (source / "holdfast" / path).parent.mkdir(parents=True, exist_ok=True)
                (source / "holdfast" / path).write_text(text)
            violations = check(source, [os.environ.get("CXX", "c++")])[2]
            expected = 1 if extra else 0
            found = [violation for violation in violations if not extra or extra[0] in violation]
            if bool(violations) != bool(expected) or len(found) != len(violations):
                print(f"self-test '{name}': expected {expected} violation(s), found {violations}")
                failures += 1
    print(f"self-test: {len(bad) + 1 - failures} passed, {failures} failed")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", nargs="?")
    parser.add_argument("--compiler")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if not arguments.source:
        parser.error("SOURCE_DIRECTORY is missing")
    source = pathlib.Path(arguments.source).resolve()
    files, headers, violations = check(source, [arguments.compiler] if arguments.compiler else None)
    for violation in violations:
        print(violation)
    print(f"layer test: {files} files, {headers} headers"
          f"{' compiled alone' if arguments.compiler else ''}, {len(violations)} violation(s)")
    # A check of nothing would pass for the wrong reason.
    return 1 if violations or files == 0 else 0


sys.exit(main())
