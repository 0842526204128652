package org.holdfast.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.DataOutputView;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.SnapshotResources;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueStateSnapshot;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.ResourceGuard;
import org.holdfast.HoldfastCheckpoint;

/** All keyed state at one moment as runs of the store, and copies of the timers. Made by the task's thread, read by another. */
final class IncrementalSnapshot<K> implements SnapshotResources {
  /** Of the file that says what is in the others. Packs of version 1 have no checksums. */
  static final int FORMAT_VERSION = 2;
  static final int NO_MORE = -1;

  private final List<StateMetaInfoSnapshot> infos = new ArrayList<>();
  private final List<HeapPriorityQueueStateSnapshot<?>> queues = new ArrayList<>();
  private final int firstQueue;
  private final KeyGroupRange keyGroupRange;
  private final int prefixBytes;
  private final TypeSerializer<K> keySerializer;
  private final Map<Pack, Uploads.File> reusable;
  private final ResourceGuard.Lease lease;
  private final HoldfastCheckpoint checkpoint;

  IncrementalSnapshot(
      StateStore store,
      Collection<StateTable> tables,
      Collection<HeapPriorityQueueSnapshotRestoreWrapper<?>> timers,
      KeyGroupRange keyGroupRange,
      int prefixBytes,
      TypeSerializer<K> keySerializer,
      Map<Pack, Uploads.File> reusable)
      throws IOException {
    this.keyGroupRange = keyGroupRange;
    this.prefixBytes = prefixBytes;
    this.keySerializer = keySerializer;
    this.reusable = reusable;
    for (StateTable table : tables) infos.add(table.info().snapshot());
    firstQueue = infos.size();
    for (HeapPriorityQueueSnapshotRestoreWrapper<?> queue : timers) {
      infos.add(queue.getMetaInfo().snapshot());
      queues.add(queue.stateSnapshot());
    }
    lease = store.lease();
    try {
      checkpoint = store.checkpoint();
    } catch (RuntimeException failure) {
      lease.close(); // Or the store would wait for it forever.
      throw failure;
    }
  }

  boolean isEmpty() {
    return infos.isEmpty();
  }

  HoldfastCheckpoint checkpoint() {
    return checkpoint;
  }

  /** What earlier checkpoints have and this one may name. */
  Map<Pack, Uploads.File> reusable() {
    return reusable;
  }

  /** States, the private part of the store's checkpoint, packs, timers. */
  void write(DataOutputView output, Collection<Pack> packs) throws IOException {
    output.writeInt(FORMAT_VERSION);
    new KeyedBackendSerializationProxy<>(keySerializer, infos, false).write(output);
    final byte[] part = checkpoint.privatePart();
    output.writeInt(part.length);
    output.write(part);
    output.writeInt(packs.size());
    for (Pack pack : packs) pack.write(output);
    for (int i = 0; i < queues.size(); ++i) writeTimers(output, firstQueue + i, queues.get(i));
    output.writeInt(NO_MORE);
  }

  /** For each: the number of its queue, its key group, its bytes as in the canonical format. */
  private <T> void writeTimers(
      DataOutputView output, int number, HeapPriorityQueueStateSnapshot<T> queue)
      throws IOException {
    final DataOutputSerializer bytes = new DataOutputSerializer(64);
    for (int group : keyGroupRange) {
      for (Iterator<T> timers = queue.getIteratorForKeyGroup(group); timers.hasNext(); ) {
        bytes.clear();
        CompositeKeySerializationUtils.writeKeyGroup(group, prefixBytes, bytes);
        queue.getMetaInfo().getElementSerializer().serialize(timers.next(), bytes);
        output.writeInt(number);
        output.writeInt(group);
        output.writeInt(bytes.length());
        output.write(bytes.getSharedBuffer(), 0, bytes.length());
      }
    }
  }

  @Override
  public synchronized void release() {
    checkpoint.close();
    lease.close();
  }
}
