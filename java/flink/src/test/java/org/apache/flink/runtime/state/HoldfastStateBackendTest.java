package org.apache.flink.runtime.state;

import java.nio.file.Path;
import java.util.List;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.runtime.state.storage.JobManagerCheckpointStorage;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Flink's suite for all backends: state in DRAM, in files, and with incremental checkpoints. */
@ExtendWith(ParameterizedTestExtension.class)
public class HoldfastStateBackendTest extends StateBackendTestBase<HoldfastStateBackend> {
  @TempDir static Path files;

  enum Place {
    DRAM,
    FILES,
    INCREMENTAL
  }

  @Parameter Place place;

  @Parameters(name = "{0}")
  static List<Place> places() {
    return List.of(Place.values());
  }

  @Override
  protected ConfigurableStateBackend getStateBackend() {
    return switch (place) {
      case DRAM -> new HoldfastStateBackend();
      case FILES -> new HoldfastStateBackend(files.resolve("state").toString());
      case INCREMENTAL -> new HoldfastStateBackend("dram", true);
    };
  }

  @Override
  protected CheckpointStorage getCheckpointStorage() {
    return place == Place.DRAM
        ? new JobManagerCheckpointStorage()
        : new FileSystemCheckpointStorage(files.resolve("checkpoints").toUri());
  }

  @Override
  protected boolean isSerializerPresenceRequiredOnRestore() {
    return false;
  }

  @Override
  protected boolean supportsAsynchronousSnapshots() {
    return true;
  }
}
