package org.apache.flink.runtime.state;

import java.nio.file.Path;
import java.util.List;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Flink's suite on formats of state that have changed: state in DRAM, in files, and with incremental checkpoints. */
@ExtendWith(ParameterizedTestExtension.class)
public class HoldfastStateBackendMigrationTest
    extends StateBackendMigrationTestBase<HoldfastStateBackend> {
  @TempDir static Path files;

  @Parameter String place;

  @Parameters(name = "{0}")
  static List<String> places() {
    return List.of("dram", "files", "incremental");
  }

  @Override
  protected HoldfastStateBackend getStateBackend() {
    return new HoldfastStateBackend(
        place.equals("files") ? files.resolve("state").toString() : "dram",
        place.equals("incremental"));
  }
}
