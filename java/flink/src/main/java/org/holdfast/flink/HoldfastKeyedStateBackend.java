package org.holdfast.flink;

import java.io.Closeable;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Stream;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.query.TaskKvStateRegistry;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.HeapPriorityQueuesManager;
import org.apache.flink.runtime.state.KeyGroupedInternalPriorityQueue;
import org.apache.flink.runtime.state.Keyed;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.PriorityComparable;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;
import org.apache.flink.runtime.state.SavepointResources;
import org.apache.flink.runtime.state.SnapshotExecutionType;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategyRunner;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.runtime.state.StreamCompressionDecorator;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueElement;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSetFactory;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueSnapshotRestoreWrapper;
import org.apache.flink.runtime.state.InternalKeyContext;
import org.apache.flink.runtime.state.metrics.LatencyTrackingStateConfig;
import org.apache.flink.runtime.state.metrics.SizeTrackingStateConfig;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.IOUtils;
import org.apache.flink.util.StateMigrationException;

/** Keyed state of one operator and slot in one store. Timers are on the heap. For the task's thread. */
public final class HoldfastKeyedStateBackend<K> extends AbstractKeyedStateBackend<K> {
  private static final int RECORDS_AT_ONCE = 256;

  private final StateStore store;
  // In the order of registration, which the numbers of a snapshot go by.
  private final Map<String, StateTable> tables;
  private final Map<String, AbstractHoldfastState<K, ?, ?>> states = new HashMap<>();
  private final HeapPriorityQueuesManager queues;
  private final KeyBytes<K> keys;
  private final int cacheEntries;
  private final int prefixBytes;
  private final SnapshotStrategyRunner<KeyedStateHandle, FullSnapshot<K>> fullCheckpoints;
  // Incremental checkpoints, and native savepoints.
  private final SnapshotStrategyRunner<KeyedStateHandle, IncrementalSnapshot<K>> runs;
  private final Uploads uploads;
  private final boolean incrementally;
  private final Closeable budget;
  private boolean disposed;

  HoldfastKeyedStateBackend(
      StateStore store,
      Map<String, StateTable> tables,
      Map<String, HeapPriorityQueueSnapshotRestoreWrapper<?>> restoredQueues,
      HeapPriorityQueueSetFactory queueFactory,
      TaskKvStateRegistry kvStateRegistry,
      TypeSerializer<K> keySerializer,
      ClassLoader userCodeClassLoader,
      ExecutionConfig executionConfig,
      TtlTimeProvider ttlTimeProvider,
      LatencyTrackingStateConfig latencyTracking,
      SizeTrackingStateConfig sizeTracking,
      CloseableRegistry cancelStreamRegistry,
      StreamCompressionDecorator compression,
      InternalKeyContext<K> keyContext,
      LocalRecoveryConfig localRecovery,
      Uploads uploads,
      Closeable budget,
      int cacheEntries,
      boolean incrementally) {
    super(
        kvStateRegistry,
        keySerializer,
        userCodeClassLoader,
        executionConfig,
        ttlTimeProvider,
        latencyTracking,
        sizeTracking,
        cancelStreamRegistry,
        compression,
        keyContext);
    this.store = store;
    this.tables = tables;
    queues =
        new HeapPriorityQueuesManager(
            restoredQueues,
            queueFactory,
            keyContext.getKeyGroupRange(),
            keyContext.getNumberOfKeyGroups());
    prefixBytes =
        CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix(
            keyContext.getNumberOfKeyGroups());
    keys = new KeyBytes<>(keySerializer, prefixBytes);
    fullCheckpoints =
        new SnapshotStrategyRunner<>(
            "Holdfast full snapshot",
            new FullSnapshotStrategy<>(localRecovery, this::fullSnapshot),
            cancelStreamRegistry,
            SnapshotExecutionType.ASYNCHRONOUS);
    this.uploads = uploads;
    this.cacheEntries = cacheEntries;
    this.incrementally = incrementally;
    this.budget = budget;
    runs =
        new SnapshotStrategyRunner<>(
            "Holdfast snapshot of runs",
            new IncrementalSnapshotStrategy<>(
                keyGroupRange, uploads, localRecovery, this::incrementalSnapshot),
            cancelStreamRegistry,
            SnapshotExecutionType.ASYNCHRONOUS);
  }

