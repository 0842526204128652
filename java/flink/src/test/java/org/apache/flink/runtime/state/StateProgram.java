package org.apache.flink.runtime.state;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.AggregatingState;
import org.apache.flink.api.common.state.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeutils.base.IntSerializer;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.streaming.api.operators.TimerHeapInternalTimer;
import org.apache.flink.streaming.api.operators.TimerSerializer;
import org.holdfast.flink.HoldfastKeyedStateBackend;

/** Random changes of all five kinds of state and of timers, beside a model of what they are. */
final class StateProgram {
  static final int GROUPS = 128;
  static final KeyGroupRange ALL = KeyGroupRange.of(0, GROUPS - 1);
  private static final int KEYS = 200;
  private static final int NAMESPACES = 3;

  /** What the states of a key and namespace are. */
  private static final class Model {
    String value;
    final List<String> list = new ArrayList<>();
    final Map<Integer, String> map = new HashMap<>();
    Long sum;
    String aggregate;
  }

  private record Place(String key, int namespace) {}

  private final Map<Place, Model> model = new HashMap<>();
  private final Set<TimerHeapInternalTimer<String, Integer>> timers = new HashSet<>();
  private final Map<
          CheckpointableKeyedStateBackend<String>,
          KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, Integer>>>
      queues = new IdentityHashMap<>();
  private final Random random;

  StateProgram(long seed) {
    random = new Random(seed);
  }

  private static final class Join implements AggregateFunction<String, String, String> {
    @Override
    public String createAccumulator() {
      return "";
    }

    @Override
    public String add(String value, String accumulator) {
      return accumulator + value;
    }

    @Override
    public String getResult(String accumulator) {
      return accumulator;
    }

    @Override
    public String merge(String one, String other) {
      return one + other;
    }
  }

  static final ValueStateDescriptor<String> VALUE =
      new ValueStateDescriptor<>("value", StringSerializer.INSTANCE);
  static final ListStateDescriptor<String> LIST =
      new ListStateDescriptor<>("list", StringSerializer.INSTANCE);
  static final MapStateDescriptor<Integer, String> MAP =
      new MapStateDescriptor<>("map", IntSerializer.INSTANCE, StringSerializer.INSTANCE);
  static final ReducingStateDescriptor<Long> SUM =
      new ReducingStateDescriptor<>("sum", Long::sum, LongSerializer.INSTANCE);
  static final AggregatingStateDescriptor<String, String, String> AGGREGATE =
      new AggregatingStateDescriptor<>("aggregate", new Join(), StringSerializer.INSTANCE);

  static CheckpointableKeyedStateBackend<String> open(
      StateBackend backend, KeyGroupRange range, Collection<KeyedStateHandle> handles)
      throws Exception {
    final MockEnvironment environment =
        MockEnvironment.builder().setManagedMemorySize(64 << 20).build();
    return backend.createKeyedStateBackend(
        new KeyedStateBackendParametersImpl<>(
            environment,
            new JobID(),
            "operator",
            StringSerializer.INSTANCE,
            GROUPS,
            range,
            environment.getTaskKvStateRegistry(),
            TtlTimeProvider.DEFAULT,
            new UnregisteredMetricsGroup(),
            (name, value) -> {},
            handles,
            new CloseableRegistry(),
            1.0));
  }

  static <S extends State> S state(
      CheckpointableKeyedStateBackend<String> backend, int namespace, StateDescriptor<S, ?> descriptor)
      throws Exception {
    return backend.getPartitionedState(namespace, IntSerializer.INSTANCE, descriptor);
  }

  private KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, Integer>> queue(
      CheckpointableKeyedStateBackend<String> backend) {
    // A backend is asked for a queue once.
    return queues.computeIfAbsent(
        backend,
        one ->
            one.create(
                "timers",
                new TimerSerializer<>(StringSerializer.INSTANCE, IntSerializer.INSTANCE)));
  }

  private String text() {
    // With commas, which separate the elements of lists; and large at times.
    return "text,".repeat(random.nextInt(100) == 0 ? 1000 : random.nextInt(4)) + random.nextInt(100);
  }

