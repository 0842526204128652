package org.holdfast.flink;

import java.io.IOException;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractStateBackend;
import org.apache.flink.runtime.state.BackendBuildingException;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.DefaultOperatorStateBackendBuilder;
import org.apache.flink.runtime.state.OperatorStateBackend;

/**
 * Keyed state in Holdfast: one store per operator and slot, snapshots in Flink's canonical format. Operator state is Flink's
 * own. It may be shared by jobs; what it makes is not.
 */
public final class HoldfastStateBackend extends AbstractStateBackend
    implements ConfigurableStateBackend {
  private static final long serialVersionUID = 1L;

  /** Where state lives between checkpoints; it counts for nothing after a failure. */
  public static final ConfigOption<String> REGION =
      ConfigOptions.key("state.backend.holdfast.region")
          .stringType()
          .defaultValue(StateStore.DRAM)
          .withDescription(
              "Where state lives: 'dram', or a directory, in which each operator gets one of its own.");

  private final String region;
  private final boolean incremental;

  public HoldfastStateBackend() {
    this(REGION.defaultValue());
  }

  public HoldfastStateBackend(String region) {
    this(region, false);
  }

  /** `incremental`: a checkpoint writes what earlier ones do not have. */
  public HoldfastStateBackend(String region, boolean incremental) {
    this.region = region;
    this.incremental = incremental;
  }

  private HoldfastStateBackend(HoldfastStateBackend other, ReadableConfig config) {
    region = config.getOptional(REGION).orElse(other.region);
    incremental =
        config.getOptional(CheckpointingOptions.INCREMENTAL_CHECKPOINTS).orElse(other.incremental);
    latencyTrackingConfigBuilder = other.latencyTrackingConfigBuilder.configure(config);
    sizeTrackingConfigBuilder = other.sizeTrackingConfigBuilder.configure(config);
  }

  @Override
  public HoldfastStateBackend configure(ReadableConfig config, ClassLoader classLoader) {
    return new HoldfastStateBackend(this, config);
  }

  @Override
  public boolean supportsNoClaimRestoreMode() {
    return true; // The first checkpoint after such a restore writes everything anew.
  }

  @Override
  public boolean supportsSavepointFormat(SavepointFormatType format) {
    return true; // A native savepoint is a canonical one.
  }

  @Override
  public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
      KeyedStateBackendParameters<K> parameters) throws IOException {
    final Environment environment = parameters.getEnv();
    return new HoldfastKeyedStateBackendBuilder<>(
            parameters,
            region,
            incremental,
            environment.getExecutionConfig(),
            latencyTrackingConfigBuilder.setMetricGroup(parameters.getMetricGroup()).build(),
            sizeTrackingConfigBuilder.setMetricGroup(parameters.getMetricGroup()).build(),
            getCompressionDecorator(environment.getExecutionConfig()))
        .build();
  }

  @Override
  public OperatorStateBackend createOperatorStateBackend(OperatorStateBackendParameters parameters)
      throws BackendBuildingException {
    return new DefaultOperatorStateBackendBuilder(
            parameters.getEnv().getUserCodeClassLoader().asClassLoader(),
            parameters.getEnv().getExecutionConfig(),
            true,
            parameters.getStateHandles(),
            parameters.getCancelStreamRegistry())
        .build();
  }

  @Override
  public String toString() {
    return "HoldfastStateBackend{region=" + region + ", incremental=" + incremental + "}";
  }
}
