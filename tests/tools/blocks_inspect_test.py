"""What `holdfast blocks inspect|verify|dump` say of regions: blocks_inspect_test.py HOLDFAST GOLDEN-DIRECTORY.

LOG-9 and LOG-11: there was no way past damage, and the command knew nothing of logs and pages.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HOLDFAST = os.path.abspath(sys.argv[1])
GOLDEN = pathlib.Path(sys.argv[2])
INDEXES = GOLDEN.parents[1] / 'index' / 'golden'


def image(name):
    """The region that a golden file describes (tests/blocks/log_golden.hpp), and the LSNs that it names."""
    lsns, lines, size = [], [], 0
    for line in (GOLDEN / name).read_text().splitlines():
        first, *rest = line.split()
        if first == 'lsns':
            lsns = [int(word) for word in rest]
        elif first in ('size', 'end'):
            size = int(rest[0])
        else:
            lines.append((int(first, 16), bytes.fromhex(rest[0])))
    region = bytearray(size or -(-(lines[-1][0] + 64) // 4096) * 4096)
    for at, content in lines:
        region[at:at + len(content)] = content
    return region, lsns


class Blocks(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix='blocks-inspect-test-', dir='.')
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name).resolve()

    def region(self, content):
        (self.place / 'region').write_bytes(content)
        return str(self.place / 'region') + '?granularity=line'

    def run_command(self, *words, code=0):
        done = subprocess.run([HOLDFAST, 'blocks', *words], capture_output=True, text=True, timeout=60, cwd=self.place)
        self.assertEqual(done.returncode, code, f'{words}\n{done.stdout}\n{done.stderr}')
        return done

    def test_a_log_is_listed_checked_and_printed(self):
        content, lsns = image('log_checksum_padded.v3.hex')
        spec = self.region(content)
        self.assertIn('a log at offset 0', self.run_command('inspect', spec).stdout)
        self.assertIn('sound', self.run_command('verify', spec).stdout)
        report = json.loads(self.run_command('verify', spec, '--json').stdout)
        self.assertEqual((report['ok'], report['structures'][0]['kind'], report['structures'][0]['damage']), (True, 'a log', []))
        self.assertEqual(report['structures'][0]['used_bytes'], len(content))
        printed = self.run_command('dump', spec).stdout.splitlines()
        self.assertEqual([int(line.split('\t')[0]) for line in printed], lsns)
        self.assertEqual(self.run_command('dump', spec, '--limit', '2').stdout.splitlines(), printed[:2])
        self.assertEqual(self.run_command('dump', spec, '--from', str(lsns[5])).stdout.splitlines(), printed[5:])
        as_json = [json.loads(line) for line in self.run_command('dump', spec, '--json').stdout.splitlines()]
        self.assertEqual([line['lsn'] for line in as_json], lsns)
        self.assertEqual((self.place / 'region').read_bytes(), content, 'it was to be left as it is')

    def test_damage_is_named_and_left_out(self):
        content, lsns = image('log_checksum_padded.v3.hex')
        whole = self.run_command('dump', '--hex', self.region(content)).stdout.splitlines()
        victim = bytes.fromhex(whole[8].split('\t')[1])
        at = content.find(victim)
        content[at] ^= 1
        spec = self.region(content)
        self.assertIn('damage', self.run_command('verify', spec, code=1).stdout)
        self.assertIs(json.loads(self.run_command('verify', spec, '--json', code=1).stdout)['ok'], False)
        done = self.run_command('dump', '--hex', spec, code=1)
        self.assertIn('left out: log: segment', done.stderr)
        kept = done.stdout.splitlines()
        self.assertEqual([line for line in kept if line not in whole], [])
        self.assertNotIn(whole[8], kept)
        self.assertGreaterEqual(len(kept), len(lsns) - 4)

    def test_indexes_are_checked_too(self):
        """verify said nothing of an index, with exit code 0 and `"ok": true`, whatever had become of it."""
        for name, kind, shape in (('dash', 'a Dash index', 'segments'), ('byte_dash', 'a Dash index of bytes', 'segments'),
                                  ('fptree', 'an FP-Tree', 'leaves'), ('fastfair', 'a FAST+FAIR tree', 'nodes')):
            content, _ = image(INDEXES / f'{name}.v1.hex')
            spec = self.region(content)
            done = self.run_command('verify', spec)
            self.assertIn(f'{kind} at offset 0', done.stdout)
            self.assertIn('sound', done.stdout)
            one = json.loads(self.run_command('verify', spec, '--json').stdout)['structures'][0]
            self.assertIn('each lies where its key belongs', one['facts']['records'])
            self.assertIn(' of ', one['facts'][shape])
            self.assertEqual((self.place / 'region').read_bytes(), content, 'it was to be left as it is')
            # The superblock, and what lies last: a segment's, a leaf's, a node's. Not every flip is noticed there.
            content[24] ^= 1
            self.assertIn('damage', self.run_command('verify', self.region(content), code=1).stdout)
            content[24] ^= 1
            noticed = 0
            for at in (at for at in range(8192, len(content), 8) if any(content[at:at + 8])):
                content[at] ^= 1
                noticed += subprocess.run([HOLDFAST, 'blocks', 'verify', self.region(content)], capture_output=True).returncode == 1
                content[at] ^= 1
                if noticed > 2:
                    break
            self.assertGreater(noticed, 2, name)

    def test_all_structures_of_a_region_are_found(self):
        pages, _ = image('whole.v3.hex')
        log, lsns = image('log_checksum_dense.v3.hex')
        spec = self.region(bytes(8192) + log + bytes(4096) + pages)
        found = json.loads(self.run_command('verify', spec, '--json').stdout)['structures']
        self.assertEqual([(one['kind'], one['offset_bytes']) for one in found],
                         [('a log', 8192), ('a page store', 8192 + len(log) + 4096)])
        self.assertIn('are used', found[1]['facts']['pages'])
        self.assertEqual(len(self.run_command('dump', spec).stdout.splitlines()), len(lsns), 'the first log')
        self.assertIn('a page store', self.run_command('inspect', spec, '--offset', str(8192 + len(log) + 4096)).stdout)

    def test_what_cannot_be_meant_is_refused(self):
        self.assertIn('nothing of Holdfast', self.run_command('inspect', self.region(bytes(65536)), code=1).stderr)
        spec = self.region(image('log_checksum_dense.v3.hex')[0])
        self.assertIn('a multiple of 4096', self.run_command('verify', spec, '--offset', '77', code=2).stderr)
        self.assertIn('does not exist', self.run_command('inspect', './nothing', code=1).stderr)
        cut = image('log_checksum_dense.v3.hex')[0]
        cut[100] ^= 255  # In the header's body.
        self.assertIn('checksum', self.run_command('verify', self.region(cut), code=1).stdout)
        pages = self.region(image('whole.v3.hex')[0])
        self.assertIn('it holds no log, but a page store at offset 0', self.run_command('dump', pages, code=1).stderr)


unittest.main(argv=sys.argv[:1])
