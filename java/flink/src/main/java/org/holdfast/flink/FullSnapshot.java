package org.holdfast.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.state.FullSnapshotResources;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueStateSnapshot;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.ResourceGuard;
import org.holdfast.HoldfastSnapshot;

/**
 * All keyed state at one moment: a snapshot of the store, copies of the timers, and what Flink knows of both. Made by the
 * task's thread in microseconds per state; read by another.
 */
final class FullSnapshot<K> implements FullSnapshotResources<K> {
  /** A state of the store, by the number that the snapshot gives it, which is its place in the list. */
  record Part(StateTable table, StateSnapshotTransformer<byte[]> transformer) {}

  private final List<StateMetaInfoSnapshot> infos = new ArrayList<>();
  private final List<Part> parts = new ArrayList<>();
  private final List<HeapPriorityQueueStateSnapshot<?>> queues = new ArrayList<>();
  private final ResourceGuard.Lease lease;
  private final HoldfastSnapshot snapshot;
  private final KeyGroupRange keyGroupRange;
  private final int prefixBytes;
  private final TypeSerializer<K> keySerializer;
  private final StreamCompressionDecorator compression;

  FullSnapshot(
      StateStore store,
      Collection<StateTable> tables,
      Collection<HeapPriorityQueueSnapshotRestoreWrapper<?>> timers,
      KeyGroupRange keyGroupRange,
      int prefixBytes,
      TypeSerializer<K> keySerializer,
      StreamCompressionDecorator compression)
      throws IOException {
    this.keyGroupRange = keyGroupRange;
    this.prefixBytes = prefixBytes;
    this.keySerializer = keySerializer;
    this.compression = compression;
    for (StateTable table : tables) {
      infos.add(table.info().snapshot());
      parts.add(
          new Part(
              table,
              table
                  .info()
                  .getStateSnapshotTransformFactory()
                  .createForSerializedState()
                  .orElse(null)));
    }
    for (HeapPriorityQueueSnapshotRestoreWrapper<?> queue : timers) {
      infos.add(queue.getMetaInfo().snapshot());
      queues.add(queue.stateSnapshot());
    }
    lease = store.lease();
    try {
      snapshot = store.snapshot();
    } catch (RuntimeException failure) {
      lease.close(); // Or the store would wait for it forever.
      throw failure;
    }
  }

  @Override
  public KeyValueStateIterator createKVStateIterator() throws IOException {
    return new FullSnapshotIterator(snapshot, parts, queues, keyGroupRange, prefixBytes);
  }

  @Override
  public List<StateMetaInfoSnapshot> getMetaInfoSnapshots() {
    return infos;
  }

  @Override
  public KeyGroupRange getKeyGroupRange() {
    return keyGroupRange;
  }

  @Override
  public TypeSerializer<K> getKeySerializer() {
    return keySerializer;
  }

  @Override
  public StreamCompressionDecorator getStreamCompressionDecorator() {
    return compression;
  }

  @Override
  public synchronized void release() {
    snapshot.close();
    lease.close();
  }
}
