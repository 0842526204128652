"""suites.py REPORTS: what Flink's suites made of the state backend, from the reports of Maven's surefire: one line for
each suite, the aborted assumptions by name. Fails where a test failed, a suite is missing or smaller than it was, or other
assumptions were aborted than EXPECTED names."""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree

# The least number of tests, and what is aborted, as often: methods that the state of a context does not have. RocksDB's
# backend has no incremental cleanup of expired state either.
EXPECTED = {
    'org.apache.flink.runtime.state.HoldfastStateBackendTest': (213, {}),
    'org.apache.flink.runtime.state.HoldfastStateBackendMigrationTest': (96, {}),
    'org.apache.flink.runtime.state.ttl.HoldfastTtlStateTest': (144, {
        'testIncrementalCleanup': 9, 'testIncrementalCleanupWholeState': 9, 'testMergeNamespaces': 4, 'testValueSetNull': 8}),
    # Besides: nothing is left out of the files of incremental checkpoints, by Flink's design.
    'org.apache.flink.runtime.state.ttl.HoldfastIncrementalTtlStateTest': (144, {
        'testIncrementalCleanup': 9, 'testIncrementalCleanupWholeState': 9, 'testMergeNamespaces': 4, 'testValueSetNull': 8,
        'testMultipleKeysWithSnapshotCleanup': 9, 'testMultipleNamespacesWithSnapshotCleanup': 9}),
    'org.apache.flink.runtime.state.SavepointExchangeTest': (8, {}),
    'org.apache.flink.runtime.state.IncrementalCheckpointTest': (12, {}),
    'org.apache.flink.runtime.state.StatesTest': (6, {}),
    'org.holdfast.flink.JobsTest': (16, {}),
    'org.holdfast.flink.PackTest': (2, {}),
    'org.holdfast.flink.StatePlaceTest': (8, {}),
    'org.holdfast.flink.ValueCacheTest': (17, {}),
}


def read(report):
    """(passed, failed, {aborted method: times})"""
    passed, failed, aborted = 0, [], collections.Counter()
    for case in xml.etree.ElementTree.parse(report).getroot().iter('testcase'):
        method = re.match(r'\w+', case.get('name'))[0]
        if case.find('skipped') is not None:
            aborted[method] += 1
        elif case.find('failure') is not None or case.find('error') is not None:
            failed.append(case.get('name'))
            for what in (*case.findall('failure'), *case.findall('error')):
                print('\n'.join([f'{case.get("name")}:', *(what.text or '').splitlines()[:30]]), file=sys.stderr)
        else:
            passed += 1
    return passed, failed, dict(aborted)


def main():
    wrong = []
    print(f'{"suite":34} {"found":>6} {"passed":>7} {"aborted":>8} {"failed":>7}')
    for suite, (least, expected) in EXPECTED.items():
        report = pathlib.Path(sys.argv[1]) / f'TEST-{suite}.xml'
        name = suite.rsplit('.', 1)[1]
        if not report.exists():
            wrong.append(f'{name} did not run')
            continue
        passed, failed, aborted = read(report)
        found = passed + len(failed) + sum(aborted.values())
        print(f'{name:34} {found:6} {passed:7} {sum(aborted.values()):8} {len(failed):7}')
        for method, times in sorted(aborted.items()):
            print(f'    aborted {times:3} x {method}')
        if failed:
            wrong.append(f'{name}: failed {", ".join(failed[:20])}')
        if found < least:
            wrong.append(f'{name}: {found} tests, {least} were expected')
        if aborted != expected:
            wrong.append(f'{name}: aborted {aborted}, expected {expected}')
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
