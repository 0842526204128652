package org.holdfast.flink.bench;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.Collector;

/**
 * Queries of NEXMark in Flink's SQL, on events that a formula gives: Nexmark QUERY EVENTS CHECKPOINTS-DIRECTORY REST-PORT
 * NAME=VALUE…, where the last are settings of Flink.
 *
 * <p>Of fifty events one is a person, three are auctions and the rest bids, as in NEXMark; ten events a millisecond. Prints
 * million events per second, rows, a sum over all rows (a retracted one counts against it), and what {@link Watch} says of the
 * checkpoints. Equal sums are equal results.
 */
public final class Nexmark {
  private static final int PARALLELISM = 2;
  private static final long PER_MS = 10;
  // Bids are on one of so many newest auctions, by one of so many newest persons.
  private static final long AUCTIONS = 20_000;
  private static final long PERSONS = 10_000;

  private static final String COUNTS =
      "SELECT auction, COUNT(*) AS num, window_start, window_end FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts),"
          + " INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end";

  static final Map<String, String> QUERIES =
      Map.of(
          "sum",
          "SELECT auction, SUM(price) AS total, window_end FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts),"
              + " INTERVAL '60' SECOND)) GROUP BY auction, window_start, window_end",
          "q3",
          "SELECT p.name, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id"
              + " WHERE a.category = 3 AND p.state IN ('OR', 'ID', 'CA')",
          "q4",
          "SELECT category, AVG(highest) AS average FROM (SELECT MAX(b.price) AS highest, a.category FROM"
              + " auction_ms a JOIN bid_ms b ON a.id = b.auction WHERE b.ms BETWEEN a.ms AND a.expires"
              + " GROUP BY a.id, a.category) GROUP BY category",
          "q5",
          "SELECT b.auction, b.num, b.window_end FROM ("
              + COUNTS
              + ") b JOIN (SELECT MAX(num) AS most, window_start, window_end FROM ("
              + COUNTS
              + ") GROUP BY window_start, window_end) m ON b.window_start = m.window_start"
              + " AND b.window_end = m.window_end WHERE b.num >= m.most",
          "q7",
          "SELECT b.auction, b.price, b.bidder FROM bid_ms b JOIN (SELECT MAX(price) AS most,"
              + " CAST(window_end AS TIMESTAMP(3)) AS e FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts),"
              + " INTERVAL '10' SECOND)) GROUP BY window_start, window_end) m ON b.price = m.most"
              + " WHERE b.moment BETWEEN m.e - INTERVAL '10' SECOND AND m.e - INTERVAL '0.001' SECOND",
          "q8",
          "SELECT p.id, p.name, p.window_start FROM (SELECT id, name, window_start, window_end FROM"
              + " TABLE(TUMBLE(TABLE person, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
              + " GROUP BY id, name, window_start, window_end) p JOIN (SELECT seller, window_start,"
              + " window_end FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
              + " GROUP BY seller, window_start, window_end) a ON p.id = a.seller"
              + " AND p.window_start = a.window_start AND p.window_end = a.window_end",
          "q11",
          "SELECT bidder, COUNT(*) AS bids, window_start, window_end FROM TABLE(SESSION(TABLE bid"
              + " PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
              + " GROUP BY bidder, window_start, window_end");

  // Of this process, which has the whole cluster.
  private static final AtomicLong FIRST_NS = new AtomicLong();
  private static final AtomicLong END_NS = new AtomicLong();
  private static final LongAdder ROWS = new LongAdder();
  private static final LongAdder SUM = new LongAdder();

  private Nexmark() {}

  private static final TypeInformation<Row> EVENT =
      Types.ROW_NAMED(
          new String[] {"kind", "id", "other", "price", "category", "name", "state", "ms"},
          Types.INT,
          Types.LONG,
          Types.LONG,
          Types.LONG,
          Types.INT,
          Types.STRING,
          Types.STRING,
          Types.LONG);
  private static final String[] STATES = {"OR", "ID", "CA", "WA", "NY", "TX", "FL", "OH"};

  private static long mix(long value) {
    value = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
    value = (value ^ (value >>> 27)) * 0x94d049bb133111ebL;
    return value ^ (value >>> 31);
  }

  /** One of the newest of those that there are. */
  private static long oneOf(long newest, long most, long chance) {
    return newest - Long.remainderUnsigned(chance, Math.min(most, newest + 1));
  }

  /** A person (0), an auction (1) or a bid (2). */
  static Row event(long index) {
    final long epoch = index / 50, offset = index % 50, chance = mix(index), ms = index / PER_MS;
    if (offset == 0) {
      return Row.of(
          0, epoch, 0L, 0L, 0, "name" + epoch % 1000, STATES[(int) (epoch & 7)], ms);
    }
    if (offset <= 3) {
      return Row.of(
          1,
          3 * epoch + offset - 1,
          oneOf(epoch, PERSONS, chance),
          ms + 1000 + Long.remainderUnsigned(chance, 20_000),
          (int) Long.remainderUnsigned(mix(chance), 5),
          "",
          "",
          ms);
    }
    return Row.of(
        2,
        oneOf(3 * epoch + 2, AUCTIONS, chance),
        oneOf(epoch, PERSONS, mix(chance)),
        1 + Long.remainderUnsigned(mix(chance ^ 7), 10_000_000),
        0,
        "",
        "",
        ms);
  }

