package org.holdfast.flink;

import java.io.Closeable;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackendBuilder;
import org.apache.flink.runtime.state.BackendBuildingException;
import org.apache.flink.runtime.state.StateBackend.KeyedStateBackendParameters;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.InternalKeyContextImpl;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.util.IOUtils;

/** Opens the store of a backend and restores what it is given. Where that fails nothing is left open. */
final class HoldfastKeyedStateBackendBuilder<K> extends AbstractKeyedStateBackendBuilder<K> {
  // Of heap timers.
  private static final int QUEUE_CAPACITY = 128;

  private final StatePlace place;
  private final int cacheEntries;
  private final boolean incremental;
  private final LocalRecoveryConfig localRecovery;
  private final Uploads uploads = new Uploads();
  private final Closeable budget;

  HoldfastKeyedStateBackendBuilder(
      KeyedStateBackendParameters<K> parameters,
      StatePlace place,
      Closeable budget,
      int cacheEntries,
      boolean incremental,
      ExecutionConfig executionConfig,
      LatencyTrackingStateConfig latencyTracking,
      SizeTrackingStateConfig sizeTracking,
      StreamCompressionDecorator compression) {
    super(
        parameters.getKvStateRegistry(),
        parameters.getKeySerializer(),
        parameters.getEnv().getUserCodeClassLoader().asClassLoader(),
        parameters.getNumberOfKeyGroups(),
        parameters.getKeyGroupRange(),
        executionConfig,
        parameters.getTtlTimeProvider(),
        latencyTracking,
        sizeTracking,
        parameters.getStateHandles(),
        compression,
        parameters.getCancelStreamRegistry());
    this.place = place;
    this.budget = budget;
    this.cacheEntries = cacheEntries;
    this.incremental = incremental;
    localRecovery = parameters.getEnv().getTaskStateManager().createLocalRecoveryConfig();
  }

  @Override
  public HoldfastKeyedStateBackend<K> build() throws BackendBuildingException {
    final Map<String, StateTable> tables = new LinkedHashMap<>();
    final Map<String, HeapPriorityQueueSnapshotRestoreWrapper<?>> queues = new LinkedHashMap<>();
    final HeapPriorityQueueSetFactory queueFactory =
        new HeapPriorityQueueSetFactory(keyGroupRange, numberOfKeyGroups, QUEUE_CAPACITY);
    final RestoreTargets targets =
        new RestoreTargets(place, tables, queues, queueFactory, keyGroupRange, numberOfKeyGroups);
    try {
      restore(targets);
      return new HoldfastKeyedStateBackend<>(
          targets.store(),
          tables,
          queues,
          queueFactory,
          kvStateRegistry,
          keySerializerProvider.currentSchemaSerializer(),
          userCodeClassLoader,
          executionConfig,
          ttlTimeProvider,
          latencyTrackingStateConfig,
          sizeTrackingStateConfig,
          new CloseableRegistry(), // That of the parameters is of the restore, and ends with it.
          keyGroupCompressionDecorator,
          new InternalKeyContextImpl<>(keyGroupRange, numberOfKeyGroups),
          localRecovery,
          uploads,
          budget,
          cacheEntries,
          incremental);
    } catch (BackendBuildingException exception) {
      IOUtils.closeAllQuietly(targets, budget);
      throw exception;
    } catch (Throwable failure) {
      IOUtils.closeAllQuietly(targets, budget);
      throw new BackendBuildingException(
          "the keyed state of "
              + place.name()
              + (restoreStateHandles.isEmpty() ? " could not be opened in " : " could not be restored in ")
              + place.region(),
          failure);
    }
  }

  private void restore(RestoreTargets targets) throws Exception {
    if (IncrementalRestore.canRead(restoreStateHandles)) {
      new IncrementalRestore<>(
              targets,
              userCodeClassLoader,
              restoreStateHandles,
              keySerializerProvider,
              cancelStreamRegistry,
              uploads)
          .run();
    } else {
      new FullRestore<>(
              targets,
              userCodeClassLoader,
              restoreStateHandles,
              keySerializerProvider,
              cancelStreamRegistry)
          .run();
    }
  }
}
