package org.holdfast.flink;

import java.io.IOException;
import java.util.Arrays;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.ttl.TtlValue;

/**
 * A state of one record per key and namespace, behind a cache of its values. Those of an immutable type are kept as objects,
 * others as bytes: what a user does to an object that was put or got changes nothing here.
 */
abstract class CachedState<K, N, V> extends AbstractHoldfastState<K, N, V> {
  // Of a value in the cache: 16 MiB for each state with as many places as are usual.
  private static final int LARGEST_BYTES = 1 << 10;
  private static final int OBJECT_BYTES = 32;

  private final ValueCache<Object> cache;
  private boolean asObjects;

  CachedState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    super(backend, table);
    cache =
        new ValueCache<>(
            backend.cacheEntries(),
            CacheHeap.OF_PROCESS,
            new ValueCache.Backing<>() {
              @Override
              public Object read(byte[] key, int count) throws IOException {
                final int bytes = store().read(key, count);
                if (bytes == StateStore.ABSENT) return null;
                final byte[] read = store().valueRead();
                return asObjects ? value(read, bytes) : Arrays.copyOf(read, bytes);
              }

              @Override
              public void write(byte[] key, int count, Object value) throws IOException {
                if (value instanceof byte[] bytes && !asObjects) {
                  store().write(key, count, bytes, bytes.length);
                  return;
                }
                final DataOutputSerializer output = serialized(value);
                store().write(key, count, output.getSharedBuffer(), output.length());
              }

              @Override
              public void erase(byte[] key, int count) {
                store().erase(key, count);
              }

              @Override
              public boolean isSmall(Object value) {
                return heapBytes(value) <= LARGEST_BYTES;
              }

              @Override
              public int heapBytes(Object value) {
                return bytesOf(value);
              }
            });
  }

  /** Of bytes and texts. Other objects of immutable types have few. */
  private static int bytesOf(Object value) {
    if (value instanceof byte[] bytes) return bytes.length;
    if (value instanceof String text) return text.length();
    return OBJECT_BYTES
        + (value instanceof TtlValue<?> stamped ? bytesOf(stamped.getUserValue()) : 0);
  }

  @Override
  void update(StateDescriptor<?, ?> descriptor, StateTable table) {
    super.update(descriptor, table);
    asObjects = getValueSerializer().isImmutableType();
  }

  private V value(byte[] bytes, int count) throws IOException {
    return getValueSerializer().deserialize(input(bytes, count));
  }

  @SuppressWarnings("unchecked")
  private DataOutputSerializer serialized(Object value) throws IOException {
    final DataOutputSerializer output = output();
    getValueSerializer().serialize((V) value, output);
    return output;
  }

  /** Null: there is none. */
  @SuppressWarnings("unchecked")
  final V load() throws IOException {
    final int count = keyCount();
    final Object value = cache.get(keyBytes(), count);
    if (value == null || asObjects) return (V) value;
    final byte[] bytes = (byte[]) value;
    return value(bytes, bytes.length);
  }

  /** Null ends it: what Flink makes of two accumulators that both have expired is null. */
  final void save(V value) throws IOException {
    if (value == null) {
      clear();
      return;
    }
    final Object kept = asObjects ? value : serialized(value).getCopyOfBuffer();
    final int count = keyCount();
    cache.put(keyBytes(), count, kept);
  }

  @Override
  public final void clear() {
    final int count = keyCount();
    try {
      cache.erase(keyBytes(), count);
    } catch (IOException exception) {
      throw failed("a cached value could not be written", exception);
    }
  }

  @Override
  void flush() throws IOException {
    cache.flush();
  }

  @Override
  void forget() throws IOException {
    cache.clear();
  }

  @Override
  void drop() {
    cache.drop();
  }

  @Override
  @SuppressWarnings("unchecked")
  byte[] query(byte[] key, TypeSerializer<V> serializer) throws Exception {
    final byte[][] seen = new byte[1][];
    final boolean here =
        cache.look(
            key,
            value -> {
              if (value == null || !asObjects) {
                seen[0] = (byte[]) value;
                return;
              }
              final DataOutputSerializer output = new DataOutputSerializer(64);
              serializer.serialize((V) value, output);
              seen[0] = output.getCopyOfBuffer();
            });
    return here ? seen[0] : super.query(key, serializer);
  }
}
