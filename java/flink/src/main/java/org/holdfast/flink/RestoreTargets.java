package org.holdfast.flink;

import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyExtractorFunction;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.Preconditions;
import org.holdfast.RunReader;

/** Where the states and timers of a snapshot go; makes those that are not there yet. */
final class RestoreTargets implements Closeable {
  /** Where the entries of one state of a snapshot go, with keys and values of the canonical format. */
  @FunctionalInterface
  interface Target {
    void add(byte[] key, byte[] value) throws IOException;
  }

  private final StatePlace place;
  // Null: it was not needed yet.
  private StateStore store;
  private final Map<String, StateTable> tables;
  private final Map<String, HeapPriorityQueueSnapshotRestoreWrapper<?>> queues;
  private final HeapPriorityQueueSetFactory queueFactory;
  private final KeyGroupRange keyGroupRange;
  private final int numberOfKeyGroups;
  private final DataInputDeserializer input = new DataInputDeserializer();

  RestoreTargets(
      StatePlace place,
      Map<String, StateTable> tables,
      Map<String, HeapPriorityQueueSnapshotRestoreWrapper<?>> queues,
      HeapPriorityQueueSetFactory queueFactory,
      KeyGroupRange keyGroupRange,
      int numberOfKeyGroups) {
    this.place = place;
    this.tables = tables;
    this.queues = queues;
    this.queueFactory = queueFactory;
    this.keyGroupRange = keyGroupRange;
    this.numberOfKeyGroups = numberOfKeyGroups;
  }

  StateStore store() throws IOException {
    if (store == null) store = place.open();
    return store;
  }

  /** The store is that of a checkpoint, whose states are all that there are. */
  void adopt(byte[] privatePart, RunReader runs) throws IOException {
    Preconditions.checkState(store == null, "there is a store already");
    store = place.restore(privatePart, runs);
  }

  StatePlace place() {
    return place;
  }

  @Override
  public void close() {
    if (store != null) store.close();
  }

  KeyGroupRange keyGroupRange() {
    return keyGroupRange;
  }

  int prefixBytes() {
    return CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(numberOfKeyGroups);
  }

  static boolean isQueue(StateMetaInfoSnapshot info) {
    return info.getBackendStateType() == StateMetaInfoSnapshot.BackendStateType.PRIORITY_QUEUE;
  }

  StateTable table(StateMetaInfoSnapshot info) {
    return tables.computeIfAbsent(
        info.getName(),
        name -> new StateTable(tables.size(), new RegisteredKeyValueStateBackendMetaInfo<>(info)));
  }

  Target of(StateMetaInfoSnapshot info) {
    if (isQueue(info)) return ofQueue(info);
    final StateTable table = table(info);
    return (key, value) ->
        store().put(StateStore.key(table.number(), key), table.stored(value));
  }

  // The type of the elements is known to the serializer alone.
  @SuppressWarnings({"unchecked", "rawtypes"})
  private <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      Target ofQueue(StateMetaInfoSnapshot info) {
    final HeapPriorityQueueSnapshotRestoreWrapper<T> queue =
        (HeapPriorityQueueSnapshotRestoreWrapper<T>)
            queues.computeIfAbsent(
                info.getName(),
                name -> {
                  final RegisteredPriorityQueueStateBackendMetaInfo<T> known =
                      new RegisteredPriorityQueueStateBackendMetaInfo<>(info);
                  return new HeapPriorityQueueSnapshotRestoreWrapper<T>(
                      queueFactory.create(name, known.getElementSerializer()),
                      known,
                      (KeyExtractorFunction) KeyExtractorFunction.forKeyedObjects(),
                      keyGroupRange,
                      numberOfKeyGroups);
                });
    return (key, value) -> {
      input.setBuffer(key);
      input.skipBytesToRead(prefixBytes());
      queue
          .getPriorityQueue()
          .add(queue.getMetaInfo().getElementSerializer().deserialize(input));
    };
  }
}