  StateStore store() {
    return store;
  }

  KeyBytes<K> keys() {
    return keys;
  }

  /** Of a state, at most. */
  int cacheEntries() {
    return cacheEntries;
  }

  int prefixBytes() {
    return prefixBytes;
  }

  @Override
  public void setCurrentKey(K key) {
    super.setCurrentKey(key);
    keys.setKey(getCurrentKey(), getCurrentKeyGroupIndex());
  }

  @Override
  public void setCurrentKeyAndKeyGroup(K key, int keyGroup) {
    super.setCurrentKeyAndKeyGroup(key, keyGroup);
    keys.setKey(getCurrentKey(), getCurrentKeyGroupIndex());
  }

  // ---- States ----

  @Override
  public <N, V, E, S extends State, I extends S> I createOrUpdateInternalState(
      TypeSerializer<N> namespaceSerializer,
      StateDescriptor<S, V> descriptor,
      StateSnapshotTransformFactory<E> transformFactory)
      throws Exception {
    return createOrUpdateInternalState(namespaceSerializer, descriptor, transformFactory, false);
  }

  @Override
  public <N, V, E, S extends State, I extends S> I createOrUpdateInternalState(
      TypeSerializer<N> namespaceSerializer,
      StateDescriptor<S, V> descriptor,
      StateSnapshotTransformFactory<E> transformFactory,
      boolean allowFutureMetadataUpdates)
      throws Exception {
    StateTable table = tables.get(descriptor.getName());
    if (table == null) {
      table =
          new StateTable(
              tables.size(),
              new RegisteredKeyValueStateBackendMetaInfo<>(
                  descriptor.getType(),
                  descriptor.getName(),
                  namespaceSerializer,
                  descriptor.getSerializer(),
                  StateSnapshotTransformFactory.noTransform()));
      tables.put(descriptor.getName(), table);
    } else {
      update(table, namespaceSerializer, descriptor);
    }
    RegisteredKeyValueStateBackendMetaInfo<N, V> info = table.info();
    if (allowFutureMetadataUpdates) info = info.withSerializerUpgradesAllowed();
    info.updateSnapshotTransformFactory(
        SnapshotTransforms.of(descriptor, transformFactory, info.getStateSerializer()));
    table.setInfo(info);
    return state(descriptor, table);
  }

  @SuppressWarnings("unchecked")
  private <S extends State, V, I extends S> I state(
      StateDescriptor<S, V> descriptor, StateTable table) {
    final AbstractHoldfastState<K, ?, ?> known = states.get(descriptor.getName());
    if (known != null) {
      known.update(descriptor, table);
      return (I) known;
    }
    final AbstractHoldfastState<K, ?, ?> made =
        switch (descriptor.getType()) {
          case VALUE -> new HoldfastValueState<>(this, table);
          case LIST -> new HoldfastListState<>(this, table);
          case MAP -> new HoldfastMapState<>(this, table);
          case REDUCING -> new HoldfastReducingState<>(this, table);
          case AGGREGATING -> new HoldfastAggregatingState<>(this, table);
          default ->
              throw new FlinkRuntimeException(
                  "state " + descriptor + " is of a type that this backend does not know");
        };
    made.update(descriptor, table);
    states.put(descriptor.getName(), made);
    return (I) made;
  }

