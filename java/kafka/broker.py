"""A real Kafka broker of one process (KRaft), from the jars that java/kafka/pom.xml gathers."""
import pathlib
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        return listener.getsockname()[1]


class Broker:
    def __init__(self, jars, directory):
        """`jars`: build/java/kafka. `directory` becomes its own."""
        self.jars = pathlib.Path(jars) / 'lib'
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True)
        self.port, controller = free_port(), free_port()
        self.servers = f'127.0.0.1:{self.port}'
        self.process = None
        (self.directory / 'server.properties').write_text('\n'.join((
            'process.roles=broker,controller', 'node.id=1',
            f'listeners=PLAINTEXT://{self.servers},CONTROLLER://127.0.0.1:{controller}',
            f'advertised.listeners=PLAINTEXT://{self.servers}', f'controller.quorum.voters=1@127.0.0.1:{controller}',
            'controller.listener.names=CONTROLLER', f'log.dirs={self.directory}/data', 'offsets.topic.replication.factor=1',
            'offsets.topic.num.partitions=4', 'transaction.state.log.num.partitions=4',
            'transaction.state.log.replication.factor=1', 'transaction.state.log.min.isr=1', 'auto.create.topics.enable=false',
            # Records have event times of any year.
            'group.initial.rebalance.delay.ms=0', 'log.retention.ms=-1', '')))
        self.run('kafka.tools.StorageTool', 'format', '-t', 'aG9sZGZhc3QtZmxpbmstMQ', '-c', self.settings())
        self.start()

    def settings(self):
        return str(self.directory / 'server.properties')

    def java(self, heap, *words):
        return ['java', f'-Xmx{heap}', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', f'{self.jars}/*', *map(str, words)]

    def run(self, *words, stdin=None):
        done = subprocess.run(self.java('256m', *words), input=stdin, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f'{words}: {done.stdout[-1000:]}{done.stderr[-2000:]}')
        return done.stdout

    def start(self):
        with open(self.directory / 'log', 'ab') as log:
            self.process = subprocess.Popen(self.java('512m', 'kafka.Kafka', self.settings()), stdout=log, stderr=log)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            with socket.socket() as client:
                if client.connect_ex(('127.0.0.1', self.port)) == 0:
                    return
            time.sleep(0.2)
        raise RuntimeError(f'the broker did not start: {(self.directory / "log").read_text()[-3000:]}')

    def kill(self):
        self.process.kill()
        self.process.wait()

    def create(self, topic, partitions):
        self.run(HERE / 'Topics.java', 'create', self.servers, topic, partitions)

    def write(self, topic, records):
        """`records`: (partition or None, text)."""
        lines = ''.join(f'{"-" if partition is None else partition}\t{text}\n' for partition, text in records)
        self.run(HERE / 'Topics.java', 'write', self.servers, topic, stdin=lines)

    def read(self, topic):
        """What is committed: (partition, key or 'null', text)."""
        return [tuple(line.split('\t', 2)) for line in self.run(HERE / 'Topics.java', 'read', self.servers, topic).splitlines()]
