package org.holdfast.flink;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.StateBackendFactory;

/** What {@code state.backend.type: org.holdfast.flink.HoldfastStateBackendFactory} names. */
public final class HoldfastStateBackendFactory
    implements StateBackendFactory<HoldfastStateBackend> {
  @Override
  public HoldfastStateBackend createFromConfig(ReadableConfig config, ClassLoader classLoader) {
    return new HoldfastStateBackend().configure(config, classLoader);
  }
}
