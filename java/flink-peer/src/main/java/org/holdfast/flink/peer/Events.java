package org.holdfast.flink.peer;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryStringData;

/**
 * The events of one table, as columns in this process, which has the whole cluster.
 *
 * <p>A source of Flink gives each of its subtasks a part of the numbers 0, 1, 2 … one behind the other. So that all are at
 * about the same time, the n-th number of subtask s is event n * subtasks + s.
 */
final class Events {
  private static final Map<String, Events> ALL = new ConcurrentHashMap<>();

  /** When the first source of the running job was ready to read. */
  static final AtomicLong BEGAN_NS = new AtomicLong();

  private final Map<String, long[]> numbers = new HashMap<>();
  private final Map<String, byte[]> texts = new HashMap<>();

  private Events() {}

  static Events of(String table) {
    final Events events = ALL.get(table);
    if (events == null) throw new IllegalArgumentException("there are no events of " + table);
    return events;
  }

  /** The files TABLE.COLUMN there; a text has TABLE.COLUMN.ends beside it (holdfast/peers/stream/peer_tables.hpp). */
  static void load(String table, String directory) throws IOException {
    final Events events = new Events();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(directory), table + ".*")) {
      for (Path file : files) {
        final String column = file.getFileName().toString().substring(table.length() + 1);
        if (Files.exists(file.resolveSibling(file.getFileName() + ".ends"))) {
          events.texts.put(column, Files.readAllBytes(file));
        } else {
          events.numbers.put(column, numbersOf(file));
        }
      }
    }
    ALL.put(table, events);
  }

  /** Whole numbers of 8 bytes, the least byte first. */
  private static long[] numbersOf(Path path) throws IOException {
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

  /** A column of numbers, or of times in milliseconds. */
  long[] numbers(String column) {
    return numbers.get(column);
  }

  /** How many there are: each table begins with a column of numbers. */
  int count(String column) {
    return numbers.get(column).length;
  }

  /** A column of texts, none of which is copied. */
  Texts texts(String column) {
    return new Texts(texts.get(column), numbers.get(column + ".ends"));
  }

  record Texts(byte[] bytes, long[] ends) {
    StringData get(int event) {
      final int begin = (int) ends[event];
      return BinaryStringData.fromBytes(bytes, begin, (int) ends[event + 1] - begin);
    }
  }

  /** From a number of the source to the event that it stands for. */
  abstract static class Reader<T> implements GeneratorFunction<Long, T> {
    private static final long serialVersionUID = 1L;
    private final long events;
    private final long subtasks;

    Reader(int events, int subtasks) {
      this.events = events;
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
