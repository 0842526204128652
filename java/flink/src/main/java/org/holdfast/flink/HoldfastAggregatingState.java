package org.holdfast.flink;

import java.io.IOException;
import java.util.Collection;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.internal.InternalAggregatingState;

/** @param <A> the accumulator, which is what is kept */
final class HoldfastAggregatingState<K, N, T, A, R> extends CachedState<K, N, A>
    implements InternalAggregatingState<K, N, T, A, R> {
  private AggregateFunction<T, A, R> function;

  HoldfastAggregatingState(HoldfastKeyedStateBackend<K> backend, StateTable table) {
    super(backend, table);
  }

  @Override
  @SuppressWarnings("unchecked")
  void update(StateDescriptor<?, ?> descriptor, StateTable table) {
    super.update(descriptor, table);
    function = ((AggregatingStateDescriptor<T, A, R>) descriptor).getAggregateFunction();
  }

  @Override
  public R get() throws IOException {
    final A accumulator = getInternal();
    return accumulator == null ? null : function.getResult(accumulator);
  }

  @Override
  public A getInternal() throws IOException {
    return load();
  }

  @Override
  public void updateInternal(A accumulator) throws IOException {
    save(accumulator);
  }

  @Override
  public void add(T value) throws IOException {
    A accumulator = load();
    if (accumulator == null) accumulator = function.createAccumulator();
    save(function.add(value, accumulator));
  }

  @Override
  public void mergeNamespaces(N target, Collection<N> sources) throws IOException {
    if (sources == null) return;
    A sum = null;
    for (N source : sources) {
      if (source == null) continue;
      setCurrentNamespace(source);
      final A accumulator = load();
      if (accumulator == null) continue;
      clear();
      sum = sum == null ? accumulator : function.merge(sum, accumulator);
    }
    setCurrentNamespace(target);
    if (sum == null) return;
    final A old = getInternal();
    updateInternal(old == null ? sum : function.merge(old, sum));
  }
}