  /** So many random changes of keys of the range. */
  void work(CheckpointableKeyedStateBackend<String> backend, KeyGroupRange range, int steps)
      throws Exception {
    final KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, Integer>> queue =
        queue(backend);
    for (int step = 0; step < steps; ++step) {
      final Place place = new Place("key " + random.nextInt(KEYS), random.nextInt(NAMESPACES));
      if (!range.contains(KeyGroupRangeAssignment.assignToKeyGroup(place.key(), GROUPS))) continue;
      final Model one = model.computeIfAbsent(place, unused -> new Model());
      backend.setCurrentKey(place.key());
      final int n = place.namespace();
      final String text = text();
      final int entry = random.nextInt(300);
      switch (random.nextInt(12)) {
        case 0, 1 -> state(backend, n, VALUE).update(one.value = text);
        case 2 -> {
          state(backend, n, VALUE).clear();
          one.value = null;
        }
        case 3, 4 -> {
          state(backend, n, LIST).add(text);
          one.list.add(text);
        }
        case 5 -> {
          if (random.nextInt(4) != 0) continue;
          state(backend, n, LIST).clear();
          one.list.clear();
        }
        case 6, 7 -> {
          state(backend, n, MAP).put(entry, text);
          one.map.put(entry, text);
        }
        case 8 -> {
          state(backend, n, MAP).remove(entry);
          one.map.remove(entry);
        }
        case 9 -> {
          state(backend, n, SUM).add((long) entry);
          one.sum = (one.sum == null ? 0 : one.sum) + entry;
        }
        case 10 -> {
          state(backend, n, AGGREGATE).add(text);
          one.aggregate = (one.aggregate == null ? "" : one.aggregate) + text;
        }
        default -> {
          final TimerHeapInternalTimer<String, Integer> timer =
              new TimerHeapInternalTimer<>(entry, place.key(), n);
          queue.add(timer);
          timers.add(timer);
        }
      }
    }
  }

  /** The keys of the range, and nothing else, are as the model has them. */
  void isAsTheModel(CheckpointableKeyedStateBackend<String> backend, KeyGroupRange range)
      throws Exception {
    int entries = 0;
    final Set<String> withValue = new HashSet<>();
    for (Map.Entry<Place, Model> each : model.entrySet()) {
      final Place place = each.getKey();
      final Model one = each.getValue();
      if (!range.contains(KeyGroupRangeAssignment.assignToKeyGroup(place.key(), GROUPS))) continue;
      backend.setCurrentKey(place.key());
      final ValueState<String> value = state(backend, place.namespace(), VALUE);
      assertThat(value.value()).isEqualTo(one.value);
      final ListState<String> list = state(backend, place.namespace(), LIST);
      if (one.list.isEmpty()) assertThat(list.get()).isNullOrEmpty();
      else assertThat(list.get()).containsExactlyElementsOf(one.list);
      final MapState<Integer, String> map = state(backend, place.namespace(), MAP);
      final Map<Integer, String> seen = new HashMap<>();
      for (Map.Entry<Integer, String> entry : map.entries()) seen.put(entry.getKey(), entry.getValue());
      assertThat(seen).isEqualTo(one.map);
      assertThat(map.isEmpty()).isEqualTo(one.map.isEmpty());
      final ReducingState<Long> sum = state(backend, place.namespace(), SUM);
      assertThat(sum.get()).isEqualTo(one.sum);
      final AggregatingState<String, String> aggregate =
          state(backend, place.namespace(), AGGREGATE);
      assertThat(aggregate.get()).isEqualTo(one.aggregate);
      entries +=
          (one.value == null ? 0 : 1)
              + (one.list.isEmpty() ? 0 : 1)
              + one.map.size()
              + (one.sum == null ? 0 : 1)
              + (one.aggregate == null ? 0 : 1);
      if (place.namespace() == 0 && one.value != null) withValue.add(place.key());
    }
    if (backend instanceof HoldfastKeyedStateBackend<String> ours) {
      assertThat(ours.numKeyValueStateEntries()).isEqualTo(entries);
    }
    try (Stream<String> keys = backend.getKeys("value", 0)) {
      assertThat(keys.toList()).containsExactlyInAnyOrderElementsOf(withValue);
    }
    final KeyGroupedInternalPriorityQueue<TimerHeapInternalTimer<String, Integer>> queue =
        queue(backend);
    final Set<TimerHeapInternalTimer<String, Integer>> left = new HashSet<>();
    for (TimerHeapInternalTimer<String, Integer> timer; (timer = queue.poll()) != null; ) {
      left.add(timer);
    }
    left.forEach(queue::add); // The backend may go on.
    final Set<TimerHeapInternalTimer<String, Integer>> wanted = new HashSet<>(timers);
    wanted.removeIf(
        timer -> !range.contains(KeyGroupRangeAssignment.assignToKeyGroup(timer.getKey(), GROUPS)));
    assertThat(left).isEqualTo(wanted);
  }
}
