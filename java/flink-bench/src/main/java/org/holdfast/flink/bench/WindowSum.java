package org.holdfast.flink.bench;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * Sums of 60 s by key in a local cluster of two slots: WindowSum KEYS EVENTS-PER-WINDOW WARM-UP-S SAMPLES SAMPLE-S
 * CHECKPOINTS-DIRECTORY REST-PORT NAME=VALUE…, where the last are settings of Flink.
 *
 * <p>Prints millions of events per second, the median of the samples; how many windows were checked: the sum over all keys of
 * each window that is complete must be the one that the generator gave it; and of the checkpoints how many were completed,
 * the median of their bytes and milliseconds, and how long the job took to come back from one when it failed.
 */
public final class WindowSum {
  private static final int PARALLELISM = 2;
  private static final long WINDOW_MS = 60_000;
  // Of the generator; no run gets that far.
  private static final long ALL_EVENTS = 1L << 50;
  private static final long PER_SUBTASK = ALL_EVENTS / PARALLELISM;
  private static final long MOST_WAIT_S = 240;

  // Of this process, which has the whole cluster.
  private static final LongAdder EVENTS = new LongAdder();
  private static final AtomicBoolean FAIL = new AtomicBoolean();
  private static final Map<Long, LongAdder> SUMS = new ConcurrentHashMap<>();
  private static final AtomicInteger KEYS_OF_THE_FIRST = new AtomicInteger();

  private WindowSum() {}

  /** The value of a subtask's event: 1 to 8. */
  private static long valueOf(long local) {
    return 1 + (local & 7);
  }

  /** SplitMix64's finaliser. */
  private static long mix(long value) {
    value = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
    value = (value ^ (value >>> 27)) * 0x94d049bb133111ebL;
    return value ^ (value >>> 31);
  }

