package org.holdfast.flink.cluster;

import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * NEXMark's query 5: which auctions had the most bids of the last ten seconds, every two seconds. From Kafka to Kafka, exactly
 * once by its transactions. A result is the text `end-of-window auction bids`.
 *
 * <p>HotItems SERVERS FROM-TOPIC TO-TOPIC
 */
public final class HotItems {
  private HotItems() {}

  static final class Count
      implements AggregateFunction<Tuple2<Integer, Long>, Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(Tuple2<Integer, Long> bid, Long count) {
      return count + 1;
    }

    @Override
    public Long getResult(Long count) {
      return count;
    }

    @Override
    public Long merge(Long one, Long other) {
      return one + other;
    }
  }

  static final class WithWindow
      extends ProcessWindowFunction<Long, Tuple3<Long, Integer, Long>, Integer, TimeWindow> {
    private static final long serialVersionUID = 1L;

    @Override
    public void process(
        Integer auction,
        Context context,
        Iterable<Long> counts,
        Collector<Tuple3<Long, Integer, Long>> out) {
      out.collect(Tuple3.of(context.window().getEnd(), auction, counts.iterator().next()));
    }
  }

  /** Keeps the counts of a window until it has all of them. */
  static final class Hottest
      extends KeyedProcessFunction<Long, Tuple3<Long, Integer, Long>, String> {
    private static final long serialVersionUID = 1L;
    private transient MapState<Integer, Long> counts;

    @Override
    public void open(OpenContext context) {
      counts =
          getRuntimeContext()
              .getMapState(new MapStateDescriptor<>("counts", Types.INT, Types.LONG));
    }

    @Override
    public void processElement(
        Tuple3<Long, Integer, Long> count, Context context, Collector<String> out)
        throws Exception {
      counts.put(count.f1, count.f2);
      context.timerService().registerEventTimeTimer(count.f0);
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<String> out)
        throws Exception {
      long most = 0;
      for (long count : counts.values()) most = Math.max(most, count);
      for (Map.Entry<Integer, Long> entry : counts.entries()) {
        if (entry.getValue() == most) {
          out.collect(context.getCurrentKey() + " " + entry.getKey() + " " + most);
        }
      }
      counts.clear();
    }
  }

  private static Tuple2<Integer, Long> parse(String bid) {
    final String[] words = bid.split(" ");
    return Tuple2.of(Integer.parseInt(words[0]), Long.parseLong(words[2]));
  }

  public static void main(String[] words) throws Exception {
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment();
    environment
        .fromSource(
            KafkaSource.<String>builder()
                .setBootstrapServers(words[0])
                .setTopics(words[1])
                .setGroupId("hot-items")
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setValueOnlyDeserializer(new SimpleStringSchema())
                .build(),
            WatermarkStrategy.<String>forMonotonousTimestamps()
                .withTimestampAssigner((bid, before) -> parse(bid).f1),
            "bids")
        .map(HotItems::parse)
        .returns(Types.TUPLE(Types.INT, Types.LONG))
        .keyBy(bid -> bid.f0, Types.INT)
        .window(SlidingEventTimeWindows.of(Duration.ofSeconds(10), Duration.ofSeconds(2)))
        .aggregate(new Count(), new WithWindow())
        .returns(Types.TUPLE(Types.LONG, Types.INT, Types.LONG))
        .keyBy(count -> count.f0, Types.LONG)
        .process(new Hottest())
        .sinkTo(
            KafkaSink.<String>builder()
                .setBootstrapServers(words[0])
                .setRecordSerializer(
                    KafkaRecordSerializationSchema.<String>builder()
                        .setTopic(words[2])
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build())
                .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .setTransactionalIdPrefix("hot-items")
                .setProperty("transaction.timeout.ms", "600000")
                .build());
    environment.execute("hot items");
  }
}