  private static void views(StreamTableEnvironment tables, DataStream<Row> events) {
    tables.createTemporaryView(
        "event",
        events,
        Schema.newBuilder()
            .column("kind", "INT")
            .column("id", "BIGINT")
            .column("other", "BIGINT")
            .column("price", "BIGINT")
            .column("category", "INT")
            .column("name", "STRING")
            .column("state", "STRING")
            .column("ms", "BIGINT")
            .columnByExpression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
            .watermark("ts", "ts - INTERVAL '0.001' SECOND")
            .build());
    tables.executeSql(
        "CREATE TEMPORARY VIEW person AS SELECT id, name, state, ts FROM event WHERE kind = 0");
    tables.executeSql(
        "CREATE TEMPORARY VIEW auction AS SELECT id, other AS seller, price AS expires, category, ts"
            + " FROM event WHERE kind = 1");
    tables.executeSql(
        "CREATE TEMPORARY VIEW bid AS SELECT id AS auction, other AS bidder, price, ts"
            + " FROM event WHERE kind = 2");
    // Without a time attribute, which joins without a window do not take.
    tables.executeSql(
        "CREATE TEMPORARY VIEW auction_ms AS SELECT id, price AS expires, category, ms"
            + " FROM event WHERE kind = 1");
    tables.executeSql(
        "CREATE TEMPORARY VIEW bid_ms AS SELECT id AS auction, other AS bidder, price, ms,"
            + " CAST(TO_TIMESTAMP_LTZ(ms, 3) AS TIMESTAMP(3)) AS moment FROM event WHERE kind = 2");
  }

  /** Notes when the first event went by. */
  static final class Begin extends ProcessFunction<Row, Row> {
    private static final long serialVersionUID = 1L;
    private transient boolean noted;

    @Override
    public void processElement(Row event, Context context, Collector<Row> out) {
      if (!noted) FIRST_NS.compareAndSet(0, System.nanoTime());
      noted = true;
      out.collect(event);
    }
  }

  /** Adds rows up. */
  static final class Note extends ProcessFunction<Row, Row> {
    private static final long serialVersionUID = 1L;

    @Override
    public void processElement(Row row, Context context, Collector<Row> out) {
      final RowKind kind = row.getKind();
      final long sign = kind == RowKind.DELETE || kind == RowKind.UPDATE_BEFORE ? -1 : 1;
      row.setKind(RowKind.INSERT);
      SUM.add(sign * mix(row.toString().hashCode()));
      ROWS.increment();
    }
  }

  public static void main(String[] words) throws Exception {
    final String query = QUERIES.get(words[0]);
    if (query == null) throw new IllegalArgumentException(words[0] + " is none of " + QUERIES.keySet());
    final long count = Long.parseLong(words[1]);
    final int port = Integer.parseInt(words[3]);
    final Configuration settings = new Configuration();
    settings.setString("execution.checkpointing.dir", "file://" + words[2]);
    settings.setString("taskmanager.numberOfTaskSlots", String.valueOf(PARALLELISM));
    settings.setString("rest.port", String.valueOf(port));
    settings.setString("table.local-time-zone", "UTC");
    for (int i = 4; i < words.length; ++i) {
      final String[] pair = words[i].split("=", 2);
      settings.setString(pair[0], pair[1]);
    }
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, settings);
    environment.getConfig().enableObjectReuse();
    final StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    // Each subtask of the source has every other event, so that their times go on together.
    final long half = (count + PARALLELISM - 1) / PARALLELISM;
    views(
        tables,
        environment
            .fromSource(
                new DataGeneratorSource<>(
                    index -> event(index % half * PARALLELISM + index / half),
                    half * PARALLELISM,
                    EVENT),
                WatermarkStrategy.noWatermarks(),
                "events")
            .process(new Begin())
            .returns(EVENT));
    tables
        .toChangelogStream(tables.sqlQuery(query))
        .process(new Note())
        .returns(EVENT)
        .sinkTo(new DiscardingSink<>());
    final JobClient job = environment.executeAsync(words[0]);
    final Watch watch = new Watch(port, job.getJobID());
    Watch.Checkpoints checkpoints = new Watch.Checkpoints(0, 0, 0, 0);
    // When the job ends, the cluster does, and its page.
    final CompletableFuture<?> end =
        job.getJobExecutionResult().thenAccept(result -> END_NS.set(System.nanoTime()));
    while (!end.isDone()) {
      try {
        checkpoints = watch.checkpoints();
      } catch (IOException gone) {
        break;
      }
      Thread.sleep(200);
    }
    end.get();
    final double seconds = (END_NS.get() - FIRST_NS.get()) / 1e9;
    System.out.printf(
        "%.4f %d %d %d %d %d%n",
        half * PARALLELISM / seconds / 1e6,
        ROWS.sum(),
        SUM.sum(),
        checkpoints.completed(),
        checkpoints.stateBytes(),
        checkpoints.tookMs());
    System.exit(0);
  }
}