  static final class Sum
      implements AggregateFunction<Tuple3<Long, Long, Long>, Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Tuple3<Long, Long, Long> event, Long sum) {
      return sum + event.f1;
    }

    @Override
    public Long getResult(Long sum) {
      return sum;
    }

    @Override
    public Long merge(Long one, Long other) {
      return one + other;
    }
  }

  /** Adds the sums of keys to that of their window. */
  static final class Note extends ProcessWindowFunction<Long, Long, Long, TimeWindow> {
    private static final long serialVersionUID = 1L;

    @Override
    public void process(Long key, Context context, Iterable<Long> sums, Collector<Long> out) {
      for (long sum : sums) {
        SUMS.computeIfAbsent(context.window().getStart(), start -> new LongAdder()).add(sum);
      }
      if (context.window().getStart() == 0) KEYS_OF_THE_FIRST.incrementAndGet();
    }
  }

  /** Counts what goes by. */
  static final class Meter
      extends ProcessFunction<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> {
    private static final long serialVersionUID = 1L;
    private static final int EACH = 1024;
    private transient int since;

    @Override
    public void open(OpenContext context) {
      since = 0;
    }

    @Override
    public void processElement(
        Tuple3<Long, Long, Long> event,
        Context context,
        Collector<Tuple3<Long, Long, Long>> out) {
      if (++since == EACH) {
        EVENTS.add(EACH);
        since = 0;
        if (FAIL.compareAndSet(true, false)) throw new IllegalStateException("a failure, to be restored from");
      }
      out.collect(event);
    }
  }

  public static void main(String[] words) throws Exception {
    final long keys = Long.parseLong(words[0]), perWindow = Long.parseLong(words[1]);
    final long warmUp = Long.parseLong(words[2]), seconds = Long.parseLong(words[4]);
    final int samples = Integer.parseInt(words[3]);
    final Configuration settings = new Configuration();
    settings.setString("execution.checkpointing.dir", "file://" + words[5]);
    settings.setString("taskmanager.numberOfTaskSlots", String.valueOf(PARALLELISM));
    final int port = Integer.parseInt(words[6]);
    settings.setString("rest.port", String.valueOf(port));
    settings.setString("restart-strategy.type", "fixed-delay");
    settings.setString("restart-strategy.fixed-delay.delay", "0 ms");
    for (int i = 7; i < words.length; ++i) {
      final String[] pair = words[i].split("=", 2);
      settings.setString(pair[0], pair[1]);
    }
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, settings);
    environment.getConfig().enableObjectReuse();
    final long perSubtaskAndWindow = perWindow / PARALLELISM;
    environment
        .fromSource(
            new DataGeneratorSource<>(
                index -> {
                  final long local = index % PER_SUBTASK;
                  return Tuple3.of(
                      Long.remainderUnsigned(mix(index), keys),
                      valueOf(local),
                      local * WINDOW_MS / perSubtaskAndWindow);
                },
                ALL_EVENTS,
                Types.TUPLE(Types.LONG, Types.LONG, Types.LONG)),
            WatermarkStrategy.<Tuple3<Long, Long, Long>>forMonotonousTimestamps()
                .withTimestampAssigner((event, before) -> event.f2),
            "events")
        .process(new Meter())
        .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
        .keyBy(event -> event.f0, Types.LONG)
        .window(TumblingEventTimeWindows.of(java.time.Duration.ofMillis(WINDOW_MS)))
        .aggregate(new Sum(), new Note())
        .returns(Types.LONG)
        .sinkTo(new DiscardingSink<>());
    final JobClient job = environment.executeAsync("window sum");
    Thread.sleep(warmUp * 1000);
    final double[] rates = new double[samples];
    for (int i = 0; i < samples; ++i) {
      final long before = EVENTS.sum(), begin = System.nanoTime();
      Thread.sleep(seconds * 1000);
      rates[i] = (EVENTS.sum() - before) * 1e3 / (System.nanoTime() - begin);
    }
    // Where a window takes long, until there is one to be checked.
    for (long left = MOST_WAIT_S; SUMS.size() < 3 && left > 0; --left) Thread.sleep(1000);
    final int checked = checked(perSubtaskAndWindow, keys);
    final Watch watch = new Watch(port, job.getJobID());
    for (long left = MOST_WAIT_S; watch.checkpoints().completed() == 0 && left > 0; --left) {
      Thread.sleep(1000);
    }
    final Watch.Checkpoints checkpoints = watch.checkpoints();
    FAIL.set(true); // Behind this the sums of windows mean nothing: events come twice.
    final long recovered = watch.recovered();
    job.cancel().get();
    Arrays.sort(rates);
    System.out.printf(
        "%.4f %d %d %d %d %d%n",
        rates[samples / 2],
        checked,
        checkpoints.completed(),
        checkpoints.stateBytes(),
        checkpoints.tookMs(),
        recovered);
    System.exit(0);
  }

  /** How many windows hold; the newest two may not be complete. */
  private static int checked(long perSubtaskAndWindow, long keys) {
    final long newest = SUMS.keySet().stream().mapToLong(Long::longValue).max().orElse(0);
    int checked = 0;
    for (Map.Entry<Long, LongAdder> window : SUMS.entrySet()) {
      if (window.getKey() > newest - 2 * WINDOW_MS) continue;
      // The first and last event of a subtask whose time lies in the window.
      final long number = window.getKey() / WINDOW_MS;
      long expected = 0;
      for (long local = number * perSubtaskAndWindow;
          local < (number + 1) * perSubtaskAndWindow;
          ++local) {
        expected += PARALLELISM * valueOf(local);
      }
      if (window.getValue().sum() != expected) {
        throw new IllegalStateException(
            "window " + number + " sums to " + window.getValue() + " instead of " + expected);
      }
      ++checked;
    }
    if (checked == 0) throw new IllegalStateException("no window was complete");
    if (KEYS_OF_THE_FIRST.get() == 0 || KEYS_OF_THE_FIRST.get() > keys) {
      throw new IllegalStateException("the first window had " + KEYS_OF_THE_FIRST + " keys");
    }
    return checked;
  }
}
