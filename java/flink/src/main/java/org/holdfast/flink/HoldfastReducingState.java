package org.holdfast.flink;

import java.io.IOException;
import java.util.Collection;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.internal.InternalReducingState;

final class HoldfastReducingState<K, N, V> extends CachedState<K, N, V>
    implements InternalReducingState<K, N, V> {
  private ReduceFunction<V> function;

  HoldfastReducingState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    super(backend, table);
  }

  @Override
  @SuppressWarnings("unchecked")
  void update(StateDescriptor<?, ?> descriptor, StateTable table) {
    super.update(descriptor, table);
    function = ((ReducingStateDescriptor<V>) descriptor).getReduceFunction();
  }

  @Override
  public V get() throws IOException {
    return getInternal();
  }

  @Override
  public V getInternal() throws IOException {
    return load();
  }

  @Override
  public void updateInternal(V value) throws IOException {
    save(value);
  }

  @Override
  public void add(V value) throws Exception {
    final V old = load();
    save(old == null ? value : function.reduce(old, value));
  }

  @Override
  public void mergeNamespaces(N target, Collection<N> sources) throws Exception {
    if (sources == null) return;
    V sum = null;
    for (N source : sources) {
      if (source == null) continue;
      setCurrentNamespace(source);
      final V value = load();
      if (value == null) continue;
      clear();
      sum = sum == null ? value : function.reduce(sum, value);
    }
    setCurrentNamespace(target);
    if (sum == null) return;
    final V old = getInternal();
    updateInternal(old == null ? sum : function.reduce(old, sum));
  }
}
