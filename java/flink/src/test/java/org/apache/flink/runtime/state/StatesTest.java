package org.apache.flink.runtime.state;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RunnableFuture;
import java.util.stream.Stream;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;
import org.apache.flink.runtime.state.memory.MemCheckpointStreamFactory;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.holdfast.flink.HoldfastKeyedStateBackend;
import org.holdfast.flink.HoldfastStateBackend;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** States at the edges of what they take. */
final class StatesTest {
  private HoldfastKeyedStateBackend<String> backend;

  @BeforeEach
  void begin() throws Exception {
    backend =
        (HoldfastKeyedStateBackend<String>)
            StateProgram.open(
                new HoldfastStateBackend("dram", true), StateProgram.ALL, List.of());
    backend.setCurrentKey("key");
  }

  @AfterEach
  void end() {
    backend.dispose();
  }

  /** As what Flink makes of two accumulators that have both expired. It was kept, and ended the next checkpoint. */
  @Test
  void aSumThatBecomesNullIsNone() throws Exception {
    final ReducingState<Long> sum =
        StateProgram.state(
            backend,
            0,
            new ReducingStateDescriptor<>("zero is none", StatesTest::sumOrNull, LongSerializer.INSTANCE));
    sum.add(5L);
    sum.add(-5L);
    assertThat(sum.get()).isNull();
    assertThat(backend.numKeyValueStateEntries()).isZero(); // Writes what is cached.
    sum.add(3L);
    assertThat(sum.get()).isEqualTo(3);
  }

  /** It was called one that could not be restored, where there was nothing to restore. */
  @Test
  void aStoreThatCannotBeOpenedIsCalledThat() {
    final Configuration settings = new Configuration();
    settings.set(HoldfastStateBackend.FIXED_MEMORY, new MemorySize(1));
    final HoldfastStateBackend small =
        new HoldfastStateBackend().configure(settings, getClass().getClassLoader());
    assertThatThrownBy(() -> StateProgram.open(small, StateProgram.ALL, List.of()))
        .isInstanceOf(BackendBuildingException.class)
        .hasMessageContaining("could not be opened in dram")
        .hasStackTraceContaining("HF_NO_SPACE");
  }

  /** A value under it was cached, and the checkpoint that wrote it failed. */
  @Test
  void aKeyThatIsTooLongIsRefusedAtOnceAndNamed() throws Exception {
    final ValueState<String> value = StateProgram.state(backend, 0, StateProgram.VALUE);
    final ListState<String> list = StateProgram.state(backend, 0, StateProgram.LIST);
    final MapState<String, String> map =
        StateProgram.state(
            backend,
            0,
            new MapStateDescriptor<>("texts", StringSerializer.INSTANCE, StringSerializer.INSTANCE));
    final String most = "x".repeat(65_000), tooLong = "x".repeat(70_000);
    map.put(most, "a value");
    assertThat(map.get(most)).isEqualTo("a value");
    backend.setCurrentKey(most);
    value.update("another");
    assertThat(value.value()).isEqualTo("another");
    value.clear();
    assertThat(value.value()).isNull();
    for (ThrowingCallable use :
        List.<ThrowingCallable>of(
            () -> map.put(tooLong, "a value"),
            () -> map.remove(tooLong),
            () -> value.update("another"),
            () -> list.add("one more"))) {
      backend.setCurrentKey(tooLong);
      assertThatThrownBy(use)
          .hasMessageContaining("HF_TOO_LARGE: the keyed state of operator")
          .hasMessageContaining("65536 bytes");
    }
    assertThat(backend.numKeyValueStateEntries()).isEqualTo(1);
  }

