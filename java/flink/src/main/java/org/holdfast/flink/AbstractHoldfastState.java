package org.holdfast.flink;

import java.io.IOException;
import java.util.Arrays;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.internal.InternalKvState;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.ResourceGuard;

/**
 * What the states have in common: the record of the present key and namespace. For the task's thread, but for {@link
 * #getSerializedValue}.
 *
 * @param <V> what Flink's serializer of the state reads and writes
 */
abstract class AbstractHoldfastState<K, N, V> implements InternalKvState<K, N, V>, State {
  private static final int CAPACITY = 128;

  private final HoldfastKeyedStateBackend<K> backend;
  private final int number;
  private final DataOutputSerializer output = new DataOutputSerializer(CAPACITY);
  private final DataInputDeserializer input = new DataInputDeserializer();
  private TypeSerializer<N> namespaceSerializer;
  private TypeSerializer<V> valueSerializer;
  private V defaultValue;
  private N namespace;

  AbstractHoldfastState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    this.backend = backend;
    number = table.number();
  }

  /** New serializers, functions, defaults. */
  @SuppressWarnings({"unchecked", "deprecation"})
  void update(StateDescriptor<?, ?> descriptor, StateTable table) {
    namespaceSerializer = table.<N, V>info().getNamespaceSerializer();
    valueSerializer = table.<N, V>info().getStateSerializer();
    defaultValue = (V) descriptor.getDefaultValue();
  }

  /** A value as it lies in the store, from one serializer to another. */
  @SuppressWarnings("unchecked")
  void migrate(
      DataInputDeserializer from,
      DataOutputSerializer to,
      TtlAwareSerializer<?, ?> before,
      TtlAwareSerializer<?, ?> now,
      TtlTimeProvider time)
      throws IOException {
    migrateOne(from, to, (TtlAwareSerializer<V, ?>) before, (TtlAwareSerializer<V, ?>) now, time);
  }

  static <T> void migrateOne(
      DataInputDeserializer from,
      DataOutputSerializer to,
      TtlAwareSerializer<T, ?> before,
      TtlAwareSerializer<T, ?> now,
      TtlTimeProvider time)
      throws IOException {
    now.migrateValueFromPriorSerializer(before, () -> before.deserialize(from), to, time);
  }

  // ---- Records ----

  StateStore store() {
    return backend.store();
  }

  /** The key of the record of the present key and namespace: how many of {@link #keyBytes} it takes. */
  int keyCount() {
    return backend.keys().in(number, namespace, namespaceSerializer);
  }

  /** Of an entry of its map. */
  <U> int keyCount(U userKey, TypeSerializer<U> userKeySerializer) throws IOException {
    return backend
        .keys()
        .in(number, namespace, namespaceSerializer, userKey, userKeySerializer);
  }

  byte[] keyBytes() {
    return backend.keys().bytes();
  }

  /** A copy. */
  byte[] key() {
    final int count = keyCount();
    return Arrays.copyOf(keyBytes(), count);
  }

  HoldfastKeyedStateBackend<K> backend() {
    return backend;
  }

  /** Nothing of what was written is only here. */
  void flush() throws IOException {}

  /** The same, and nothing of it is kept. */
  void forget() throws IOException {}

  /** What it keeps of the heap goes, written or not. */
  void drop() {}

  DataOutputSerializer output() {
    output.clear();
    return output;
  }

  DataInputDeserializer input(byte[] bytes, int count) {
    input.setBuffer(bytes, 0, count);
    return input;
  }

  V defaultValue() {
    return defaultValue == null ? null : valueSerializer.copy(defaultValue);
  }

  // ---- Of Flink ----

  @Override
  public void clear() {
    final int count = keyCount();
    store().erase(keyBytes(), count);
  }

  @Override
  public void setCurrentNamespace(N present) {
    namespace = present;
  }

  N namespace() {
    return namespace;
  }

  @Override
  public TypeSerializer<K> getKeySerializer() {
    return backend.getKeySerializer();
  }

  @Override
  public TypeSerializer<N> getNamespaceSerializer() {
    return namespaceSerializer;
  }

  @Override
  public TypeSerializer<V> getValueSerializer() {
    return valueSerializer;
  }

  /** Of queryable state: from any thread, with serializers of its own. */
  @Override
  public byte[] getSerializedValue(
      byte[] keyAndNamespace,
      TypeSerializer<K> keySerializer,
      TypeSerializer<N> ownNamespaceSerializer,
      TypeSerializer<V> ownValueSerializer)
      throws Exception {
    final Tuple2<K, N> pair =
        KvStateSerializer.deserializeKeyAndNamespace(
            keyAndNamespace, keySerializer, ownNamespaceSerializer);
    final KeyBytes<K> own = new KeyBytes<>(keySerializer, backend.prefixBytes());
    own.setKey(
        pair.f0,
        KeyGroupRangeAssignment.assignToKeyGroup(pair.f0, backend.getNumberOfKeyGroups()));
    final int count = own.in(number, pair.f1, ownNamespaceSerializer);
    final byte[] key = Arrays.copyOf(own.bytes(), count);
    try (ResourceGuard.Lease lease = store().lease()) {
      return query(key, ownValueSerializer);
    }
  }

  /** The state under `key` as a client of queryable state reads it; null: there is none. */
  byte[] query(byte[] key, TypeSerializer<V> serializer) throws Exception {
    return store().get(key);
  }

  @Override
  public StateIncrementalVisitor<K, N, V> getStateIncrementalVisitor(int most) {
    throw new UnsupportedOperationException(
        "this backend has no incremental visitor of its state; expired state is left out of snapshots");
  }

  static FlinkRuntimeException failed(String what, Exception cause) {
    return new FlinkRuntimeException("keyed state in Holdfast: " + what, cause);
  }
}
