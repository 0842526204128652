package org.apache.flink.runtime.state;

import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** A savepoint of one backend is restored by another: all five kinds of state, and timers, by random programs. */
final class SavepointExchangeTest {
  private static final int STEPS = 20_000;

  @TempDir static Path files;

  private final StateProgram program = new StateProgram(20261123);

  private static KeyedStateHandle savepoint(CheckpointableKeyedStateBackend<String> backend)
      throws Exception {
    final SavepointResources<String> resources = backend.savepoint();
    final var future =
        new SnapshotStrategyRunner<>(
                "savepoint",
                new SavepointSnapshotStrategy<>(resources.getSnapshotResources()),
                new CloseableRegistry(),
                SnapshotExecutionType.ASYNCHRONOUS)
            .snapshot(
                1,
                1,
                new MemCheckpointStreamFactory(256 << 20),
                CheckpointOptions.alignedNoTimeout(
                    SavepointType.savepoint(SavepointFormatType.CANONICAL),
                    CheckpointStorageLocationReference.getDefault()));
    future.run();
    return future.get().getJobManagerOwnedSnapshot();
  }

  private static StateBackend backend(String name) {
    return switch (name) {
      case "holdfast" -> new HoldfastStateBackend();
      case "holdfast in files" -> new HoldfastStateBackend(files.resolve("state").toString());
      case "rocksdb" -> new EmbeddedRocksDBStateBackend();
      default -> new HashMapStateBackend();
    };
  }

  static Stream<Arguments> pairs() {
    return Stream.of(
        Arguments.of("holdfast", "holdfast"),
        Arguments.of("holdfast", "rocksdb"),
        Arguments.of("holdfast", "hashmap"),
        Arguments.of("rocksdb", "holdfast"),
        Arguments.of("hashmap", "holdfast"),
        Arguments.of("rocksdb", "holdfast in files"),
        Arguments.of("holdfast in files", "rocksdb"));
  }

  @ParameterizedTest(name = "{0} to {1}")
  @MethodSource("pairs")
  void savepointsGoFromOneBackendToAnother(String from, String to) throws Exception {
    final KeyedStateHandle handle;
    try (CheckpointableKeyedStateBackend<String> first = StateProgram.open(backend(from), StateProgram.ALL, List.of())) {
      program.work(first, StateProgram.ALL, STEPS);
      handle = savepoint(first);
      first.dispose();
    }
    // Whole, and in two parts.
    for (KeyGroupRange range :
        List.of(StateProgram.ALL, KeyGroupRange.of(0, 40), KeyGroupRange.of(41, StateProgram.GROUPS - 1))) {
      final KeyedStateHandle part = handle.getIntersection(range);
      try (CheckpointableKeyedStateBackend<String> second =
          StateProgram.open(backend(to), range, List.of(part))) {
        program.isAsTheModel(second, range);
        second.dispose();
      }
    }
  }

  @Test
  void aStateGoesOnBehindItsRestore() throws Exception {
    List<KeyedStateHandle> handles = List.of();
    for (int round = 0; round < 3; ++round) {
      try (CheckpointableKeyedStateBackend<String> backend =
          StateProgram.open(backend(round == 1 ? "rocksdb" : "holdfast"), StateProgram.ALL, handles)) {
        program.work(backend, StateProgram.ALL, STEPS);
        handles = List.of(savepoint(backend));
        backend.dispose();
      }
    }
    try (CheckpointableKeyedStateBackend<String> backend = StateProgram.open(backend("holdfast"), StateProgram.ALL, handles)) {
      program.isAsTheModel(backend, StateProgram.ALL);
      backend.dispose();
    }
  }
}
