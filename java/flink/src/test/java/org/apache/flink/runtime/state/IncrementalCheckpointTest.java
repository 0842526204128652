package org.apache.flink.runtime.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.CheckpointType;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.checkpoint.SnapshotType;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStreamFactory;
import org.apache.flink.util.InstantiationUtil;
import org.holdfast.flink.HoldfastKeyedStateBackend;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Incremental checkpoints against a model, with a JobManager that drops files as Flink's does. */
final class IncrementalCheckpointTest {
  @TempDir Path files;

  private final HoldfastStateBackend backend = new HoldfastStateBackend("dram", true);
  private final SharedStateRegistry registry = new SharedStateRegistryImpl();
  private long id;
  // What the JobManager has; null: nothing.
  private IncrementalRemoteKeyedStateHandle completed;

  @BeforeEach
  void begin() throws IOException {
    Files.createDirectories(files.resolve("shared"));
    Files.createDirectories(files.resolve("own"));
  }

  private IncrementalRemoteKeyedStateHandle take(
      CheckpointableKeyedStateBackend<String> state, SnapshotType type) throws Exception {
    return written(begin(state, type));
  }

  private RunnableFuture<SnapshotResult<KeyedStateHandle>> begin(
      CheckpointableKeyedStateBackend<String> state, SnapshotType type) throws Exception {
    return state.snapshot(
            ++id,
            id,
            new FsCheckpointStreamFactory(
                org.apache.flink.core.fs.FileSystem.getLocalFileSystem(),
                new org.apache.flink.core.fs.Path(files.resolve("own").toUri()),
                new org.apache.flink.core.fs.Path(files.resolve("shared").toUri()),
                0,
                4096),
            CheckpointOptions.alignedNoTimeout(
                type, CheckpointStorageLocationReference.getDefault()));
  }

  private static IncrementalRemoteKeyedStateHandle written(
      RunnableFuture<SnapshotResult<KeyedStateHandle>> future) throws Exception {
    future.run();
    // The JobManager has a copy.
    return (IncrementalRemoteKeyedStateHandle)
        InstantiationUtil.clone(future.get().getJobManagerOwnedSnapshot());
  }

  private IncrementalRemoteKeyedStateHandle take(CheckpointableKeyedStateBackend<String> state)
      throws Exception {
    return take(state, CheckpointType.CHECKPOINT);
  }

  /** The JobManager completes it, and drops the one before. */
  private void complete(IncrementalRemoteKeyedStateHandle handle) throws Exception {
    handle.registerSharedStates(registry, handle.getCheckpointId());
    registry.checkpointCompleted(handle.getCheckpointId());
    final IncrementalRemoteKeyedStateHandle before = completed;
    completed = handle;
    registry.unregisterUnusedState(handle.getCheckpointId());
    if (before != null) before.discardState();
  }

  private Set<String> sharedFiles() throws IOException {
    try (Stream<Path> all = Files.list(files.resolve("shared"))) {
      return all.map(file -> file.getFileName().toString()).collect(Collectors.toCollection(TreeSet::new));
    }
  }

