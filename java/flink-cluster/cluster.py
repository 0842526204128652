"""A cluster of Flink from jars, one JobManager and two TaskManagers, a job with Holdfast state, and TaskManagers that are
killed with SIGKILL while it runs: every count and sum must be exact at the end.

    cluster.py JARS BACKEND-JAR [--rounds N] [--numbers N] [--keys N] [--backend holdfast|rocksdb|hashmap] [--region R]
               [--kafka JARS] [--seed N] [--keep]

A round submits the job, waits for checkpoints, kills one of the TaskManagers at a random moment, starts another, and waits
for the end. It fails where a number was lost or counted twice, where the job was not restored from a checkpoint, and where a
file is left in the checkpoint directory. With --kafka NEXMark's query 5 goes from Kafka to Kafka meanwhile, by its
transactions, and what is committed must be what a dull program makes of the bids. At the end a job goes from 2 to 3 to 1 subtasks by savepoints. Flink's own page is open on http://127.0.0.1:PORT meanwhile.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

OPENS = [f'--add-opens=java.base/{package}=ALL-UNNAMED' for package in (
    'java.util', 'java.lang', 'java.time', 'java.net', 'java.io', 'java.nio', 'sun.nio.ch', 'java.util.concurrent',
    'java.util.concurrent.atomic', 'java.text')]
BACKENDS = {'holdfast': 'org.holdfast.flink.HoldfastStateBackendFactory', 'rocksdb': 'rocksdb', 'hashmap': 'hashmap'}
# Nobody but Flink's shell scripts works out how a TaskManager's memory is divided: it is said whole.
TASK_MANAGER_MEMORY = {
    'taskmanager.cpu.cores': '1', 'taskmanager.memory.task.heap.size': '256m', 'taskmanager.memory.framework.heap.size': '128m',
    'taskmanager.memory.task.off-heap.size': '64m', 'taskmanager.memory.framework.off-heap.size': '128m',
    'taskmanager.memory.managed.size': '256m', 'taskmanager.memory.network.min': '64m', 'taskmanager.memory.network.max': '64m',
    'taskmanager.memory.jvm-metaspace.size': '256m', 'taskmanager.memory.jvm-overhead.min': '192m',
    'taskmanager.memory.jvm-overhead.max': '192m'}


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class Cluster:
    def __init__(self, arguments, directory):
        self.directory = directory
        self.port = free_port()
        jars = pathlib.Path(arguments.jars)
        self.job_jar = next(jars.glob('holdfast-flink-cluster-*.jar'))
        self.classes = ':'.join(map(str, [arguments.backend_jar, *sorted((jars / 'lib').glob('*.jar'))]))
        self.processes = {}
        self.managers = 0
        for name in ('conf', 'checkpoints', 'results', 'logs', 'tmp'):
            (directory / name).mkdir()
        settings = {
            'jobmanager.rpc.address': '127.0.0.1', 'jobmanager.rpc.port': free_port(), 'rest.port': self.port,
            'rest.address': '127.0.0.1', 'rest.bind-address': '127.0.0.1', 'taskmanager.host': '127.0.0.1',
            'taskmanager.numberOfTaskSlots': 1, 'parallelism.default': 2, 'heartbeat.interval': '1 s',
            # A process that was killed refuses connections, which is noticed long before; a slow machine must not look like it.
            'heartbeat.timeout': '20 s', 'pekko.startup-timeout': '120 s', 'pekko.ask.timeout': '120 s',
            'restart-strategy.type': 'fixed-delay', 'restart-strategy.fixed-delay.attempts': 100,
            'restart-strategy.fixed-delay.delay': '1 s', 'execution.checkpointing.interval': '1 s',
            'execution.checkpointing.dir': f'file://{directory}/checkpoints',
            'execution.checkpointing.storage': 'filesystem', 'execution.checkpointing.data-inline-threshold': '0 kb',
            'state.backend.type': BACKENDS[arguments.backend], 'state.backend.holdfast.region': arguments.region,
            'execution.checkpointing.incremental': arguments.incremental,
            'io.tmp.dirs': f'{directory}/tmp', 'web.tmpdir': f'{directory}/tmp'}
        (directory / 'conf' / 'config.yaml').write_text(
            ''.join(f'{name}: {json.dumps(value)}\n' for name, value in settings.items()))
        (directory / 'log4j2.properties').write_text(
            'rootLogger.level=INFO\nrootLogger.appenderRef.out.ref=Out\nappender.out.name=Out\nappender.out.type=Console\n'
            'appender.out.layout.type=PatternLayout\nappender.out.layout.pattern=%d %-5p %c{1} %m%n\n')

    def java(self, heap, main, *words):
        return ['java', f'-Xmx{heap}', f'-Dlog4j.configurationFile={self.directory}/log4j2.properties', *OPENS,
                '-XX:MaxDirectMemorySize=512m', '-cp', self.classes, main, *words]

    def start(self, name, command):
        with open(self.directory / 'logs' / f'{name}.log', 'ab') as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env={
                **os.environ, 'FLINK_CONF_DIR': f'{self.directory}/conf'})

    def start_job_manager(self):
        self.start('jobmanager', self.java(
            '512m', 'org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint', '--configDir',
            f'{self.directory}/conf', '-D', 'jobmanager.memory.process.size=1000m'))

    def start_task_manager(self):
        self.managers += 1
        name = f'taskmanager{self.managers}'
        settings = [word for item in {**TASK_MANAGER_MEMORY, 'taskmanager.resource-id': name}.items()
                    for word in ('-D', f'{item[0]}={item[1]}')]
        self.start(name, self.java('384m', 'org.apache.flink.runtime.taskexecutor.TaskManagerRunner', '--configDir',
                                   f'{self.directory}/conf', *settings))
        return name

    def get(self, path):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}{path}', timeout=10) as answer:
            return json.load(answer)

    def wait(self, what, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    raise RuntimeError(f'{name} ended with exit code {process.returncode}: {self.log_end(name)}')
            try:
                if (seen := condition()) is not None and seen is not False:
                    return seen
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass
            time.sleep(0.2)
        raise RuntimeError(f'{what}: not within {seconds} s; {self.log_end("jobmanager")}')

    def log_end(self, name):
        return (self.directory / 'logs' / f'{name}.log').read_text(errors='replace')[-3000:]

    def client(self, *words):
        """What Flink's command prints."""
        ran = subprocess.run(
            self.java('256m', 'org.apache.flink.client.cli.CliFrontend', *words), capture_output=True, text=True,
            check=False, env={**os.environ, 'FLINK_CONF_DIR': f'{self.directory}/conf'})
        if ran.returncode != 0:
            raise RuntimeError(f'flink {words[0]}: {ran.stdout[-2000:]}{ran.stderr[-3000:]}')
        return ran.stdout

    def submit(self, arguments, results, parallelism=2, savepoint=None):
        said = self.client('run', '-d', '-p', str(parallelism), *(['-s', savepoint] if savepoint else []), '-c',
                           'org.holdfast.flink.cluster.CountingJob', str(self.job_jar), str(arguments.numbers),
                           str(arguments.keys), str(arguments.per_second), str(results))
        return re.search(r'JobID (\w+)', said)[1]

    def stop_with_savepoint(self, job):
        said = self.client('stop', '--savepointPath', f'file://{self.directory}/savepoints', job)
        return re.search(r'Path: (\S+)', said)[1]

    def completed(self, job):
        return self.get(f'/jobs/{job}/checkpoints')['counts']['completed']

    def end_of(self, job):
        return self.wait('the end of the job', lambda: (
            now := self.get(f'/jobs/{job}')['state']) in ('FINISHED', 'FAILED', 'CANCELED') and now, 400)

    def kill(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


class Broker:
    """A Kafka broker of one process (KRaft)."""

    def __init__(self, cluster, jars):
        self.cluster = cluster
        self.port, controller = free_port(), free_port()
        self.servers = f'127.0.0.1:{self.port}'
        self.classes = ':'.join(map(str, sorted((pathlib.Path(jars) / 'lib').glob('*.jar'))))
        directory = cluster.directory / 'kafka'
        directory.mkdir()
        (directory / 'server.properties').write_text('\n'.join((
            'process.roles=broker,controller', 'node.id=1', f'listeners=PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{controller}',
            f'advertised.listeners=PLAINTEXT://{self.servers}', f'controller.quorum.voters=1@127.0.0.1:{controller}',
            'controller.listener.names=CONTROLLER', f'log.dirs={directory}/data', 'offsets.topic.replication.factor=1',
            'transaction.state.log.replication.factor=1', 'transaction.state.log.min.isr=1', 'num.partitions=4',
            # Records have event times, of 1970: any age would be too old.
            'group.initial.rebalance.delay.ms=0', 'log.retention.ms=-1', '')))
        settings = str(directory / 'server.properties')
        subprocess.run([*self.java('256m'), 'kafka.tools.StorageTool', 'format', '-t', 'aG9sZGZhc3QtZmxpbmstMQ', '-c', settings],
                       check=True, capture_output=True)
        cluster.start('kafka', [*self.java('512m'), 'kafka.Kafka', settings])
        cluster.wait('Kafka', self.answers, 180)

    def java(self, heap):
        return ['java', f'-Xmx{heap}', '-cp', self.classes]

    def answers(self):
        with socket.socket() as client:
            return client.connect_ex(('127.0.0.1', self.port)) == 0

    def bids(self, *words):
        """The command of Bids."""
        return ['java', '-Xmx256m', '-cp', f'{self.cluster.job_jar}:{self.cluster.classes}', 'org.holdfast.flink.cluster.Bids',
                *map(str, words)]

    def committed(self, topic):
        ran = subprocess.run(self.bids('dump', self.servers, topic), capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f'{topic} could not be read: {ran.stderr[-2000:]}')
        return ran.stdout.splitlines()


def hot_items(bids):
    """NEXMark's query 5 as a dull program: [(end of window, auction, bids)], most bids of each window."""
    counts = collections.defaultdict(collections.Counter)
    for bid in bids:
        auction, _, time_ms = map(int, bid.split())
        last = time_ms // 2000 * 2000
        for start in range(last - 8000, last + 1, 2000):
            counts[start + 10000][auction] += 1
    return sorted((end, auction, number) for end, window in counts.items()
                  for auction, number in window.items() if number == max(window.values()))


def kafka_round(cluster, broker, arguments, chance):
    """NEXMark q5 from Kafka to Kafka while a TaskManager is killed: every result exactly once."""
    producer = subprocess.Popen(broker.bids('produce', broker.servers, 'bids', 4, arguments.bids, arguments.bids // 25,
                                            arguments.seed))
    cluster.wait('the first bids', lambda: cluster.get('/overview')['slots-available'] >= 2 and producer.poll() is None, 180)
    time.sleep(3)  # The topic is there then.
    job = re.search(r'JobID (\w+)', cluster.client(
        'run', '-d', '-p', '2', '-c', 'org.holdfast.flink.cluster.HotItems', str(cluster.job_jar), broker.servers, 'bids',
        'hot'))[1]
    cluster.wait('two checkpoints', lambda: cluster.completed(job) >= 2, 180)
    time.sleep(chance.random() * 5)
    victim = chance.choice([name for name in cluster.processes if name.startswith('taskmanager')])
    cluster.kill(victim)
    cluster.start_task_manager()
    if producer.wait() != 0:
        raise RuntimeError('the producer of bids failed')
    bids = broker.committed('bids')
    # The last bids, of an hour later, end all windows but their own.
    wanted = [row for row in hot_items(bids) if row[0] < 3_600_000]
    # On a busy machine it takes its time; what does not go on is over.
    seen, end = [], time.monotonic() + 90
    while len(seen) < len(wanted) and time.monotonic() < end:
        time.sleep(1)
        before, seen = len(seen), sorted(tuple(map(int, line.split())) for line in broker.committed('hot'))
        if len(seen) > before:
            end = time.monotonic() + 90
    counts = cluster.get(f'/jobs/{job}/checkpoints')['counts']
    cluster.client('cancel', job)
    print(f'NEXMark q5, {len(bids):,} bids from Kafka to Kafka: {victim} killed, restored {counts["restored"]}, '
          f'completed {counts["completed"]}; {len(seen)} of {len(wanted)} results, '
          f'{"equal" if seen == wanted else "NOT equal"}')
    if seen != wanted:
        raise RuntimeError(f'too much: {sorted(set(seen) - set(wanted))[:5]}; missing: {sorted(set(wanted) - set(seen))[:5]}')
    if counts['restored'] < 1:
        raise RuntimeError('the job was not restored from a checkpoint')


def wrong_results(results, numbers, keys):
    """What is not as it must be: a count, a sum, the length of a list."""
    seen = collections.defaultdict(set)
    for path in results.iterdir():
        for line in path.read_text().splitlines():
            key, *values = map(int, line.split())
            seen[key].add(tuple(values))
    wrong = []
    for key in range(keys):
        mine = range(key, numbers, keys)
        wanted = (len(mine), sum(mine), sum(1 for number in mine if number % 64 < 2))
        if seen[key] != {wanted}:
            wrong.append(f'key {key}: {sorted(seen[key])} instead of {wanted}')
    return wrong


def one_round(cluster, arguments, number, chance):
    results = cluster.directory / 'results' / str(number)
    results.mkdir()
    job = cluster.submit(arguments, results)

    def completed():
        return cluster.completed(job)

    cluster.wait('two checkpoints', lambda: completed() >= 2, 180)
    time.sleep(chance.random() * 4)
    victim = chance.choice([name for name in cluster.processes if name.startswith('taskmanager')])
    at = completed()
    cluster.kill(victim)
    time.sleep(chance.random() * 2)
    cluster.start_task_manager()
    state = cluster.end_of(job)
    counts = cluster.get(f'/jobs/{job}/checkpoints')['counts']
    wrong = wrong_results(results, arguments.numbers, arguments.keys)
    left = [str(path) for path in (cluster.directory / 'checkpoints').rglob('*') if path.is_file()]
    print(f'round {number}: {victim} killed after {at} checkpoints; {state}, restored {counts["restored"]}, '
          f'completed {counts["completed"]}; {arguments.keys} keys, {len(wrong)} wrong; {len(left)} files left')
    if state != 'FINISHED':
        raise RuntimeError(f'the job ended as {state}: {cluster.log_end("jobmanager")}')
    if counts['restored'] < 1:
        raise RuntimeError('the job was not restored from a checkpoint')
    if wrong or left:
        raise RuntimeError('; '.join((wrong + left)[:5]))


def rescaling(cluster, arguments):
    """2 -> 3 -> 1 subtasks by savepoints."""
    results = cluster.directory / 'results' / 'rescaling'
    results.mkdir()
    cluster.start_task_manager()
    cluster.wait('three TaskManagers', lambda: cluster.get('/overview')['slots-available'] == 3, 180)
    savepoint = None
    # Slowly, so that it is stopped twice before it ends.
    slow = argparse.Namespace(**{**vars(arguments), 'per_second': arguments.per_second // 4})
    for parallelism in (2, 3, 1):
        job = cluster.submit(slow, results, parallelism, savepoint)
        if parallelism == 1:
            break
        cluster.wait('a checkpoint', lambda: cluster.completed(job) >= 1, 180)
        savepoint = cluster.stop_with_savepoint(job)
    state = cluster.end_of(job)
    wrong = wrong_results(results, arguments.numbers, arguments.keys)
    print(f'2 -> 3 -> 1 subtasks by savepoints: {state}; {arguments.keys} keys, {len(wrong)} wrong')
    if state != 'FINISHED' or wrong:
        raise RuntimeError(f'{state} {wrong[:5]} {cluster.log_end("jobmanager")}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('jars')
    parser.add_argument('backend_jar')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--numbers', type=int, default=1_000_000)
    parser.add_argument('--keys', type=int, default=1000)
    parser.add_argument('--per-second', type=int, default=100_000)
    parser.add_argument('--kafka', help='the directory with the jars of a broker: then also NEXMark q5 from Kafka to Kafka')
    parser.add_argument('--bids', type=int, default=500_000)
    parser.add_argument('--backend', choices=BACKENDS, default='holdfast')
    parser.add_argument('--region', default='dram')
    parser.add_argument('--incremental', action='store_true', help='checkpoints write what earlier ones do not have')
    parser.add_argument('--seed', type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument('--keep', action='store_true', help='keep the directory with its logs')
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    directory = pathlib.Path(tempfile.mkdtemp(prefix='holdfast-flink-'))
    cluster = Cluster(arguments, directory)
    held = False
    try:
        cluster.start_job_manager()
        cluster.start_task_manager()
        cluster.start_task_manager()
        cluster.wait('two TaskManagers', lambda: cluster.get('/overview')['taskmanagers'] == 2, 180)
        print(f'Flink {cluster.get("/config")["flink-version"]}, state in {arguments.backend}, seed {arguments.seed}; '
              f'its page: http://127.0.0.1:{cluster.port}')
        for number in range(1, arguments.rounds + 1):
            one_round(cluster, arguments, number, chance)
        if arguments.kafka:
            kafka_round(cluster, Broker(cluster, arguments.kafka), arguments, chance)
        rescaling(cluster, arguments)
        held = True
    except RuntimeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    finally:
        cluster.stop()
        if held and not arguments.keep:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f'logs: {directory}/logs', file=sys.stderr)


main()
