package org.holdfast.flink;

import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.ListDelimitedSerializer;
import org.apache.flink.runtime.state.internal.InternalListState;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.util.Preconditions;

/**
 * A list is one record: its elements, each with a comma behind it. To add is to append: O(bytes added). The canonical format
 * has commas between elements only; {@link StateTable} goes from one to the other.
 */
final class HoldfastListState<K, N, V> extends AbstractHoldfastState<K, N, List<V>>
    implements InternalListState<K, N, V> {
  private final ListDelimitedSerializer lists = new ListDelimitedSerializer();

  HoldfastListState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    super(backend, table);
  }

  private TypeSerializer<V> elements() {
    return ((ListSerializer<V>) getValueSerializer()).getElementSerializer();
  }

  @Override
  public Iterable<V> get() throws IOException {
    return getInternal();
  }

  @Override
  public List<V> getInternal() throws IOException {
    return lists.deserializeList(store().get(key()), elements());
  }

  @Override
  public void add(V value) throws IOException {
    Preconditions.checkNotNull(value, "a list takes no null");
    final DataOutputSerializer output = output();
    elements().serialize(value, output);
    output.write(StateTable.DELIMITER);
    final int count = keyCount();
    store().writeBehind(keyBytes(), count, output.getSharedBuffer(), output.length());
  }

  @Override
  public void addAll(List<V> values) throws IOException {
    Preconditions.checkNotNull(values, "a list takes no null");
    if (values.isEmpty()) return;
    store().append(key(), StateTable.listWithEnd(lists.serializeList(values, elements())));
  }

  @Override
  public void update(List<V> values) throws IOException {
    updateInternal(values);
  }

  @Override
  public void updateInternal(List<V> values) throws IOException {
    Preconditions.checkNotNull(values, "a list takes no null");
    if (values.isEmpty()) clear();
    else store().put(key(), StateTable.listWithEnd(lists.serializeList(values, elements())));
  }

  @Override
  public void mergeNamespaces(N target, Collection<N> sources) {
    if (sources == null) return;
    for (N source : sources) {
      if (source == null) continue;
      setCurrentNamespace(source);
      final byte[] from = key(), list = store().get(from);
      if (list == null) continue;
      store().erase(from);
      setCurrentNamespace(target);
      store().append(key(), list);
    }
    setCurrentNamespace(target);
  }

  @Override
  byte[] query(byte[] key, TypeSerializer<List<V>> serializer) {
    final byte[] list = store().get(key);
    return list == null ? null : StateTable.listWithoutEnd(list);
  }

  @Override
  @SuppressWarnings("unchecked")
  void migrate(
      DataInputDeserializer from,
      DataOutputSerializer to,
      TtlAwareSerializer<?, ?> before,
      TtlAwareSerializer<?, ?> now,
      TtlTimeProvider time)
      throws IOException {
    final TtlAwareSerializer<V, ?> elementBefore =
        ((TtlAwareSerializer.TtlAwareListSerializer<V>) before).getElementSerializer();
    final TtlAwareSerializer<V, ?> elementNow =
        ((TtlAwareSerializer.TtlAwareListSerializer<V>) now).getElementSerializer();
    while (from.available() > 0) {
      elementNow.migrateValueFromPriorSerializer(
          elementBefore,
          () -> ListDelimitedSerializer.deserializeNextElement(from, elementBefore),
          to,
          time);
      if (from.available() > 0) to.write(StateTable.DELIMITER);
    }
  }
}