  private static Set<String> namesOf(IncrementalRemoteKeyedStateHandle handle) {
    return handle.getSharedState().stream()
        .map(HandleAndLocalPath::getHandle)
        .map(file -> ((FileStateHandle) file).getFilePath().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void programsOfCheckpointsLoseNothingAndLeaveNothing(long seed) throws Exception {
    final Random random = new Random(seed);
    final StateProgram program = new StateProgram(seed);
    final List<Long> told = new ArrayList<>(); // What the task is told of later.
    IncrementalRemoteKeyedStateHandle pending = null; // It is given up when the next one is taken.
    int reusing = 0;
    CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of());
    for (int round = 0; round < 40; ++round) {
      program.work(state, StateProgram.ALL, random.nextInt(2000));
      final IncrementalRemoteKeyedStateHandle handle = take(state);
      if (handle.getSharedState().stream()
          .anyMatch(file -> file.getHandle() instanceof PlaceholderStreamStateHandle)) {
        ++reusing;
      }
      for (long late : told) ((CheckpointListener) state).notifyCheckpointComplete(late);
      told.clear();
      if (pending != null) {
        pending.discardState();
        ((CheckpointListener) state).notifyCheckpointAborted(pending.getCheckpointId());
        pending = null;
      }
      final int fate = random.nextInt(10);
      if (fate == 9) {
        pending = handle;
        continue;
      }
      if (fate == 0) {
        handle.discardState();
        ((CheckpointListener) state).notifyCheckpointAborted(handle.getCheckpointId());
        continue;
      }
      complete(handle);
      if (fate <= 2) told.add(handle.getCheckpointId());
      else ((CheckpointListener) state).notifyCheckpointComplete(handle.getCheckpointId());
      assertThat(sharedFiles()).isEqualTo(namesOf(completed));
      if (fate == 3) {
        final int middle = 1 + random.nextInt(StateProgram.GROUPS - 1);
        for (KeyGroupRange range :
            List.of(
                KeyGroupRange.of(0, middle - 1),
                KeyGroupRange.of(middle, StateProgram.GROUPS - 1))) {
          try (CheckpointableKeyedStateBackend<String> part =
              StateProgram.open(backend, range, List.of(completed.getIntersection(range)))) {
            program.isAsTheModel(part, range);
            part.dispose();
          }
        }
      } else if (fate == 4) {
        state.dispose();
        state.close();
        state = StateProgram.open(backend, StateProgram.ALL, List.of(completed));
        program.isAsTheModel(state, StateProgram.ALL);
      }
    }
    state.dispose();
    state.close();
    assertThat(reusing).as("checkpoints that name files of earlier ones").isGreaterThan(5);
  }

  @Test
  void subtasksThatRegisteredTheirStatesInAnotherOrderBecomeOne() throws Exception {
    final StateProgram program = new StateProgram(7);
    final List<KeyedStateHandle> handles = new ArrayList<>();
    for (KeyGroupRange range :
        List.of(KeyGroupRange.of(0, 50), KeyGroupRange.of(51, StateProgram.GROUPS - 1))) {
      try (CheckpointableKeyedStateBackend<String> state =
          StateProgram.open(backend, range, List.of())) {
        if (handles.isEmpty()) {
          StateProgram.state(state, 0, StateProgram.AGGREGATE);
          StateProgram.state(state, 0, StateProgram.MAP);
        } else {
          StateProgram.state(state, 0, StateProgram.LIST);
          StateProgram.state(state, 0, StateProgram.SUM);
        }
        program.work(state, range, 20_000);
        handles.add(take(state));
        state.dispose();
      }
    }
    for (KeyGroupRange range :
        List.of(StateProgram.ALL, KeyGroupRange.of(0, 20), KeyGroupRange.of(40, 90))) {
      try (CheckpointableKeyedStateBackend<String> state =
          StateProgram.open(backend, range, handles)) {
        program.isAsTheModel(state, range);
        state.dispose();
      }
    }
  }

  private void put(CheckpointableKeyedStateBackend<String> state, int from, int to)
      throws Exception {
    for (int i = from; i < to; ++i) {
      state.setCurrentKey("key " + i);
      final ValueState<String> value = StateProgram.state(state, 0, StateProgram.VALUE);
      value.update("x".repeat(200) + i);
    }
  }

  @Test
  void fewChangesAreFewBytes() throws Exception {
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of())) {
      put(state, 0, 100_000);
      final IncrementalRemoteKeyedStateHandle first = take(state);
      complete(first);
      ((CheckpointListener) state).notifyCheckpointComplete(first.getCheckpointId());
      assertThat(first.getCheckpointedSize()).isGreaterThan(100_000 * 200);
      put(state, 5000, 6000);
      final IncrementalRemoteKeyedStateHandle second = take(state);
      complete(second);
      ((CheckpointListener) state).notifyCheckpointComplete(second.getCheckpointId());
      System.out.println(
          "1 % changed: "
              + second.getCheckpointedSize()
              + " bytes written of "
              + first.getCheckpointedSize());
      assertThat(second.getCheckpointedSize()).isLessThan(first.getCheckpointedSize() / 10);
      // One that shares nothing with older ones.
      final IncrementalRemoteKeyedStateHandle whole = take(state, CheckpointType.FULL_CHECKPOINT);
      assertThat(whole.getCheckpointedSize()).isGreaterThan(100_000 * 200);
      assertThat(whole.getSharedState())
          .noneMatch(file -> file.getHandle() instanceof PlaceholderStreamStateHandle);
      state.dispose();
    }
  }

  private void took(
      CheckpointableKeyedStateBackend<String> state, IncrementalRemoteKeyedStateHandle handle)
      throws Exception {
    complete(handle);
    ((CheckpointListener) state).notifyCheckpointComplete(handle.getCheckpointId());
  }

  private static long places(IncrementalRemoteKeyedStateHandle handle) {
    return handle.getSharedState().stream()
        .filter(file -> file.getHandle() instanceof PlaceholderStreamStateHandle)
        .count();
  }

  @Test
  void theFirstCheckpointBehindARestoreIsIncremental() throws Exception {
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of())) {
      put(state, 0, 100_000);
      took(state, take(state));
      state.dispose();
    }
    final long whole = completed.getCheckpointedSize();
    for (int restore = 0; restore < 2; ++restore) {
      try (CheckpointableKeyedStateBackend<String> state =
          StateProgram.open(backend, StateProgram.ALL, List.of(completed))) {
        assertThat(((HoldfastKeyedStateBackend<String>) state).numKeyValueStateEntries())
            .isEqualTo(100_000);
        put(state, 5000, 6000);
        final IncrementalRemoteKeyedStateHandle next = take(state);
        // The runs that a restored store was restored with it cannot name: docs/backups.md.
        if (restore == 0) {
          assertThat(places(next)).isPositive();
          assertThat(next.getCheckpointedSize()).isLessThan(whole / 10);
        }
        took(state, next);
        // One that shares nothing with older ones, as behind a restore without a claim.
        final IncrementalRemoteKeyedStateHandle full = take(state, CheckpointType.FULL_CHECKPOINT);
        assertThat(places(full)).isZero();
        assertThat(full.getCheckpointedSize()).isGreaterThan(100_000 * 200);
        took(state, full);
        put(state, 7000, 8000);
        // Of a savepoint the next checkpoint knows nothing; it goes on from the one before.
        final IncrementalRemoteKeyedStateHandle savepoint =
            take(state, SavepointType.savepoint(SavepointFormatType.NATIVE));
        ((CheckpointListener) state).notifyCheckpointComplete(savepoint.getCheckpointId());
        savepoint.discardState();
        final IncrementalRemoteKeyedStateHandle last = take(state);
        assertThat(last.getCheckpointedSize()).isLessThan(whole / 10);
        took(state, last);
        state.dispose();
      }
    }
  }

  /** It named files of the checkpoint before the full one, which the JobManager drops once that is complete. */
  @Test
  void aCheckpointBesideAFullOneThatIsUnderWayNamesNothingOfTheOneBefore() throws Exception {
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of())) {
      put(state, 0, 10_000);
      took(state, take(state));
      final var full = begin(state, CheckpointType.FULL_CHECKPOINT);
      final var next = begin(state, CheckpointType.CHECKPOINT);
      took(state, written(full));
      took(state, written(next));
      assertThat(sharedFiles()).isNotEmpty();
      state.dispose();
    }
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of(completed))) {
      assertThat(((HoldfastKeyedStateBackend<String>) state).numKeyValueStateEntries())
          .isEqualTo(10_000);
      state.dispose();
    }
  }

  @Test
  void aNativeSavepointSharesNothing() throws Exception {
    final HoldfastStateBackend full = new HoldfastStateBackend("dram", false);
    for (HoldfastStateBackend one : List.of(backend, full)) {
      final StateProgram program = new StateProgram(9);
      final IncrementalRemoteKeyedStateHandle savepoint;
      try (CheckpointableKeyedStateBackend<String> state =
          StateProgram.open(one, StateProgram.ALL, List.of())) {
        program.work(state, StateProgram.ALL, 20_000);
        if (one == backend) took(state, take(state));
        final Set<String> before = sharedFiles();
        savepoint = take(state, SavepointType.savepoint(SavepointFormatType.NATIVE));
        assertThat(places(savepoint)).isZero();
        assertThat(sharedFiles()).isEqualTo(before);
        state.dispose();
      }
      for (HoldfastStateBackend into : List.of(backend, full)) {
        for (KeyGroupRange range :
            List.of(StateProgram.ALL, KeyGroupRange.of(0, 60), KeyGroupRange.of(61, 127))) {
          try (CheckpointableKeyedStateBackend<String> state =
              StateProgram.open(into, range, List.of(savepoint))) {
            program.isAsTheModel(state, range);
            state.dispose();
          }
        }
      }
    }
  }

  @Test
  void fortyOperatorsTakeLittleEach() throws Exception {
    StateProgram.open(backend, StateProgram.ALL, List.of()).dispose(); // Classes, the library.
    final List<CheckpointableKeyedStateBackend<String>> all = new ArrayList<>();
    System.gc();
    final long before = residentKib(), begin = System.nanoTime();
    for (int i = 0; i < 40; ++i) all.add(StateProgram.open(backend, StateProgram.ALL, List.of()));
    final long took = (System.nanoTime() - begin) / 40;
    final long kib = (residentKib() - before) / 40;
    System.out.println(
        "40 operators: " + took / 1000 + " us and " + kib + " KiB of memory each to open");
    assertThat(kib).isLessThan(10 << 10);
    for (CheckpointableKeyedStateBackend<String> one : all) one.dispose();
  }

  private static long residentKib() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  /** Each took a megabyte outside of the heap: Flink's limit was reached, and the JVM collected everything. */
  @Test
  void checkpointsTakeNoMemoryOfTheirOwn() throws Exception {
    final BufferPoolMXBean direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> pool.getName().equals("direct"))
            .findFirst()
            .orElseThrow();
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of())) {
      long before = 0;
      for (int round = 0; round < 60; ++round) {
        put(state, 10 * round, 10 * round + 10);
        took(state, take(state));
        if (round == 9) before = direct.getTotalCapacity();
      }
      assertThat(direct.getTotalCapacity()).isLessThan(before + (2 << 20));
      state.dispose();
    }
  }

  @Test
  void aLostFileIsNamed() throws Exception {
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of())) {
      put(state, 0, 1000);
      complete(take(state));
      state.dispose();
    }
    final String name = sharedFiles().iterator().next();
    Files.delete(files.resolve("shared").resolve(name));
    assertThatThrownBy(
            () -> StateProgram.open(backend, StateProgram.ALL, List.of(completed)))
        .isInstanceOf(BackendBuildingException.class)
        .hasStackTraceContaining(name);
  }

  /** A store that is made of runs reads no record: what was damaged became state, and went from checkpoint to checkpoint. */
  @Test
  void aDamagedFileIsNamed() throws Exception {
    try (CheckpointableKeyedStateBackend<String> state =
        StateProgram.open(backend, StateProgram.ALL, List.of())) {
      put(state, 0, 1000);
      complete(take(state));
      state.dispose();
    }
    final String name = sharedFiles().iterator().next();
    final Path file = files.resolve("shared").resolve(name);
    final byte[] sound = Files.readAllBytes(file);
    final Random random = new Random(5);
    for (int round = 0; round < 20; ++round) {
      final byte[] damaged = sound.clone();
      damaged[random.nextInt(damaged.length)] ^= (byte) (1 << random.nextInt(8));
      Files.write(file, damaged);
      assertThatThrownBy(
              () -> StateProgram.open(backend, StateProgram.ALL, List.of(completed)))
          .isInstanceOf(BackendBuildingException.class)
          .hasStackTraceContaining("the checkpoint is damaged")
          .hasStackTraceContaining(name);
    }
    Files.write(file, sound);
    StateProgram.open(backend, StateProgram.ALL, List.of(completed)).dispose();
  }
}
