package org.holdfast.flink.peer;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.util.Collector;

/** Sums of 60 s by sensor: the query of {@code window-sum}, in SQL and by windows of the DataStream API. */
final class WindowSum {
  private static final String[] TABLES = {
    "CREATE TABLE events (ts TIMESTAMP(3), sensor BIGINT, `value` BIGINT,"
        + " WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'memory')",
    "CREATE TABLE answer (s TIMESTAMP(3), sensor BIGINT, total BIGINT) WITH ('connector' = 'memory')"
  };
  private static final String QUERY =
      "INSERT INTO answer SELECT window_start, sensor, SUM(`value`) AS total"
          + " FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '60' SECOND))"
          + " GROUP BY window_start, window_end, sensor";

  private WindowSum() {}

  static void bySql(Configuration settings, int parallelism) throws Exception {
    final StreamExecutionEnvironment environment = environment(settings, parallelism);
    final StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    tables.getConfig().set("table.local-time-zone", "UTC");
    MemoryTables.subtasks = parallelism;
    for (String table : TABLES) tables.executeSql(table);
    tables.executeSql(QUERY).await();
  }

  static void byStream(Configuration settings, int parallelism) throws Exception {
    final StreamExecutionEnvironment environment = environment(settings, parallelism);
    final TypeInformation<Tuple3<Long, Long, Long>> row =
        TypeInformation.of(new TypeHint<Tuple3<Long, Long, Long>>() {});
    environment
        .fromSource(
            new DataGeneratorSource<>(
                new EventTuples(Events.of("events").count("ts"), parallelism),
                Events.of("events").count("ts"),
                row),
            WatermarkStrategy.<Tuple3<Long, Long, Long>>forBoundedOutOfOrderness(Duration.ofSeconds(1))
                .withTimestampAssigner((event, before) -> event.f0),
            "events")
        .keyBy(event -> event.f1, Types.LONG)
        .window(TumblingEventTimeWindows.of(Duration.ofSeconds(60)))
        .aggregate(new Sum(), new WithStart())
        .returns(row)
        .sinkTo(new AnswerSink<>((sum, rows) -> rows.add(sum.f0, sum.f1, sum.f2)));
    environment.execute("window sum");
  }

  static StreamExecutionEnvironment environment(Configuration settings, int parallelism) {
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(parallelism, settings);
    environment.getConfig().enableObjectReuse();
    return environment;
  }

  private static final class EventTuples extends Events.Reader<Tuple3<Long, Long, Long>> {
    private static final long serialVersionUID = 1L;

    private transient long[] ts;
    private transient long[] sensor;
    private transient long[] value;

    EventTuples(int events, int subtasks) {
      super(events, subtasks);
    }

    @Override
    public void open(SourceReaderContext context) {
      final Events events = Events.of("events");
      ts = events.numbers("ts");
      sensor = events.numbers("sensor");
      value = events.numbers("value");
      super.open(context);
    }

    @Override
    Tuple3<Long, Long, Long> read(int event) {
      return Tuple3.of(ts[event], sensor[event], value[event]);
    }
  }

  private static final class Sum
      implements AggregateFunction<Tuple3<Long, Long, Long>, Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Tuple3<Long, Long, Long> event, Long sum) {
      return sum + event.f2;
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

  private static final class WithStart
      extends ProcessWindowFunction<Long, Tuple3<Long, Long, Long>, Long, TimeWindow> {
    private static final long serialVersionUID = 1L;

    @Override
    public void process(
        Long sensor,
        Context context,
        Iterable<Long> sums,
        Collector<Tuple3<Long, Long, Long>> out) {
      for (long sum : sums) out.collect(Tuple3.of(context.window().getStart(), sensor, sum));
    }
  }
}