  /** A state that is known gets new serializers; its values are rewritten where their format differs. */
  private <N, V, S extends State> void update(
      StateTable table, TypeSerializer<N> namespaceSerializer, StateDescriptor<S, V> descriptor)
      throws Exception {
    final AbstractHoldfastState<K, ?, ?> known = states.get(descriptor.getName());
    if (known != null) known.forget(); // While its serializers are those that it was written with.
    final RegisteredKeyValueStateBackendMetaInfo<N, V> info = table.info();
    final TypeSerializer<N> oldNamespaces = info.getNamespaceSerializer();
    final TypeSerializerSchemaCompatibility<N> namespaces =
        info.updateNamespaceSerializer(namespaceSerializer);
    if (namespaces.isCompatibleAfterMigration() || namespaces.isIncompatible()) {
      throw new StateMigrationException(
          "state "
              + descriptor.getName()
              + ": the new namespace serializer ("
              + namespaceSerializer
              + ") must be compatible with the old one ("
              + oldNamespaces
              + ") as it is");
    }
    info.checkStateMetaInfo(descriptor);
    final TypeSerializer<V> oldValues = info.getStateSerializer();
    final TypeSerializerSchemaCompatibility<V> values =
        info.updateStateSerializer(descriptor.getSerializer());
    if (values.isIncompatible()) {
      throw new StateMigrationException(
          "state "
              + descriptor.getName()
              + ": the new serializer ("
              + descriptor.getSerializer()
              + ") is incompatible with the old one ("
              + oldValues
              + ")");
    }
    if (values.isCompatibleAfterMigration()) migrate(table, descriptor);
  }

