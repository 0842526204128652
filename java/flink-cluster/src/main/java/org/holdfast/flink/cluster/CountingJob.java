package org.holdfast.flink.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Counts and sums the numbers from 0 to N - 1 by their remainder, in state of three kinds, and says for each remainder what it
 * has when all its numbers are there. A number that is lost or counted twice shows.
 *
 * <p>CountingJob N KEYS PER-SECOND DIRECTORY: a line `key count sum entries` in a file of the directory for each key that is
 * complete, and for each number behind that.
 */
public final class CountingJob {
  private CountingJob() {}

  static final class Count extends KeyedProcessFunction<Long, Long, String> {
    private static final long serialVersionUID = 1L;
    private static final int BUCKETS = 16;

    private final long expected;
    private final String directory;
    private transient ValueState<Long> count;
    private transient MapState<Integer, Long> sums;
    private transient ListState<Long> some;

    Count(long expected, String directory) {
      this.expected = expected;
      this.directory = directory;
    }

    @Override
    public void open(OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
      sums =
          getRuntimeContext()
              .getMapState(new MapStateDescriptor<>("sums", Types.INT, Types.LONG));
      some = getRuntimeContext().getListState(new ListStateDescriptor<>("some", Types.LONG));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
        throws Exception {
      final long seen = (count.value() == null ? 0 : count.value()) + 1;
      count.update(seen);
      final int bucket = (int) (number % BUCKETS);
      sums.put(bucket, (sums.contains(bucket) ? sums.get(bucket) : 0) + number);
      if (number % 64 < 2) some.add(number);
      if (seen < expected) return;
      long sum = 0, entries = 0;
      for (long one : sums.values()) sum += one;
      for (long ignored : some.get()) ++entries;
      say(context.getCurrentKey() + " " + seen + " " + sum + " " + entries + "\n");
    }

    private void say(String line) throws IOException {
      Files.writeString(
          Path.of(directory, "results-" + ProcessHandle.current().pid()),
          line,
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }

  public static void main(String[] words) throws Exception {
    final long numbers = Long.parseLong(words[0]), keys = Long.parseLong(words[1]);
    final double perSecond = Double.parseDouble(words[2]);
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment();
    environment
        .fromSource(
            new DataGeneratorSource<>(
                number -> number, numbers, RateLimiterStrategy.perSecond(perSecond), Types.LONG),
            WatermarkStrategy.noWatermarks(),
            "numbers")
        .keyBy(number -> number % keys)
        .process(new Count(numbers / keys, words[3]))
        .sinkTo(new DiscardingSink<>());
    environment.execute("counting");
  }
}
