package org.holdfast.flink.peer;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/**
 * The events of {@code window-sum}, as columns in this process, which has the whole cluster.
 *
 * <p>A source of Flink gives each of its subtasks a part of the numbers 0, 1, 2 … one behind the other. So that all are at
 * about the same time, the n-th number of subtask s is event n * subtasks + s.
 */
final class Events {
  static long[] ts = {};
  static long[] sensor = {};
  static long[] value = {};

  /** When the first source of the running job was ready to read. */
  static final AtomicLong BEGAN_NS = new AtomicLong();

  private Events() {}

  static void load(String directory) throws IOException {
    ts = column(Path.of(directory, "events.ts"));
    sensor = column(Path.of(directory, "events.sensor"));
    value = column(Path.of(directory, "events.value"));
  }

  /** Whole numbers of 8 bytes, the least byte first. */
  private static long[] column(Path path) throws IOException {
    try (FileChannel file = FileChannel.open(path)) {
      final long[] numbers = new long[Math.toIntExact(file.size() / Long.BYTES)];
      // A mapping holds 2 GiB at most.
      final int most = 1 << 27;
      for (int from = 0; from < numbers.length; from += most) {
        final int count = Math.min(most, numbers.length - from);
        final MappedByteBuffer bytes =
            file.map(
                FileChannel.MapMode.READ_ONLY, (long) from * Long.BYTES, (long) count * Long.BYTES);
        bytes.order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(numbers, from, count);
      }
      return numbers;
    }
  }

  /** From a number of the source to the event that it stands for. */
  abstract static class Reader<T> implements GeneratorFunction<Long, T> {
    private static final long serialVersionUID = 1L;
    private final long events = ts.length;
    private final long subtasks;

    Reader(int subtasks) {
      this.subtasks = subtasks;
    }

    @Override
    public void open(SourceReaderContext context) {
      BEGAN_NS.compareAndSet(0, System.nanoTime());
    }

    @Override
    public T map(Long number) {
      // The first events % subtasks of them have one more.
      final long each = events / subtasks;
      final long more = events % subtasks;
      final long first = more * (each + 1);
      final long subtask =
          number < first ? number / (each + 1) : more + (number - first) / Math.max(each, 1);
      final long begin = subtask * each + Math.min(subtask, more);
      return read((int) ((number - begin) * subtasks + subtask));
    }

    abstract T read(int event);
  }
}
