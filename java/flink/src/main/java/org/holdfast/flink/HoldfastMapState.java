package org.holdfast.flink;

import java.io.IOException;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.function.Function;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.MapSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.queryablestate.client.state.serialization.KvStateSerializer;
import org.apache.flink.runtime.state.internal.InternalMapState;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;

/**
 * Each entry of a map is a record of its own, under the map's key with the entry's key behind it. Its value is a flag, whether
 * it is null, and the value. Iterators read some entries at a time, and go on behind the last one: entries may come and go
 * meanwhile.
 */
final class HoldfastMapState<K, N, U, W> extends AbstractHoldfastState<K, N, Map<U, W>>
    implements InternalMapState<K, N, U, W> {
  private static final int ENTRIES_AT_ONCE = 128;

  HoldfastMapState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    super(backend, table);
  }

  private TypeSerializer<U> userKeys() {
    return ((MapSerializer<U, W>) getValueSerializer()).getKeySerializer();
  }

  private TypeSerializer<W> userValues() {
    return ((MapSerializer<U, W>) getValueSerializer()).getValueSerializer();
  }

  private DataOutputSerializer entryBytes(W value) throws IOException {
    final DataOutputSerializer output = output();
    output.writeBoolean(value == null);
    if (value != null) userValues().serialize(value, output);
    return output;
  }

  private static <T> T entryValue(DataInputDeserializer input, TypeSerializer<T> serializer)
      throws IOException {
    return input.readBoolean() ? null : serializer.deserialize(input);
  }

  @Override
  public W get(U key) throws IOException {
    final int count = keyCount(key, userKeys());
    final int bytes = store().read(keyBytes(), count);
    return bytes == StateStore.ABSENT
        ? null
        : entryValue(input(store().valueRead(), bytes), userValues());
  }

  @Override
  public void put(U key, W value) throws IOException {
    final DataOutputSerializer entry = entryBytes(value);
    final int count = keyCount(key, userKeys());
    store().write(keyBytes(), count, entry.getSharedBuffer(), entry.length());
  }

  @Override
  public void putAll(Map<U, W> entries) throws IOException {
    if (entries == null) return;
    for (Map.Entry<U, W> entry : entries.entrySet()) put(entry.getKey(), entry.getValue());
  }

  @Override
  public void remove(U key) throws IOException {
    final int count = keyCount(key, userKeys());
    store().erase(keyBytes(), count);
  }

  @Override
  public boolean contains(U key) throws IOException {
    final int count = keyCount(key, userKeys());
    return store().read(keyBytes(), count) != StateStore.ABSENT;
  }

  @Override
  public boolean isEmpty() {
    return !store().any(key());
  }

  @Override
  public void clear() {
    store().erasePrefix(key());
  }

  @Override
  public Iterable<Map.Entry<U, W>> entries() {
    return this::iterator;
  }

  @Override
  public Iterator<Map.Entry<U, W>> iterator() {
    return new Entries<>(key(), entry -> entry);
  }

  @Override
  public Iterable<U> keys() {
    final byte[] prefix = key();
    return () -> new Entries<>(prefix, Entry::getKey);
  }

  @Override
  public Iterable<W> values() {
    final byte[] prefix = key();
    return () -> new Entries<>(prefix, Entry::getValue);
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
    final TtlAwareSerializer<W, ?> valueBefore =
        ((TtlAwareSerializer.TtlAwareMapSerializer<U, W>) before).getValueSerializer();
    final TtlAwareSerializer<W, ?> valueNow =
        ((TtlAwareSerializer.TtlAwareMapSerializer<U, W>) now).getValueSerializer();
    final boolean isNull = from.readBoolean();
    to.writeBoolean(isNull);
    if (!isNull) migrateOne(from, to, valueBefore, valueNow, time);
  }

  @Override
  byte[] query(byte[] prefix, TypeSerializer<Map<U, W>> serializer) throws IOException {
    final MapSerializer<U, W> own = (MapSerializer<U, W>) serializer;
    final Map<U, W> map = new LinkedHashMap<>();
    final DataInputDeserializer input = new DataInputDeserializer();
    byte[] last = null;
    for (List<StateStore.Entry> some;
        !(some = store().readElsewhere(prefix, last, ENTRIES_AT_ONCE).all()).isEmpty(); ) {
      for (StateStore.Entry entry : some) {
        last = entry.key();
        input.setBuffer(last, prefix.length, last.length - prefix.length);
        final U key = own.getKeySerializer().deserialize(input);
        input.setBuffer(entry.value());
        map.put(key, entryValue(input, own.getValueSerializer()));
      }
    }
    return map.isEmpty()
        ? null
        : KvStateSerializer.serializeMap(
            map.entrySet(), own.getKeySerializer(), own.getValueSerializer());
  }

  /** An entry that writes through. */
  private final class Entry implements Map.Entry<U, W> {
    private final byte[] recordKey;
    private final U key;
    private W value;
    private boolean removed;

    Entry(StateStore.Entry record, int prefixBytes) throws IOException {
      recordKey = record.key();
      final DataInputDeserializer input = input(recordKey, recordKey.length);
      input.skipBytesToRead(prefixBytes);
      key = userKeys().deserialize(input);
      value = entryValue(input(record.value(), record.value().length), userValues());
    }

    @Override
    public U getKey() {
      return key;
    }

    @Override
    public W getValue() {
      return removed ? null : value;
    }

    @Override
    public W setValue(W changed) {
      if (removed) throw new IllegalStateException("the entry was removed");
      final W old = value;
      try {
        final DataOutputSerializer entry = entryBytes(changed);
        store().write(recordKey, recordKey.length, entry.getSharedBuffer(), entry.length());
      } catch (IOException exception) {
        throw failed("an entry of a map could not be written", exception);
      }
      value = changed;
      return old;
    }

    void remove() {
      removed = true;
      store().erase(recordKey);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Map.Entry<?, ?> entry
          && Objects.equals(key, entry.getKey())
          && Objects.equals(getValue(), entry.getValue());
    }

    @Override
    public int hashCode() {
      return Objects.hashCode(key) ^ Objects.hashCode(getValue());
    }
  }

  private final class Entries<T> implements Iterator<T> {
    private final byte[] prefix;
    private final Function<Entry, T> part;
    private List<StateStore.Entry> some = List.of();
    private int at;
    private boolean more = true;
    private Entry present;

    Entries(byte[] prefix, Function<Entry, T> part) {
      this.prefix = prefix;
      this.part = part;
    }

    @Override
    public boolean hasNext() {
      if (at < some.size() || !more) return at < some.size();
      final byte[] last = some.isEmpty() ? null : some.get(some.size() - 1).key();
      final StateStore.Entries read = store().read(prefix, last, ENTRIES_AT_ONCE);
      some = read.all();
      more = read.more();
      at = 0;
      return !some.isEmpty();
    }

    @Override
    public T next() {
      if (!hasNext()) throw new NoSuchElementException();
      try {
        present = new Entry(some.get(at++), prefix.length);
      } catch (IOException exception) {
        throw failed("an entry of a map could not be read", exception);
      }
      return part.apply(present);
    }

    @Override
    public void remove() {
      if (present == null || present.removed) {
        throw new IllegalStateException("next() was not called, or its entry is removed");
      }
      present.remove();
    }
  }
}