  /** Of 300 lists of 2 MB that lie side by side 256 were on the heap at a time. */
  @Test
  void keysOfLargeValuesAndTheirMapsTakeLittleOfTheHeap() throws Exception {
    final ListState<String> list = StateProgram.state(backend, 0, StateProgram.LIST);
    final MapState<Integer, String> map = StateProgram.state(backend, 0, StateProgram.MAP);
    final int texts = 12, large = 2 << 20;
    for (int i = 0; i < texts; ++i) {
      backend.setCurrentKey("key " + i);
      list.add("x".repeat(large));
      backend.setCurrentKey("of the map");
      map.put(i, "x".repeat(large / 2));
    }
    final long before = usedHeap();
    try (Stream<String> keys = backend.getKeys("list", 0)) {
      final Iterator<String> each = keys.iterator();
      each.next();
      assertThat(usedHeap() - before).isLessThan(5L * large);
      for (int i = 1; i < texts; ++i) each.next();
      assertThat(each.hasNext()).isFalse();
    }
    int entries = 0;
    for (Map.Entry<Integer, String> entry : map.entries()) {
      assertThat(entry.getKey()).isEqualTo(entries);
      assertThat(entry.getValue()).hasSize(large / 2);
      if (entries++ == 0) assertThat(usedHeap() - before).isLessThan(5L * large);
    }
    assertThat(entries).isEqualTo(texts);
  }

  /** Each task's thread, and each checkpoint, had as much of it as the largest list: a TaskManager has 128 MiB. */
  @Test
  void largeValuesTakeNoMemoryOfDirectBuffers() throws Exception {
    final ListState<String> list = StateProgram.state(backend, 0, StateProgram.LIST);
    final ValueState<String> value = StateProgram.state(backend, 0, StateProgram.VALUE);
    final long before = directBytes();
    final String part = "x".repeat(5 << 20);
    list.add(part);
    list.addAll(List.of(part, part, "small"));
    value.update(part);
    assertThat(list.get()).containsExactly(part, part, part, "small");
    assertThat(value.value()).isEqualTo(part);
    final RunnableFuture<SnapshotResult<KeyedStateHandle>> checkpoint =
        backend.snapshot(
            1,
            1,
            new MemCheckpointStreamFactory(64 << 20),
            CheckpointOptions.forCheckpointWithDefaultLocation());
    checkpoint.run();
    try (CheckpointableKeyedStateBackend<String> restored =
        StateProgram.open(
            new HoldfastStateBackend("dram", true),
            StateProgram.ALL,
            List.of(checkpoint.get().getJobManagerOwnedSnapshot()))) {
      restored.setCurrentKey("key");
      assertThat(StateProgram.state(restored, 0, StateProgram.LIST).get())
          .containsExactly(part, part, part, "small");
      restored.dispose();
    }
    assertThat(directBytes() - before).isLessThan(2 << 20);
  }

  private static long directBytes() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getTotalCapacity)
        .sum();
  }

  /** A change of a job's backend begins with a restore of a checkpoint. It was an ArrayIndexOutOfBoundsException. */
  @Test
  void aCheckpointOfTheHeapsBackendIsRefusedWithWhatCanBeDone() throws Exception {
    for (int values : new int[] {1, 20, 3000, 100_000}) {
      final CheckpointableKeyedStateBackend<String> heap =
          StateProgram.open(new HashMapStateBackend(), StateProgram.ALL, List.of());
      for (int i = 0; i < values; ++i) {
        heap.setCurrentKey("key " + i);
        StateProgram.state(heap, 0, StateProgram.VALUE).update("value " + i);
      }
      final RunnableFuture<SnapshotResult<KeyedStateHandle>> checkpoint =
          heap.snapshot(
              1,
              1,
              new MemCheckpointStreamFactory(64 << 20),
              CheckpointOptions.forCheckpointWithDefaultLocation());
      checkpoint.run();
      heap.dispose();
      final KeyedStateHandle written = checkpoint.get().getJobManagerOwnedSnapshot();
      assertThatThrownBy(
              () ->
                  StateProgram.open(
                      new HoldfastStateBackend("dram", true), StateProgram.ALL, List.of(written)))
          .isInstanceOf(BackendBuildingException.class)
          .hasStackTraceContaining("from one backend to another goes a canonical savepoint");
    }
  }

  private static long usedHeap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  private static Long sumOrNull(long one, long other) {
    return one + other == 0 ? null : one + other;
  }
}