  private <V, S extends State> void migrate(StateTable table, StateDescriptor<S, V> descriptor)
      throws Exception {
    final RegisteredKeyValueStateBackendMetaInfo<?, V> info = table.info();
    if (descriptor.getType() == StateDescriptor.Type.MAP) {
      requireSameMapKeys(
          descriptor.getName(), info.getPreviousStateSerializerSnapshot(), info.getStateSerializer());
    }
    state(descriptor, table);
    final AbstractHoldfastState<K, ?, ?> state = states.get(descriptor.getName());
    final TtlAwareSerializer<?, ?> before =
        TtlAwareSerializer.wrapTtlAwareSerializer(info.getPreviousStateSerializer());
    final TtlAwareSerializer<?, ?> now =
        TtlAwareSerializer.wrapTtlAwareSerializer(info.getStateSerializer());
    final DataInputDeserializer input = new DataInputDeserializer();
    final DataOutputSerializer output = new DataOutputSerializer(512);
    byte[] last = null;
    for (; ; ) {
      final List<StateStore.Entry> entries =
          store.read(table.prefix(), last, RECORDS_AT_ONCE).all();
      if (entries.isEmpty()) return;
      for (StateStore.Entry entry : entries) {
        input.setBuffer(table.canonical(entry.value()));
        output.clear();
        try {
          state.migrate(input, output, before, now, ttlTimeProvider);
        } catch (Exception exception) {
          throw new StateMigrationException(
              "a value of state " + descriptor.getName() + " could not be migrated", exception);
        }
        store.put(entry.key(), table.stored(output.getCopyOfBuffer()));
        last = entry.key();
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static <U> void requireSameMapKeys(
      String name, TypeSerializerSnapshot<?> before, TypeSerializer<?> now)
      throws StateMigrationException {
    final TypeSerializerSnapshot<U> keysBefore =
        (TypeSerializerSnapshot<U>)
            ((MapSerializerSnapshot<?, ?>) before).getKeySerializerSnapshot();
    final TypeSerializer<U> keysNow = (TypeSerializer<U>) ((MapSerializer<?, ?>) now).getKeySerializer();
    if (keysNow
        .snapshotConfiguration()
        .resolveSchemaCompatibility(keysBefore)
        .isCompatibleAsIs()) {
      return;
    }
    throw new StateMigrationException(
        "state "
            + name
            + ": the format of the map's keys has changed; only that of its values can be migrated");
  }

  /** The store has what was written. */
  private void flush() throws IOException {
    for (AbstractHoldfastState<K, ?, ?> state : states.values()) state.flush();
  }

  private void flushQuietly() {
    try {
      flush();
    } catch (IOException exception) {
      throw AbstractHoldfastState.failed("cached values could not be written", exception);
    }
  }

  // ---- Keys ----

  @Override
  public <N> Stream<K> getKeys(String state, N namespace) {
    return getKeys(List.of(state), namespace);
  }

  @Override
  public <N> Stream<K> getKeys(List<String> names, N namespace) {
    flushQuietly();
    final List<StateTable> wanted = names.stream().map(tables::get).filter(t -> t != null).toList();
    return KeyStreams.keys(store, wanted, namespace, keySerializer, prefixBytes);
  }

  @Override
  public <N> Stream<Tuple2<K, N>> getKeysAndNamespaces(String state) {
    final StateTable table = tables.get(state);
    if (table == null) return Stream.empty();
    flushQuietly();
    return KeyStreams.keysAndNamespaces(store, table, keySerializer, prefixBytes);
  }

  // ---- Timers ----

  @Override
  public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      KeyGroupedInternalPriorityQueue<T> create(
          String name, TypeSerializer<T> elementSerializer) {
    return queues.createOrUpdate(name, elementSerializer);
  }

  @Override
  public <T extends HeapPriorityQueueElement & PriorityComparable<? super T> & Keyed<?>>
      KeyGroupedInternalPriorityQueue<T> create(
          String name, TypeSerializer<T> elementSerializer, boolean allowFutureMetadataUpdates) {
    return queues.createOrUpdate(name, elementSerializer, allowFutureMetadataUpdates);
  }

  @Override
  public boolean isSafeToReuseKVState() {
    return false; // Timers on the heap keep the key objects that they were given.
  }

  // ---- Snapshots ----

  private FullSnapshot<K> fullSnapshot() throws IOException {
    flush();
    return new FullSnapshot<>(
        store,
        tables.values(),
        queues.getRegisteredPQStates().values(),
        keyGroupRange,
        prefixBytes,
        keySerializer,
        keyGroupCompressionDecorator);
  }

  private IncrementalSnapshot<K> incrementalSnapshot(Map<Pack, Uploads.File> reusable)
      throws IOException {
    flush();
    return new IncrementalSnapshot<>(
        store,
        tables.values(),
        queues.getRegisteredPQStates().values(),
        keyGroupRange,
        prefixBytes,
        keySerializer,
        reusable);
  }

  /** A savepoint that comes here is a native one: runs, as an incremental checkpoint has them, that it shares with none. */
  @Override
  public RunnableFuture<SnapshotResult<KeyedStateHandle>> snapshot(
      long checkpointId,
      long timestamp,
      CheckpointStreamFactory streamFactory,
      CheckpointOptions options)
      throws Exception {
    return incrementally || options.getCheckpointType().isSavepoint()
        ? runs.snapshot(checkpointId, timestamp, streamFactory, options)
        : fullCheckpoints.snapshot(checkpointId, timestamp, streamFactory, options);
  }

  @Override
  public SavepointResources<K> savepoint() throws Exception {
    return new SavepointResources<>(fullSnapshot(), SnapshotExecutionType.ASYNCHRONOUS);
  }

  @Override
  public void notifyCheckpointComplete(long checkpointId) {
    uploads.completed(checkpointId);
  }

  @Override
  public void notifyCheckpointAborted(long checkpointId) {
    uploads.aborted(checkpointId);
  }

  // ---- The rest ----

  @Override
  public int numKeyValueStateEntries() {
    flushQuietly();
    long entries = 0;
    for (StateTable table : tables.values()) entries += store.countPrefix(table.prefix());
    return Math.toIntExact(entries);
  }

  @Override
  public String getBackendTypeIdentifier() {
    return "holdfast";
  }

  @Override
  public void dispose() {
    if (disposed) return;
    disposed = true;
    super.dispose();
    try {
      store.close();
    } finally {
      states.values().forEach(AbstractHoldfastState::drop);
      IOUtils.closeQuietly(budget);
    }
  }
}
