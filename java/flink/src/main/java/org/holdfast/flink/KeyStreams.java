package org.holdfast.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.util.FlinkRuntimeException;

/**
 * The keys of states, with their namespaces. A stream holds nothing open: it reads some records at a time, and goes on
 * behind the last one. So its user may change the state meanwhile.
 */
final class KeyStreams {
  private static final int RECORDS_AT_ONCE = 256;

  private KeyStreams() {}

  /** Each key once that one of the states has in this namespace. */
  static <K, N> Stream<K> keys(
      StateStore store,
      List<StateTable> tables,
      N namespace,
      TypeSerializer<K> keySerializer,
      int prefixBytes) {
    final Set<K> seen = new LinkedHashSet<>();
    final boolean several = tables.size() > 1;
    return tables.stream()
        .flatMap(
            table ->
                adjacentOnce(
                    KeyStreams.<K, N>keysAndNamespaces(store, table, keySerializer, prefixBytes)
                        .filter(pair -> pair.f1.equals(namespace))
                        .map(pair -> pair.f0)))
        .filter(key -> !several || seen.add(key));
  }

  /** Entries of a map lie side by side: their key is named once. */
  private static <T> Stream<T> adjacentOnce(Stream<T> all) {
    final List<T> last = new ArrayList<>(1);
    return all.filter(
        one -> {
          if (!last.isEmpty() && last.get(0).equals(one)) return false;
          last.clear();
          last.add(one);
          return true;
        });
  }

  static <K, N> Stream<Tuple2<K, N>> keysAndNamespaces(
      StateStore store, StateTable table, TypeSerializer<K> keySerializer, int prefixBytes) {
    return adjacentOnce(
        StreamSupport.stream(
            Spliterators.spliteratorUnknownSize(
                new Keys<K, N>(store, table, keySerializer, prefixBytes), Spliterator.ORDERED),
            false));
  }

  private static final class Keys<K, N> implements Iterator<Tuple2<K, N>> {
    private final StateStore store;
    private final byte[] prefix;
    private final TypeSerializer<K> keySerializer;
    private final TypeSerializer<N> namespaceSerializer;
    private final boolean ambiguous;
    private final int prefixBytes;
    private final DataInputDeserializer input = new DataInputDeserializer();
    private List<StateStore.Entry> entries = List.of();
    private int at;
    private byte[] last;

    Keys(StateStore store, StateTable table, TypeSerializer<K> keySerializer, int prefixBytes) {
      this.store = store;
      this.prefixBytes = prefixBytes;
      prefix = table.prefix();
      this.keySerializer = keySerializer;
      namespaceSerializer = table.<N, Object>info().getNamespaceSerializer();
      ambiguous =
          CompositeKeySerializationUtils.isAmbiguousKeyPossible(
              keySerializer, namespaceSerializer);
    }

    @Override
    public boolean hasNext() {
      if (at == entries.size()) {
        entries = store.readElsewhere(prefix, last, RECORDS_AT_ONCE).all();
        at = 0;
      }
      return at < entries.size();
    }

    @Override
    public Tuple2<K, N> next() {
      if (!hasNext()) throw new NoSuchElementException();
      last = entries.get(at++).key();
      final int from = StateStore.NUMBER_BYTES + prefixBytes;
      input.setBuffer(last, from, last.length - from);
      try {
        final K key = CompositeKeySerializationUtils.readKey(keySerializer, input, ambiguous);
        return Tuple2.of(
            key,
            CompositeKeySerializationUtils.readNamespace(namespaceSerializer, input, ambiguous));
      } catch (IOException exception) {
        throw new FlinkRuntimeException("a key of the state backend could not be read", exception);
      }
    }
  }
}
