"""`holdfast stream run` with a real Kafka (3.9, KRaft, from Maven Central).

    kafka_test.py HOLDFAST JARS [--kills N] [--seed N]

  1. Where reading begins and ends; keys; Avro; malformed records; what is refused; a topic that is missing.
  2. Partitions that are read at different speeds: windows are those of each partition's own order.
  3. Windows from Kafka to Kafka, exactly once: the run is killed again and again, the broker once; the committed records
     are those of the undisturbed run.
  4. Three processes that share partitions out, members killed: repartitioning through a topic by key, then windows.
  5. A run that was fenced off by a later one, and one from an older checkpoint.
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'java' / 'kafka'))
from broker import Broker  # noqa: E402

os.environ.setdefault('HOLDFAST_PEER_PYTHON', os.environ.get('HOLDFAST_TEST_PYTHON', sys.executable))
HAS_FASTAVRO = subprocess.run([os.environ['HOLDFAST_PEER_PYTHON'], '-c', 'import fastavro'], capture_output=True).returncode == 0


def stream(holdfast, *words):
    return [str(holdfast), 'stream', 'run', *map(str, words)]


def ms_of(text):
    return round(datetime.datetime.fromisoformat(text + '+00:00').timestamp() * 1000)


class Test:
    def __init__(self, arguments, directory):
        self.holdfast, self.kills = arguments.holdfast, arguments.kills
        self.rand = random.Random(arguments.seed)
        self.directory = directory
        self.broker = Broker(arguments.jars, directory / 'kafka')

    def run(self, *words, code=0):
        done = subprocess.run(stream(self.holdfast, *words), capture_output=True, text=True, timeout=180)
        assert done.returncode == code, (words, done.returncode, done.stdout[-500:], done.stderr[-2000:])
        return done

    def table(self, name, topic, columns, **options):
        options = {'connector': 'kafka', 'topic': topic, 'properties.bootstrap.servers': self.broker.servers, 'format': 'json',
                   **options}
        return f'CREATE TABLE {name} ({columns}) WITH (' + ', '.join(f"'{k}' = '{v}'" for k, v in options.items()) + ');\n'

    def bounded(self, name, topic, columns, **options):
        return self.table(name, topic, columns, **{'scan.startup.mode': 'earliest-offset', 'scan.bounded.mode': 'latest-offset',
                                                   **options})

    def check_offsets(self):
        self.broker.create('plain', 2)
        self.broker.write('plain', [(n % 2, json.dumps({'n': n})) for n in range(10)])

        def rows(text):
            return sorted(map(int, self.run('-e', text + 'SELECT n FROM t').stdout.split()[1:]))
        assert rows(self.bounded('t', 'plain', 'n INT')) == list(range(10))
        specific = {'scan.startup.mode': 'specific-offsets', 'scan.startup.specific-offsets': 'partition:0,offset:3;partition:1,offset:5'}
        assert rows(self.bounded('t', 'plain', 'n INT', **specific)) == [6, 8]
        ends = {'scan.bounded.mode': 'specific-offsets', 'scan.bounded.specific-offsets': 'partition:0,offset:1;partition:1,offset:2'}
        assert rows(self.bounded('t', 'plain', 'n INT', **ends)) == [0, 1, 3]
        # The offsets of a group: committed at checkpoints, for tools that show the group.
        group = {'scan.startup.mode': 'group-offsets', 'properties.group.id': 'g', 'properties.auto.offset.reset': 'earliest'}
        text = self.bounded('t', 'plain', 'n INT', **group) + 'SELECT n FROM t'
        first = self.run('--checkpoint-dir', self.directory / 'g1', '-e', text).stdout
        assert len(first.split()) == 11, first
        time.sleep(1)
        self.broker.write('plain', [(0, '{"n": 10}')])
        assert self.run('--checkpoint-dir', self.directory / 'g2', '-e', text).stdout == 'n\n10\n'
        none = {'scan.startup.mode': 'group-offsets', 'properties.group.id': 'new'}
        refused = self.run('-e', self.bounded('t', 'plain', 'n INT', **none) + 'SELECT n FROM t', code=2)
        assert 'the group has no offset of plain-0' in refused.stderr, refused.stderr

    def check_refusals(self):
        missing = self.run('-e', self.bounded('t', 'nowhere', 'n INT') + 'SELECT n FROM t', code=1)
        assert 'topic nowhere' in missing.stderr, missing.stderr
        for options, words in (({'scan.startup.mode': 'earliest'}, "'earliest-offset'"),
                               ({'properties.no.such.setting': '1'}, 'no.such.setting'),
                               ({'scan.bounded.mode': 'timestamp'}, 'scan.bounded.timestamp-millis'),
                               ({'key.format': 'json'}, 'key.fields')):
            refused = self.run('-e', self.bounded('t', 'plain', 'n INT', **options) + 'SELECT n FROM t', code=2)
            assert words in refused.stderr, (options, refused.stderr)
        self.broker.create('bad', 1)
        self.broker.write('bad', [(0, '{"n": 1}'), (0, 'nonsense'), (0, '{"n": 2}')])
        strict = self.run('-e', self.bounded('t', 'bad', 'n INT') + 'SELECT n FROM t', code=1)
        assert 'bad-0, offset 1: it is no JSON' in strict.stderr, strict.stderr
        kept = self.directory / 'kept'
        aside = self.run('-e', self.bounded('t', 'bad', 'n INT', **{'malformed-records.path': kept}) + 'SELECT n FROM t')
        assert aside.stdout == 'n\n1\n2\n' and kept.read_text() == 'nonsense\n'

    def check_keys(self):
        self.broker.create('keyed', 4)
        keys = {'key.format': 'raw', 'key.fields': 'k', 'value.format': 'json', 'value.fields-include': 'EXCEPT_KEY'}
        del_format = self.table('o', 'keyed', 'k STRING, n INT', **keys).replace(", 'format' = 'json'", '')
        self.run('-e', "CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '40', 'fields.n.kind' = 'sequence');"
                 + del_format + "INSERT INTO o SELECT CAST(MOD(n, 5) AS STRING), n FROM s")
        seen = self.broker.read('keyed')
        assert len(seen) == 40 and all(json.loads(text)['n'] % 5 == int(key) for _, key, text in seen), seen[:5]
        assert all(len({partition for partition, other, _ in seen if other == key}) == 1 for _, key, _ in seen)
        back = self.bounded('t', 'keyed', 'k STRING, n INT', **keys).replace(", 'format' = 'json'", '')
        rows = self.run('-e', back + 'SELECT k, n FROM t').stdout.split()[1:]
        assert sorted(rows) == sorted(f'{n % 5},{n}' for n in range(40)), rows

    def check_avro(self):
        """A record of Avro per message, by the schema of the table; keys too."""
        if not HAS_FASTAVRO:
            print('no fastavro (HOLDFAST_TEST_PYTHON names a Python that has it): Avro is left out')
            return
        self.broker.create('avro', 2)
        source, columns = self.directory / 'avro.json', 'n INT, s STRING, m DECIMAL(9, 2), v ARRAY<ROW<x BIGINT>>'
        lines = [json.dumps({'n': n, 's': None if n % 3 else f'é {n}', 'm': 0.25 * n, 'v': [{'x': n}] * (n % 4)}) for n in range(3000)]
        source.write_text('\n'.join(lines) + '\n')
        keyed = {'key.format': 'avro', 'key.fields': 'n', 'value.format': 'avro', 'value.fields-include': 'EXCEPT_KEY'}
        self.run('-e', f"CREATE TABLE s ({columns}) WITH ('connector' = 'filesystem', 'path' = '{source}', 'format' = 'json');"
                 + self.table('o', 'avro', columns, **keyed).replace("'format' = 'json', ", '') + 'INSERT INTO o SELECT * FROM s')

        def rows(**options):
            text = self.bounded('t', 'avro', columns, **keyed, **options).replace("'format' = 'json', ", '')
            done = self.run('--format', 'json', '-e', text + 'SELECT * FROM t')
            return sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda row: row['n']), done.stderr
        assert rows()[0] == [json.loads(line) for line in lines]
        other = self.run('-e', self.bounded('t', 'avro', 's STRING, m DECIMAL(9, 2)', format='avro') + 'SELECT * FROM t', code=1)
        assert 'avro-' in other.stderr and 'bytes are left behind it' in other.stderr, other.stderr
        # Messages that are none, among others.
        self.broker.write('avro', [(n % 2, 'this is no Avro') for n in range(10)])
        found, said = rows(**{'value.avro.ignore-parse-errors': 'true', 'key.avro.ignore-parse-errors': 'true'})
        assert found == [json.loads(line) for line in lines] and '10 malformed' in said, said

    EVENTS = "ms BIGINT, k INT, v INT, ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"

    def events(self, count, partitions):
        """Each partition is in order up to a second; they begin a minute apart."""
        records, clocks = [], [1_700_000_000_000 + 60_000 * p for p in range(partitions)]
        for _ in range(count):
            partition = self.rand.randrange(partitions)
            clocks[partition] += self.rand.randrange(0, 40)
            event = {'ms': clocks[partition] - self.rand.randrange(0, 1000), 'k': self.rand.randrange(10), 'v': self.rand.randrange(100)}
            records.append((partition, event))
        return records

    @staticmethod
    def sums(records, size_ms):
        sums = {}
        for _, event in records:
            window = event['ms'] // size_ms * size_ms, event['k']
            count, total = sums.get(window, (0, 0))
            sums[window] = count + 1, total + event['v']
        return sorted((start, key, *values) for (start, key), values in sums.items())

    WINDOWS = ("SELECT window_start AS s, k, COUNT(*) AS n, SUM(v) AS v FROM "
               "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY window_start, window_end, k")

    def check_partitions(self):
        self.broker.create('uneven', 3)
        records = self.events(6000, 3)
        # One partition is there whole before the others have anything: its rows must not make the others late.
        for wanted in range(3):
            self.broker.write('uneven', [(p, json.dumps(event)) for p, event in records if p == wanted])
        done = self.run('--format', 'json', '-e', self.bounded('t', 'uneven', self.EVENTS) + self.WINDOWS)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert 'late' not in done.stderr, done.stderr
        seen = sorted((ms_of(row['s']), row['k'], row['n'], row['v']) for row in rows)
        assert seen == self.sums(records, 5000), (seen[:3], self.sums(records, 5000)[:3])

    def check_exactly_once(self):
        self.broker.create('events', 4)
        records = self.events(60_000, 4)
        self.broker.write('events', [(p, json.dumps(event)) for p, event in records])
        self.check_kills('json', self.bounded('t', 'events', self.EVENTS), self.sums(records, 5000), self.kills, 1)

    def check_avro_exactly_once(self):
        """Messages that are read many at once: those behind a checkpoint come again."""
        if not HAS_FASTAVRO:
            return
        for topic in ('lines', 'messages'):
            self.broker.create(topic, 1)
        records = self.events(20_000, 1)
        self.broker.write('lines', [(p, json.dumps(event)) for p, event in records])
        columns, avro = 'ms BIGINT, k INT, v INT', {'format': 'avro'}
        self.run('-e', self.bounded('t', 'lines', columns) + self.table('o', 'messages', columns, **avro) + 'INSERT INTO o SELECT * FROM t')
        self.check_kills('avro', self.bounded('t', 'messages', self.EVENTS, **avro), self.sums(records, 5000), self.kills, 0)

    def check_kills(self, name, source, wanted, kills_wanted, restarts_wanted):
        """Windows of a table into topics, by runs that are killed, and while the broker is."""
        def text(topic):
            sink = {'sink.delivery-guarantee': 'exactly-once', 'sink.transactional-id-prefix': topic}
            return (source + self.table('o', topic, 's TIMESTAMP(3), k INT, n BIGINT, v BIGINT', **sink)
                    + 'INSERT INTO o ' + self.WINDOWS)

        def committed(topic):
            rows = [json.loads(value) for _, _, value in self.broker.read(topic)]
            return sorted((ms_of(row['s']), row['k'], row['n'], row['v']) for row in rows)
        whole = f'whole-{name}'
        self.broker.create(whole, 1)
        begun = time.monotonic()
        self.run('--checkpoint-dir', self.directory / whole, '--checkpoint', '50ms', '-e', text(whole))
        took = time.monotonic() - begun
        assert committed(whole) == wanted
        kills, restarts, round_ = 0, 0, 0
        while kills < kills_wanted:
            topic = f'broken-{name}-{round_}'
            round_ += 1
            self.broker.create(topic, 2)
            state = (['--checkpoint-dir', self.directory / topic] if round_ % 2 else
                     ['--state', 'kv', '--region', self.directory / topic])
            while True:
                process = subprocess.Popen(stream(self.holdfast, *state, '--checkpoint', '50ms', '-e', text(topic)),
                                           stderr=subprocess.PIPE, text=True)
                restarted = False
                if kills < kills_wanted:
                    time.sleep(self.rand.uniform(0, took))
                    if kills == kills_wanted // 2 and restarts < restarts_wanted:
                        # The broker goes, and comes again: the run waits for it.
                        restarts, restarted = restarts + 1, True
                        self.broker.kill()
                        time.sleep(1)
                        self.broker.start()
                    else:
                        process.send_signal(signal.SIGKILL)
                _, message = process.communicate(timeout=180)
                # A run that begins while the broker is away says so, and ends.
                away = restarted and process.returncode == 1 and 'Kafka, ' in message
                assert away or process.returncode in (0, -signal.SIGKILL), message
                if process.returncode == 0:
                    break
                kills += 1
            seen = committed(topic)
            assert seen == wanted, (f'{topic}: {len(seen)} of {len(wanted)}', sorted(set(wanted) - set(seen))[:3],
                                    sorted(set(seen) - set(wanted))[:3])
        print(f'exactly once, {name}: {len(wanted)} results, {kills} kills in {round_} rounds, the broker restarted {restarts} times')
        # A checkpoint of this run that is older than the topic.
        again = self.run(*state, '-e', text(topic))
        assert 'it had finished' in again.stderr and committed(topic) == wanted

    def check_members(self):
        """Three processes share a topic's partitions; one after the other is killed, and others come. Rows go through a topic
        that is partitioned by key, and then into windows: both steps shared out, both exactly once."""
        self.broker.create('spread', 6)
        self.broker.create('by_key', 6)
        self.broker.create('shared', 3)
        records = self.events(24_000, 6)
        self.broker.write('spread', [(p, json.dumps(event)) for p, event in records])
        once = {'sink.delivery-guarantee': 'exactly-once'}
        keyed = {'key.format': 'raw', 'key.fields': 'k', 'value.format': 'json', 'value.fields-include': 'ALL'}
        columns = 'ms BIGINT, k INT, v INT'

        def by_key(**options):
            return self.table('o', 'by_key', columns, **keyed, **options).replace(", 'format' = 'json'", '')
        repartition = (self.bounded('t', 'spread', self.EVENTS) + by_key(**once, **{'sink.transactional-id-prefix': 'r'})
                       + 'INSERT INTO o SELECT ms, k, v FROM t')
        self.shared_run('repartition', repartition, 'spread', 6)
        moved = [(int(p), json.loads(text)) for p, _, text in self.broker.read('by_key')]
        assert sorted(json.dumps(e, sort_keys=True) for _, e in moved) == sorted(json.dumps(e, sort_keys=True) for _, e in records)
        assert all(len({p for p, e in moved if e['k'] == k}) == 1 for k in range(10)), 'a key has one partition'
        # Partitions were merged as they came, so these windows wait for a day.
        late = self.EVENTS.replace("INTERVAL '1' SECOND", "INTERVAL '1' DAY")
        windows = (self.bounded('t', 'by_key', late).replace('ms BIGINT', 'ms BIGINT', 1)
                   + self.table('o', 'shared', 's TIMESTAMP(3), k INT, n BIGINT, v BIGINT', **once,
                                **{'sink.transactional-id-prefix': 'w'}) + 'INSERT INTO o ' + self.WINDOWS)
        self.shared_run('windows', windows, 'by_key', 6)
        rows = [json.loads(text) for _, _, text in self.broker.read('shared')]
        seen = sorted((ms_of(row['s']), row['k'], row['n'], row['v']) for row in rows)
        wanted = self.sums(records, 5000)
        assert seen == wanted, (len(seen), len(wanted), sorted(set(wanted) - set(seen))[:3], sorted(set(seen) - set(wanted))[:3])

    def shared_run(self, name, text, topic, partitions):
        directory, log = self.directory / name, self.directory / f'{name}.log'
        slow = 'properties.fetch.message.max.bytes'
        text = text.replace("'scan.startup.mode'", f"'{slow}' = '2000', 'scan.startup.mode'", 1)

        def member():
            with open(log, 'ab') as out:
                return subprocess.Popen(stream(self.holdfast, '--members', directory, '--checkpoint', '30ms', '-e', text), stderr=out)
        members = [member() for _ in range(3)]
        kills = 0
        for _ in range(3):
            time.sleep(self.rand.uniform(0.5, 2))
            victim = self.rand.choice(members)
            if victim.poll() is None:
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                kills += 1
                members.remove(victim)
                members.append(member())
        for process in members:
            assert process.wait(timeout=180) == 0, log.read_text()[-3000:]
        said = log.read_text()
        holders = re.findall(r'this member of (\d+) has (.*)', said)
        print(f'{name}: {kills} members killed, {said.count("resumed from")} times a partition went on elsewhere or again; '
              f'most members at once {max(int(n) for n, _ in holders)}')
        assert kills == 0 or 'resumed from checkpoint' in said, said[-3000:]
        again = subprocess.run(stream(self.holdfast, '--members', directory, '-e', text), capture_output=True, text=True, timeout=120)
        assert again.returncode == 0 and again.stderr.count('it had finished') == partitions, again.stderr

    def check_fencing(self):
        self.broker.create('endless', 1)
        self.broker.create('fenced', 1)
        sink = {'sink.delivery-guarantee': 'exactly-once', 'sink.transactional-id-prefix': 'fenced'}
        source = ("CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '50', 'fields.n.kind' = 'sequence');")
        text = source + self.table('o', 'fenced', 'n INT', **sink) + 'INSERT INTO o SELECT n FROM s'
        first = subprocess.Popen(stream(self.holdfast, '--checkpoint-dir', self.directory / 'f1', '--checkpoint', '100ms', '-e', text),
                                 stderr=subprocess.PIPE, text=True)
        time.sleep(4)
        assert first.poll() is None
        second = subprocess.Popen(stream(self.holdfast, '--checkpoint-dir', self.directory / 'f2', '--checkpoint', '100ms', '-e', text),
                                  stderr=subprocess.PIPE, text=True)
        _, message = first.communicate(timeout=60)
        assert first.returncode == 1 and 'fenced' in message, message
        time.sleep(2)
        second.send_signal(signal.SIGTERM)
        second.communicate(timeout=60)


    def check_savepoint(self):
        """A run that is killed when its checkpoint is there and its transaction is not: a savepoint left those records out."""
        self.broker.create('saved', 1)
        sink = {'sink.delivery-guarantee': 'exactly-once', 'sink.transactional-id-prefix': 'saved'}
        text = ("CREATE TABLE s (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '50', 'number-of-rows' = '400', "
                "'fields.n.kind' = 'sequence');" + self.table('o', 'saved', 'n INT', **sink) + 'INSERT INTO o SELECT n FROM s')
        first = subprocess.Popen(stream(self.holdfast, '--checkpoint-dir', self.directory / 's1', '--checkpoint', '1h', '-e', text))
        time.sleep(4)
        self.broker.kill()
        end = time.monotonic() + 60
        while not (self.directory / 's1' / 'query-1.checkpoint').exists():
            assert time.monotonic() < end and first.poll() is None
            time.sleep(0.1)
        first.kill()
        first.wait()
        self.broker.start()
        assert self.broker.read('saved') == []
        subprocess.run([self.holdfast, 'stream', 'savepoint', '--checkpoint-dir', self.directory / 's1', '--to', self.directory / 'saved',
                        '-e', text], check=True, stdout=subprocess.DEVNULL)
        for name in ('s2', 's3'):  # The second one finds them there.
            self.run('--from', self.directory / 'saved', '--checkpoint-dir', self.directory / name, '-e', text)
            assert [json.loads(value)['n'] for _, _, value in self.broker.read('saved')] == list(range(400)), name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('holdfast', type=pathlib.Path)
    parser.add_argument('jars')
    parser.add_argument('--kills', type=int, default=8)
    parser.add_argument('--seed', type=int, default=random.randrange(10**6))
    parser.add_argument('--only', help='one of the checks')
    arguments = parser.parse_args()
    print(f'seed {arguments.seed}')
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast_kafka_'))
    test = Test(arguments, directory)
    try:
        for check in ('offsets', 'refusals', 'keys', 'avro', 'partitions', 'exactly_once', 'avro_exactly_once', 'savepoint', 'fencing', 'members'):
            if arguments.only in (None, check):
                begun = time.monotonic()
                getattr(test, f'check_{check}')()
                print(f'{check}: held, {time.monotonic() - begun:.0f} s', flush=True)
    finally:
        test.broker.kill()
        shutil.rmtree(directory, ignore_errors=True)


main()
