package org.holdfast.flink;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystemNotFoundException;
import java.nio.file.Path;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.memory.MemoryManager;
import org.apache.flink.runtime.memory.OpaqueMemoryResource;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.AbstractManagedMemoryStateBackend;
import org.apache.flink.runtime.state.BackendBuildingException;
import org.apache.flink.runtime.state.ConfigurableStateBackend;
import org.apache.flink.runtime.state.DefaultOperatorStateBackendBuilder;
import org.apache.flink.runtime.state.OperatorStateBackend;

/**
 * Keyed state in Holdfast: one store per operator and slot, within the slot's managed memory. Operator state is Flink's own.
 * It may be shared by jobs; what it makes is not.
 */
public final class HoldfastStateBackend extends AbstractManagedMemoryStateBackend
    implements ConfigurableStateBackend {
  private static final long serialVersionUID = 2L;
  private static final String BUDGET = "state-holdfast-budget";

  /** Where state lives between checkpoints; it counts for nothing after a failure. */
  public static final ConfigOption<String> REGION =
      ConfigOptions.key("state.backend.holdfast.region")
          .stringType()
          .defaultValue(StatePlace.DRAM)
          .withDescription(
              "Where state lives: 'dram', or a directory, in which each operator gets one of its own.");

  public static final ConfigOption<MemorySize> REGION_MAX_SIZE =
      ConfigOptions.key("state.backend.holdfast.region.max-size")
          .memoryType()
          .defaultValue(MemorySize.parse("256 gb"))
          .withDescription(
              "How large the store of one operator and slot may become, from 8 mb on. In a directory it takes so much address"
                  + " space.");

  public static final ConfigOption<Boolean> MANAGED_MEMORY =
      ConfigOptions.key("state.backend.holdfast.memory.managed")
          .booleanType()
          .defaultValue(true)
          .withDescription(
              "Whether all state of a slot is limited to its managed memory. In a directory: the indexes are.");

  public static final ConfigOption<MemorySize> FIXED_MEMORY =
      ConfigOptions.key("state.backend.holdfast.memory.fixed-per-slot")
          .memoryType()
          .noDefaultValue()
          .withDescription("The limit of a slot's state, instead of its managed memory.");

  public static final ConfigOption<Boolean> METRICS =
      ConfigOptions.key("state.backend.holdfast.metrics")
          .booleanType()
          .defaultValue(true)
          .withDescription("Whether operators have metrics of their store, in the group 'holdfast'.");

  public static final ConfigOption<Integer> CACHE_ENTRIES =
      ConfigOptions.key("state.backend.holdfast.cache.entries-per-state")
          .intType()
          .defaultValue(16_384)
          .withDescription(
              "How many values of a state are kept on the heap, at most; a power of two from 4 on, or 0.");

  private final String region;
  private final boolean incremental;
  private final long regionMostBytes;
  private final boolean managedMemory;
  // 0: none.
  private final long fixedMemoryBytes;
  private final boolean metrics;
  private final int cacheEntries;

  public HoldfastStateBackend() {
    this(REGION.defaultValue());
  }

  public HoldfastStateBackend(String region) {
    this(region, false);
  }

  /** `incremental`: a checkpoint writes what earlier ones do not have. */
  public HoldfastStateBackend(String region, boolean incremental) {
    this.region = regionOf(region);
    this.incremental = incremental;
    regionMostBytes = REGION_MAX_SIZE.defaultValue().getBytes();
    managedMemory = MANAGED_MEMORY.defaultValue();
    fixedMemoryBytes = 0;
    metrics = METRICS.defaultValue();
    cacheEntries = CACHE_ENTRIES.defaultValue();
  }

  private HoldfastStateBackend(HoldfastStateBackend other, ReadableConfig config) {
    region = config.getOptional(REGION).map(HoldfastStateBackend::regionOf).orElse(other.region);
    incremental =
        config.getOptional(CheckpointingOptions.INCREMENTAL_CHECKPOINTS).orElse(other.incremental);
    regionMostBytes =
        config.getOptional(REGION_MAX_SIZE).map(MemorySize::getBytes).orElse(other.regionMostBytes);
    if (regionMostBytes < StatePlace.LEAST_BYTES) {
      throw new IllegalConfigurationException(
          REGION_MAX_SIZE.key() + ": " + regionMostBytes + " bytes; 8 mb or more is allowed");
    }
    managedMemory = config.getOptional(MANAGED_MEMORY).orElse(other.managedMemory);
    fixedMemoryBytes =
        config.getOptional(FIXED_MEMORY).map(MemorySize::getBytes).orElse(other.fixedMemoryBytes);
    if (fixedMemoryBytes == 0 && config.getOptional(FIXED_MEMORY).isPresent()) {
      throw new IllegalConfigurationException(
          FIXED_MEMORY.key() + ": 0; leave it out for the slot's managed memory, or for no limit set "
              + MANAGED_MEMORY.key() + ": false");
    }
    metrics = config.getOptional(METRICS).orElse(other.metrics);
    cacheEntries = config.getOptional(CACHE_ENTRIES).orElse(other.cacheEntries);
    if (cacheEntries != 0 && (cacheEntries < 4 || Integer.bitCount(cacheEntries) != 1)) {
      throw new IllegalConfigurationException(
          CACHE_ENTRIES.key() + ": " + cacheEntries + "; a power of two from 4 on, or 0, is allowed");
    }
    latencyTrackingConfigBuilder = other.latencyTrackingConfigBuilder.configure(config);
    sizeTrackingConfigBuilder = other.sizeTrackingConfigBuilder.configure(config);
  }

  /**
   * A path, also of one that is written as Flink's other directories are: file:///mnt/pmem. Not a relative one: 'DRAM' or
   * 'node:0' would be a directory where the TaskManager was started. Behind a question mark the store sees options.
   */
  private static String regionOf(String text) {
    final String refused =
        REGION.key()
            + ": '"
            + text
            + "'; dram, the absolute path of a directory of this machine, without '?', or a file: URI is allowed";
    if (text.equals(StatePlace.DRAM)) return text;
    try {
      final boolean isUri = text.matches("[a-zA-Z][a-zA-Z0-9+.-]*:/.*");
      final Path path = isUri ? Path.of(URI.create(text)) : Path.of(text);
      if (!path.isAbsolute() || path.toString().contains("?")) {
        throw new IllegalConfigurationException(refused);
      }
      return path.toString();
    } catch (IllegalArgumentException | FileSystemNotFoundException failure) {
      throw new IllegalConfigurationException(refused, failure);
    }
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
    return true;
  }

  @Override
  public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
      KeyedStateBackendParameters<K> parameters) throws IOException {
    final Environment environment = parameters.getEnv();
    final OpaqueMemoryResource<MemoryBudget> budget =
        budget(environment.getMemoryManager(), parameters.getManagedMemoryFraction());
    final HoldfastKeyedStateBackend<K> backend =
        new HoldfastKeyedStateBackendBuilder<>(
                parameters,
                place(parameters.getOperatorIdentifier(), budget),
                () -> close(budget),
                cacheEntries,
                incremental,
                environment.getExecutionConfig(),
                latencyTrackingConfigBuilder.setMetricGroup(parameters.getMetricGroup()).build(),
                sizeTrackingConfigBuilder.setMetricGroup(parameters.getMetricGroup()).build(),
                getCompressionDecorator(environment.getExecutionConfig()))
            .build();
    if (metrics) StateMetrics.register(backend.store(), parameters.getMetricGroup());
    return backend;
  }

  /** What all operators of the slot share; null: there is no limit. */
  private OpaqueMemoryResource<MemoryBudget> budget(MemoryManager memory, double fraction)
      throws IOException {
    try {
      if (fixedMemoryBytes != 0) {
        return memory.getExternalSharedMemoryResource(BUDGET, MemoryBudget::new, fixedMemoryBytes);
      }
      return managedMemory
          ? memory.getSharedMemoryResourceForManagedMemory(BUDGET, MemoryBudget::new, fraction)
          : null;
    } catch (Exception failure) {
      throw new IOException(
          "keyed state in Holdfast: the slot has no managed memory for it (fraction "
              + fraction
              + "); set taskmanager.memory.managed.size, or "
              + FIXED_MEMORY.key()
              + ", or "
              + MANAGED_MEMORY.key()
              + ": false",
          failure);
    }
  }

  private StatePlace place(String operator, OpaqueMemoryResource<MemoryBudget> budget) {
    final MemoryBudget limit =
        budget == null ? MemoryBudget.UNLIMITED : budget.getResourceHandle();
    return new StatePlace(
        region,
        operator.replaceAll("[^a-zA-Z0-9-]", "_"),
        region.equals(StatePlace.DRAM)
            ? Math.min(limit.mostBytes(), regionMostBytes)
            : regionMostBytes,
        limit);
  }

  private static void close(OpaqueMemoryResource<MemoryBudget> budget) throws IOException {
    if (budget == null) return;
    try {
      budget.close();
    } catch (Exception failure) {
      throw new IOException(failure);
    }
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
