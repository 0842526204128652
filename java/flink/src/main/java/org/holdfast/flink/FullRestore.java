package org.holdfast.flink;

import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyExtractorFunction;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.RegisteredPriorityQueueStateBackendMetaInfo;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.runtime.state.restore.FullSnapshotRestoreOperation;
import org.apache.flink.runtime.state.restore.KeyGroup;
import org.apache.flink.runtime.state.restore.KeyGroupEntry;
import org.apache.flink.runtime.state.restore.SavepointRestoreResult;
import org.apache.flink.runtime.state.restore.ThrowingIterator;
import org.apache.flink.util.StateMigrationException;

/** Reads snapshots in the canonical format, whichever backend wrote them, and keeps the key groups that are ours. */
final class FullRestore<K> {
  private final StateStore store;
  private final Map<String, StateTable> tables;
  private final Map<String, HeapPriorityQueueSnapshotRestoreWrapper<?>> queues;
  private final HeapPriorityQueueSetFactory queueFactory;
  private final KeyGroupRange keyGroupRange;
  private final int numberOfKeyGroups;
  private final FullSnapshotRestoreOperation<K> snapshots;
  private final CloseableRegistry cancellation;
  private final DataInputDeserializer input = new DataInputDeserializer();

  FullRestore(
      StateStore store,
      Map<String, StateTable> tables,
      Map<String, HeapPriorityQueueSnapshotRestoreWrapper<?>> queues,
      HeapPriorityQueueSetFactory queueFactory,
      KeyGroupRange keyGroupRange,
      int numberOfKeyGroups,
      ClassLoader classLoader,
      Collection<KeyedStateHandle> handles,
      StateSerializerProvider<K> keySerializer,
      CloseableRegistry cancellation) {
    this.store = store;
    this.tables = tables;
    this.queues = queues;
    this.queueFactory = queueFactory;
    this.keyGroupRange = keyGroupRange;
    this.numberOfKeyGroups = numberOfKeyGroups;
    this.cancellation = cancellation;
    snapshots =
        new FullSnapshotRestoreOperation<>(keyGroupRange, classLoader, handles, keySerializer);
  }

  void run() throws Exception {
    try (ThrowingIterator<SavepointRestoreResult> each = snapshots.restore()) {
      while (each.hasNext()) restore(each.next());
    }
  }

  /** Where the entries of one state of a snapshot go. */
  @FunctionalInterface
  private interface Target {
    void add(KeyGroupEntry entry) throws IOException;
  }

  private void restore(SavepointRestoreResult snapshot)
      throws IOException, StateMigrationException {
    final List<StateMetaInfoSnapshot> infos = snapshot.getStateMetaInfoSnapshots();
    final Map<Integer, Target> targets = new HashMap<>();
    for (int number = 0; number < infos.size(); ++number) targets.put(number, target(infos.get(number)));
    try (ThrowingIterator<KeyGroup> groups = snapshot.getRestoredKeyGroups()) {
      while (groups.hasNext()) {
        if (cancellation.isClosed()) throw new IOException("the restore was cancelled");
        try (ThrowingIterator<KeyGroupEntry> entries = groups.next().getKeyGroupEntries()) {
          while (entries.hasNext()) {
            final KeyGroupEntry entry = entries.next();
            final Target target = targets.get(entry.getKvStateId());
            if (target == null) {
              throw new IOException(
                  "the snapshot has an entry of state "
                      + entry.getKvStateId()
                      + " and names "
                      + infos.size()
                      + " states");
            }
            target.add(entry);
          }
        }
      }
    }
  }

  private Target target(StateMetaInfoSnapshot info) {
    if (info.getBackendStateType() == StateMetaInfoSnapshot.BackendStateType.PRIORITY_QUEUE) {
      return queueTarget(info);
    }
    final StateTable table =
        tables.computeIfAbsent(
            info.getName(),
            name ->
                new StateTable(tables.size(), new RegisteredKeyValueStateBackendMetaInfo<>(info)));
    return entry -> 
        store.put(
            StateStore.key(table.number(), entry.getKey()), table.stored(entry.getValue()));
  }

  // The type of the elements is known to the serializer alone.
  @SuppressWarnings({"unchecked", "rawtypes"})
  private <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      Target queueTarget(StateMetaInfoSnapshot info) {
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
    final int prefixBytes =
        CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(numberOfKeyGroups);
    return entry -> {
      input.setBuffer(entry.getKey());
      input.skipBytesToRead(prefixBytes);
      queue
          .getPriorityQueue()
          .add(queue.getMetaInfo().getElementSerializer().deserialize(input));
    };
  }
}
