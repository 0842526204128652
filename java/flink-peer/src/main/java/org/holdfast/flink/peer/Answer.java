package org.holdfast.flink.peer;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The rows of {@code window-sum} that the sink of the running job was given, in memory: start, sensor, sum. */
final class Answer {
  private static final List<Rows> ALL = new ArrayList<>();

  /** When the last subtask of the sink had its last row. */
  static final AtomicLong ENDED_NS = new AtomicLong();

  private Answer() {}

  /** Those of one subtask, each row three numbers. */
  static final class Rows {
    private long[] numbers = new long[1 << 12];
    private int count;

    void add(long start, long sensor, long sum) {
      if (count + 3 > numbers.length) numbers = Arrays.copyOf(numbers, numbers.length * 2);
      numbers[count++] = start;
      numbers[count++] = sensor;
      numbers[count++] = sum;
    }

    void end() {
      ENDED_NS.accumulateAndGet(System.nanoTime(), Math::max);
    }
  }

  static synchronized Rows begin() {
    final Rows rows = new Rows();
    ALL.add(rows);
    return rows;
  }

  static synchronized void clear() {
    ALL.clear();
    ENDED_NS.set(0);
  }

  /** All starts, then all sensors, then all sums. */
  static synchronized void write(String path) throws IOException {
    try (DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(path)), 1 << 20))) {
      for (int column = 0; column < 3; ++column) {
        for (Rows rows : ALL) {
          for (int at = column; at < rows.count; at += 3) {
            out.writeLong(Long.reverseBytes(rows.numbers[at]));
          }
        }
      }
    }
  }
}
