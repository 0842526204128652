package org.holdfast.flink.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.RunnableFuture;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointableKeyedStateBackend;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.SharedStateRegistry;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.runtime.state.StateBackendLoader;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.VoidNamespaceSerializer;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.InstantiationUtil;
import org.slf4j.LoggerFactory;

/**
 * Checkpoints of one keyed backend without a cluster: Checkpoints RECORDS DIRECTORY NAME=VALUE…, where the last are settings
 * of Flink. Records are values of 200 bytes under numbers.
 *
 * <p>Prints what 40 empty operators take, the first checkpoint, forty more with 1 % of the values changed before each, writes
 * beside a checkpoint of everything and without one in turn, and a restore, all of whose values are compared.
 */
public final class Checkpoints {
  private static final int GROUPS = 128;
  private static final int VALUE_BYTES = 200;
  private static final int OPERATORS = 40;
  private static final int SMALL_CHECKPOINTS = 40;
  private static final int ROUNDS = 5;

  private final long records;
  private final Path directory;
  private final StateBackend backend;
  private final MockEnvironment environment =
      MockEnvironment.builder().setManagedMemorySize(6L << 30).build();
  private final SharedStateRegistry registry = new SharedStateRegistryImpl();
  private final SplittableRandom random = new SplittableRandom(1);
  // How often each value was written, which is in it.
  private final int[] versions;
  private CheckpointableKeyedStateBackend<Long> keyed;
  private ValueState<byte[]> state;
  private long id;

  private Checkpoints(long records, Path directory, Configuration settings) throws Exception {
    this.records = records;
    this.directory = directory;
    versions = new int[Math.toIntExact(records)];
    backend =
        StateBackendLoader.loadStateBackendFromConfig(
            settings, getClass().getClassLoader(), LoggerFactory.getLogger(Checkpoints.class));
    for (String part : new String[] {"own", "shared"}) {
      Files.createDirectories(directory.resolve(part));
    }
  }

  private CheckpointableKeyedStateBackend<Long> open(List<KeyedStateHandle> handles)
      throws Exception {
    return backend.createKeyedStateBackend(
        new KeyedStateBackendParametersImpl<>(
            environment,
            new JobID(),
            "operator" + ++id,
            LongSerializer.INSTANCE,
            GROUPS,
            KeyGroupRange.of(0, GROUPS - 1),
            environment.getTaskKvStateRegistry(),
            TtlTimeProvider.DEFAULT,
            new UnregisteredMetricsGroup(),
            (name, bytes) -> {},
            handles,
            new CloseableRegistry(),
            0.9));
  }

  private static ValueState<byte[]> stateOf(CheckpointableKeyedStateBackend<Long> keyed)
      throws Exception {
    return keyed.getPartitionedState(
        VoidNamespace.INSTANCE,
        VoidNamespaceSerializer.INSTANCE,
        new ValueStateDescriptor<>("values", BytePrimitiveArraySerializer.INSTANCE));
  }

  private void write(long key) throws Exception {
    final ByteBuffer value = ByteBuffer.allocate(VALUE_BYTES); // The heap's backend keeps it.
    value.putLong(key).putInt(++versions[(int) key]).putInt(0);
    long noise = key; // Nothing that a compression would make small.
    while (value.hasRemaining()) value.putLong(noise = noise * 0xd1342543de82ef95L + 1);
    keyed.setCurrentKey(key);
    state.update(value.array());
  }

  private RunnableFuture<SnapshotResult<KeyedStateHandle>> take() throws Exception {
    return keyed.snapshot(
        ++id,
        id,
        new FsCheckpointStreamFactory(
            FileSystem.getLocalFileSystem(),
            new org.apache.flink.core.fs.Path(directory.resolve("own").toUri()),
            new org.apache.flink.core.fs.Path(directory.resolve("shared").toUri()),
            0,
            4096),
        CheckpointOptions.alignedNoTimeout(
            CheckpointType.CHECKPOINT, CheckpointStorageLocationReference.getDefault()));
  }

  /** Completes it, as the JobManager does. */
  private KeyedStateHandle complete(RunnableFuture<SnapshotResult<KeyedStateHandle>> taken)
      throws Exception {
    taken.run();
    final KeyedStateHandle handle =
        InstantiationUtil.clone(taken.get().getJobManagerOwnedSnapshot());
    handle.registerSharedStates(registry, id);
    registry.checkpointCompleted(id);
    ((CheckpointListener) keyed).notifyCheckpointComplete(id);
    return handle;
  }

  private static double millisecondsSince(long begin) {
    return (System.nanoTime() - begin) / 1e6;
  }

