package org.holdfast.flink;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointStreamWithResultProvider;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.FullSnapshotAsyncWriter;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategy;
import org.apache.flink.util.function.SupplierWithException;

/** Writes all keyed state into one file of a checkpoint, in the canonical format; with local recovery, once more here. */
final class FullSnapshotStrategy<K> implements SnapshotStrategy<KeyedStateHandle, FullSnapshot<K>> {
  private final LocalRecoveryConfig localRecovery;
  private final SupplierWithException<FullSnapshot<K>, Exception> take;

  FullSnapshotStrategy(
      LocalRecoveryConfig localRecovery, SupplierWithException<FullSnapshot<K>, Exception> take) {
    this.localRecovery = localRecovery;
    this.take = take;
  }

  @Override
  public FullSnapshot<K> syncPrepareResources(long checkpointId) throws Exception {
    return take.get();
  }

  @Override
  public SnapshotResultSupplier<KeyedStateHandle> asyncSnapshot(
      FullSnapshot<K> snapshot,
      long checkpointId,
      long timestamp,
      CheckpointStreamFactory streamFactory,
      CheckpointOptions options) {
    if (snapshot.getMetaInfoSnapshots().isEmpty()) return registry -> SnapshotResult.empty();
    return new FullSnapshotAsyncWriter<>(
        options.getCheckpointType(),
        localRecovery.isLocalRecoveryOrLocalBackupEnabled()
                && !options.getCheckpointType().isSavepoint()
            ? () ->
                CheckpointStreamWithResultProvider.createDuplicatingStream(
                    checkpointId,
                    CheckpointedStateScope.EXCLUSIVE,
                    streamFactory,
                    localRecovery
                        .getLocalStateDirectoryProvider()
                        .orElseThrow(LocalRecoveryConfig.localRecoveryNotEnabled()))
            : () ->
                CheckpointStreamWithResultProvider.createSimpleStream(
                    CheckpointedStateScope.EXCLUSIVE, streamFactory),
        snapshot);
  }
}
