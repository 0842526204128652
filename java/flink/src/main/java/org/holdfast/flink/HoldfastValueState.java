package org.holdfast.flink;

import java.io.IOException;
import org.apache.flink.runtime.state.internal.InternalValueState;

final class HoldfastValueState<K, N, V> extends CachedState<K, N, V>
    implements InternalValueState<K, N, V> {
  HoldfastValueState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    super(backend, table);
  }

  @Override
  public V value() throws IOException {
    final V value = load();
    return value == null ? defaultValue() : value;
  }

  @Override
  public void update(V value) throws IOException {
    if (value == null) clear();
    else save(value);
  }
}
