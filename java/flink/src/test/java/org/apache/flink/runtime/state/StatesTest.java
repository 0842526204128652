package org.apache.flink.runtime.state;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.holdfast.flink.HoldfastKeyedStateBackend;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** States at the edges of what they take. */
final class StatesTest {
  private HoldfastKeyedStateBackend<String> backend;

  @BeforeEach
  void begin() throws Exception {
    backend =
        (HoldfastKeyedStateBackend<String>)
            StateProgram.open(
                new HoldfastStateBackend("dram", true), StateProgram.ALL, List.of());
    backend.setCurrentKey("key");
  }

  @AfterEach
  void end() {
    backend.dispose();
  }

  /** As what Flink makes of two accumulators that have both expired. It was kept, and ended the next checkpoint. */
  @Test
  void aSumThatBecomesNullIsNone() throws Exception {
    final ReducingState<Long> sum =
        StateProgram.state(
            backend,
            0,
            new ReducingStateDescriptor<>("zero is none", StatesTest::sumOrNull, LongSerializer.INSTANCE));
    sum.add(5L);
    sum.add(-5L);
    assertThat(sum.get()).isNull();
    assertThat(backend.numKeyValueStateEntries()).isZero(); // Writes what is cached.
    sum.add(3L);
    assertThat(sum.get()).isEqualTo(3);
  }

  private static Long sumOrNull(long one, long other) {
    return one + other == 0 ? null : one + other;
  }
}