  private static long residentKib() throws IOException {
    System.gc();
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  private void emptyOperators() throws Exception {
    final List<CheckpointableKeyedStateBackend<Long>> all = new ArrayList<>();
    all.add(open(List.of())); // What is loaded once.
    stateOf(all.get(0));
    final long before = residentKib(), begin = System.nanoTime();
    for (int i = 0; i < OPERATORS; ++i) {
      all.add(open(List.of()));
      stateOf(all.get(i + 1));
    }
    final double took = millisecondsSince(begin);
    System.out.printf(
        "%d empty operators: each %.2f MB, %.2f ms%n",
        OPERATORS, (residentKib() - before) / 1024.0 / OPERATORS, took / OPERATORS);
    for (CheckpointableKeyedStateBackend<Long> one : all) one.dispose();
  }

  private void small() throws Exception {
    final double[] synchronous = new double[SMALL_CHECKPOINTS], share = new double[SMALL_CHECKPOINTS];
    for (int i = 0; i < SMALL_CHECKPOINTS; ++i) {
      for (long left = records / 100; left > 0; --left) write(random.nextLong(records));
      final long begin = System.nanoTime();
      final RunnableFuture<SnapshotResult<KeyedStateHandle>> taken = take();
      synchronous[i] = millisecondsSince(begin);
      final KeyedStateHandle handle = complete(taken);
      share[i] = 100.0 * handle.getCheckpointedSize() / handle.getStateSize();
    }
    Arrays.sort(synchronous);
    Arrays.sort(share);
    System.out.printf(
        "%d checkpoints behind 1 %% changed: in the task's thread median %.2f ms, most %.2f ms;"
            + " written of the state median %.2f %%, most %.2f %%%n",
        SMALL_CHECKPOINTS,
        synchronous[SMALL_CHECKPOINTS / 2],
        synchronous[SMALL_CHECKPOINTS - 1],
        share[SMALL_CHECKPOINTS / 2],
        share[SMALL_CHECKPOINTS - 1]);
  }

  /** Writes per second, and per second that the thread had the CPU: the other says how busy the machine is, too. */
  private record Rate(double perSecond, double perCpuSecond) {}

  /** Writes beside a checkpoint of everything, over those without one just before. */
  private void beside() throws Exception {
    final double[] ratios = new double[ROUNDS], cpuRatios = new double[ROUNDS];
    double took = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      final Rate without = rate(null);
      final long begin = System.nanoTime();
      // Not of the completed ones: nothing of it is named again.
      final RunnableFuture<SnapshotResult<KeyedStateHandle>> taken = take();
      final Thread writer = new Thread(taken);
      writer.start();
      final Rate with = rate(writer);
      ratios[round] = with.perSecond() / without.perSecond();
      cpuRatios[round] = with.perCpuSecond() / without.perCpuSecond();
      writer.join();
      took = millisecondsSince(begin);
      taken.get().discardState();
    }
    Arrays.sort(ratios);
    Arrays.sort(cpuRatios);
    System.out.printf(
        "writes beside a checkpoint over writes without one: median %.2f [%.2f, %.2f], by CPU time %.2f [%.2f, %.2f];"
            + " the last took %.0f ms%n",
        ratios[ROUNDS / 2],
        ratios[0],
        ratios[ROUNDS - 1],
        cpuRatios[ROUNDS / 2],
        cpuRatios[0],
        cpuRatios[ROUNDS - 1],
        took);
  }

  /** As long as the thread lives; null: for a second. */
  private Rate rate(Thread whileAlive) throws Exception {
    final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    final long begin = System.nanoTime(), cpuBegin = threads.getCurrentThreadCpuTime();
    long writes = 0;
    while (whileAlive == null ? System.nanoTime() - begin < 1_000_000_000 : whileAlive.isAlive()) {
      for (int i = 0; i < 256; ++i) write(random.nextLong(records));
      writes += 256;
    }
    return new Rate(
        writes * 1e9 / (System.nanoTime() - begin),
        writes * 1e9 / (threads.getCurrentThreadCpuTime() - cpuBegin));
  }

  private void restore() throws Exception {
    final KeyedStateHandle handle = complete(take());
    keyed.dispose();
    final long begin = System.nanoTime();
    keyed = open(List.of(handle));
    final double took = millisecondsSince(begin);
    state = stateOf(keyed);
    for (long key = 0; key < records; ++key) {
      keyed.setCurrentKey(key);
      final ByteBuffer seen = ByteBuffer.wrap(state.value());
      if (seen.getLong(0) != key || seen.getInt(8) != versions[(int) key]) {
        throw new IllegalStateException("record " + key + " is not as it was written last");
      }
    }
    final double megabytes = handle.getStateSize() / 1e6;
    System.out.printf(
        "restore of %.0f MB: %.0f ms, %.0f MB/s; all values are right%n",
        megabytes, took, megabytes * 1000 / took);
    keyed.dispose();
  }

  private void run() throws Exception {
    emptyOperators();
    keyed = open(List.of());
    state = stateOf(keyed);
    final long begin = System.nanoTime();
    for (long key = 0; key < records; ++key) write(key);
    System.out.printf("%,d records: %.0f ns each%n", records, millisecondsSince(begin) * 1e6 / records);
    final long first = System.nanoTime();
    final RunnableFuture<SnapshotResult<KeyedStateHandle>> taken = take();
    final double synchronous = millisecondsSince(first);
    final KeyedStateHandle handle = complete(taken);
    System.out.printf(
        "first checkpoint: in the task's thread %.2f ms; %.0f MB in %.0f ms%n",
        synchronous, handle.getStateSize() / 1e6, millisecondsSince(first));
    small();
    beside();
    restore();
  }

  public static void main(String[] words) throws Exception {
    final Configuration settings = new Configuration();
    for (int i = 2; i < words.length; ++i) {
      final String[] pair = words[i].split("=", 2);
      settings.setString(pair[0], pair[1]);
    }
    new Checkpoints(Long.parseLong(words[0]), Path.of(words[1]), settings).run();
    System.exit(0);
  }
}
