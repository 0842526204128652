package org.apache.flink.runtime.state;

import java.nio.file.Path;
import java.util.List;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameter;
import org.apache.flink.testutils.junit.extensions.parameterized.ParameterizedTestExtension;
import org.apache.flink.testutils.junit.extensions.parameterized.Parameters;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Flink's suite on formats of state that have changed: state in DRAM and in files. */
@ExtendWith(ParameterizedTestExtension.class)
public class HoldfastStateBackendMigrationTest
    extends StateBackendMigrationTestBase<HoldfastStateBackend> {
  @TempDir static Path files;

  @Parameter boolean inFiles;

  @Parameters(name = "in files: {0}")
  static List<Boolean> places() {
    return List.of(false, true);
  }

  @Override
  protected HoldfastStateBackend getStateBackend() {
    return inFiles
        ? new HoldfastStateBackend(files.resolve("state").toString())
        : new HoldfastStateBackend();
  }
}
