package org.apache.flink.runtime.state.ttl;

import org.apache.flink.runtime.state.StateBackend;
import org.holdfast.flink.HoldfastStateBackend;

/** Flink's suite on state that expires, with full checkpoints. */
public class HoldfastTtlStateTest extends TtlStateTestBase {
  @Override
  protected StateBackendTestContext createStateBackendTestContext(TtlTimeProvider time) {
    return new StateBackendTestContext(time) {
      @Override
      protected StateBackend createStateBackend() {
        return new HoldfastStateBackend();
      }
    };
  }
}
