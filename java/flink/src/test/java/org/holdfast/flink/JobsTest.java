package org.holdfast.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.CheckpointListener;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.core.execution.RecoveryClaimMode;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.SavepointRestoreSettings;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole jobs in a cluster of this process: they fail and are restored, from what is there and from what is not. */
final class JobsTest {
  private static final int KEYS = 500;

  @TempDir Path files;

  // Of the job that runs; there is one at a time.
  private static final Map<Long, String> RESULTS = new ConcurrentHashMap<>();
  private static final AtomicInteger FAILURES_LEFT = new AtomicInteger();
  private static final AtomicInteger STARTS = new AtomicInteger();
  private static volatile Runnable beforeFailure = () -> {};
  // A number takes two milliseconds while this is so, or while failures are wanted; then it takes what it takes.
  private static volatile boolean slow;
  private static volatile int paddingBytes;

  private MiniCluster cluster;

  @BeforeEach
  void begin() {
    RESULTS.clear();
    FAILURES_LEFT.set(0);
    STARTS.set(0);
    beforeFailure = () -> {};
    slow = false;
    paddingBytes = 0;
  }

  @AfterEach
  void end() throws Exception {
    if (cluster != null) cluster.close();
  }

  /** Fails once a checkpoint is complete, as often as is wanted. */
  private static void failIfWanted(long completed) {
    if (completed == 0) return;
    if (FAILURES_LEFT.getAndUpdate(left -> Math.max(0, left - 1)) == 0) return;
    beforeFailure.run();
    throw new IllegalStateException("a failure that was wanted");
  }

  /**
   * The source's task, so that no barrier waits behind numbers: where their receiver is the slow one, thousands of them
   * lie between the two, and a checkpoint takes as long as all of those.
   */
  private static long paused(long number) throws InterruptedException {
    if (slow || FAILURES_LEFT.get() > 0) Thread.sleep(2);
    return number;
  }

  /** Counts, sums and collects the numbers of a key, and says what it has when it has all. */
  static final class Count extends KeyedProcessFunction<Long, Long, String>
      implements CheckpointListener {
    private static final long serialVersionUID = 1L;
    private final long expected;
    private transient ValueState<Long> count;
    private transient MapState<Integer, Long> sums;
    private transient ListState<Long> some;
    private transient ValueState<byte[]> padding;
    private transient long completed;

    Count(long expected) {
      this.expected = expected;
    }

    @Override
    public void open(OpenContext context) {
      STARTS.incrementAndGet();
      completed = 0;
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
      sums =
          getRuntimeContext().getMapState(new MapStateDescriptor<>("sums", Types.INT, Types.LONG));
      some = getRuntimeContext().getListState(new ListStateDescriptor<>("some", Types.LONG));
      padding =
          getRuntimeContext()
              .getState(
                  new ValueStateDescriptor<>(
                      "padding", PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
        throws Exception {
      failIfWanted(completed);
      final long seen = (count.value() == null ? 0 : count.value()) + 1;
      count.update(seen);
      final int bucket = (int) (number % 16);
      sums.put(bucket, (sums.contains(bucket) ? sums.get(bucket) : 0) + number);
      if (number % 64 < 2) some.add(number);
      if (paddingBytes > 0) padding.update(new byte[paddingBytes]);
      if (seen < expected) return;
      long sum = 0, entries = 0;
      for (long one : sums.values()) sum += one;
      for (long ignored : some.get()) ++entries;
      RESULTS.put(context.getCurrentKey(), seen + " " + sum + " " + entries);
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
      completed = checkpoint;
    }
  }

  /** The same by the asynchronous state API. */
  static final class CountLater extends KeyedProcessFunction<Long, Long, String>
      implements CheckpointListener {
    private static final long serialVersionUID = 1L;
    private final long expected;
    private transient org.apache.flink.api.common.state.v2.ValueState<Long> count;
    private transient org.apache.flink.api.common.state.v2.MapState<Integer, Long> sums;
    private transient org.apache.flink.api.common.state.v2.ListState<Long> some;
    private transient long completed;

    CountLater(long expected) {
      this.expected = expected;
    }

    @Override
    public void open(OpenContext context) {
      STARTS.incrementAndGet();
      completed = 0;
      count =
          getRuntimeContext()
              .getState(
                  new org.apache.flink.api.common.state.v2.ValueStateDescriptor<>(
                      "count", Types.LONG));
      sums =
          getRuntimeContext()
              .getMapState(
                  new org.apache.flink.api.common.state.v2.MapStateDescriptor<>(
                      "sums", Types.INT, Types.LONG));
      some =
          getRuntimeContext()
              .getListState(
                  new org.apache.flink.api.common.state.v2.ListStateDescriptor<>(
                      "some", Types.LONG));
    }

    @Override
    public void processElement(Long number, Context context, Collector<String> out)
        throws Exception {
      failIfWanted(completed);
      final long key = context.getCurrentKey();
      final int bucket = (int) (number % 16);
      if (number % 64 < 2) some.asyncAdd(number);
      sums.asyncGet(bucket)
          .thenCompose(sum -> sums.asyncPut(bucket, (sum == null ? 0 : sum) + number))
          .thenCompose(done -> count.asyncValue())
          .thenCompose(
              before -> {
                final long seen = (before == null ? 0 : before) + 1;
                return count.asyncUpdate(seen).thenApply(done -> seen);
              })
          .thenAccept(
              seen -> {
                if (seen == expected) say(key, seen);
              });
    }

    private void say(long key, long seen) {
      final long[] of = new long[2];
      sums.asyncValues()
          .thenCompose(values -> values.onNext(value -> { of[0] += value; }))
          .thenCompose(done -> some.asyncGet())
          .thenCompose(values -> values.onNext(value -> { ++of[1]; }))
          .thenAccept(done -> RESULTS.put(key, seen + " " + of[0] + " " + of[1]));
    }

    @Override
    public void notifyCheckpointComplete(long checkpoint) {
      completed = checkpoint;
    }
  }

  private Configuration settings(boolean incremental) {
    final Configuration settings = new Configuration();
    settings.setString("state.backend.type", HoldfastStateBackendFactory.class.getName());
    settings.setString("execution.checkpointing.incremental", String.valueOf(incremental));
    settings.setString("execution.checkpointing.dir", files.resolve("checkpoints").toUri().toString());
    settings.setString("execution.checkpointing.interval", "50 ms");
    settings.setString("execution.checkpointing.data-inline-threshold", "0 kb");
    settings.setString("restart-strategy.type", "fixed-delay");
    settings.setString("restart-strategy.fixed-delay.attempts", "1000");
    settings.setString("restart-strategy.fixed-delay.delay", "10 ms");
    settings.setString("io.tmp.dirs", files.resolve("tmp").toString());
    settings.setString("taskmanager.memory.managed.size", "64 mb");
    // A machine that stands still for a while fails nothing here.
    settings.setString("heartbeat.timeout", "10 min");
    settings.setString("pekko.ask.timeout", "10 min");
    return settings;
  }

  private void start(Configuration settings) throws Exception {
    cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(2)
                .build());
    cluster.start();
  }

  private static JobGraph job(Configuration settings, long numbers, boolean later) {
    final StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.getExecutionEnvironment(settings);
    environment.setParallelism(2);
    final KeyedStream<Long, Long> byKey =
        environment
            .fromSource(
                new NumberSequenceSource(0, numbers - 1),
                WatermarkStrategy.noWatermarks(),
                "numbers")
            .map(JobsTest::paused)
            .returns(Types.LONG)
            .keyBy(number -> number % KEYS, Types.LONG);
    (later
            ? byKey.enableAsyncState().process(new CountLater(numbers / KEYS))
            : byKey.process(new Count(numbers / KEYS)))
        .uid("count")
        .sinkTo(new DiscardingSink<>());
    return environment.getStreamGraph().getJobGraph();
  }

  private JobResult run(JobGraph job) throws Exception {
    cluster.submitJob(job).get();
    return cluster.requestJobResult(job.getJobID()).get();
  }

  private void runToTheEnd(JobGraph job, long numbers) throws Exception {
    run(job).toJobExecutionResult(getClass().getClassLoader());
    areAsTheyShouldBe(numbers);
  }

  private static void areAsTheyShouldBe(long numbers) {
    assertThat(RESULTS).hasSize(KEYS);
    for (long key = 0; key < KEYS; ++key) {
      long count = 0, sum = 0, entries = 0;
      for (long number = key; number < numbers; number += KEYS) {
        ++count;
        sum += number;
        if (number % 64 < 2) ++entries;
      }
      assertThat(RESULTS.get(key)).as("key %d", key).isEqualTo(count + " " + sum + " " + entries);
    }
  }

  @ParameterizedTest(name = "incremental {0}, asynchronous API {1}")
  @CsvSource({"false,false", "true,false", "false,true", "true,true"})
  void jobsThatFailCountEachNumberOnce(boolean incremental, boolean later) throws Exception {
    final long numbers = 40_000;
    final Configuration settings = settings(incremental);
    start(settings);
    FAILURES_LEFT.set(5);
    runToTheEnd(job(settings, numbers, later), numbers);
    assertThat(FAILURES_LEFT.get()).isZero();
    assertThat(STARTS.get()).isGreaterThan(2);
  }

  private void removeRemote() {
    try (Stream<Path> all = Files.walk(files.resolve("checkpoints"))) {
      for (Path file : all.filter(Files::isRegularFile).toList()) Files.delete(file);
    } catch (IOException exception) {
      throw new UncheckedIOException(exception);
    }
  }

  @ParameterizedTest(name = "incremental {0}")
  @ValueSource(booleans = {false, true})
  void aTaskThatFailedIsRestoredFromThisMachine(boolean incremental) throws Exception {
    final long numbers = 40_000;
    final Configuration settings = settings(incremental);
    settings.setString("execution.state-recovery.from-local", "true");
    settings.setString("process.working-dir", files.resolve("work").toString());
    settings.setString("restart-strategy.fixed-delay.attempts", "1");
    // The state of the source has no copy here: it is with the JobManager.
    settings.setString("execution.checkpointing.data-inline-threshold", "20 kb");
    start(settings);
    FAILURES_LEFT.set(1);
    beforeFailure = this::removeRemote;
    runToTheEnd(job(settings, numbers, false), numbers);
    assertThat(FAILURES_LEFT.get()).isZero();
  }

  /** Behind this its tasks run. */
  private void waitForACheckpointOf(JobGraph job) throws Exception {
    final Path its = files.resolve("checkpoints/" + job.getJobID());
    for (int tenths = 0; fileCount(its) == 0; ++tenths) {
      if (tenths > 3000) throw new IllegalStateException("no checkpoint within 300 s");
      Thread.sleep(100);
    }
  }

  private long fileCount(Path below) throws IOException {
    if (!Files.exists(below)) return 0;
    try (Stream<Path> all = Files.walk(below)) {
      return all.filter(Files::isRegularFile).count();
    }
  }

  @ParameterizedTest(name = "{0}, {1}, incremental {2}")
  @CsvSource({
    "NATIVE,CLAIM,true",
    "NATIVE,NO_CLAIM,true",
    "NATIVE,CLAIM,false",
    "CANONICAL,CLAIM,true",
    "CANONICAL,NO_CLAIM,false"
  })
  void jobsGoOnFromSavepoints(
      SavepointFormatType format, RecoveryClaimMode claim, boolean incremental) throws Exception {
    final long numbers = 60_000;
    final Configuration settings = settings(incremental);
    start(settings);
    slow = true;
    final JobGraph first = job(settings, numbers, false);
    cluster.submitJob(first).get();
    waitForACheckpointOf(first);
    final String savepoint =
        cluster
            .stopWithSavepoint(
                first.getJobID(), files.resolve("savepoints").toUri().toString(), false, format)
            .get();
    final Path directory = Path.of(java.net.URI.create(savepoint));
    assertThat(fileCount(directory)).isPositive();
    slow = false;
    final JobGraph second = job(settings, numbers, false);
    second.setSavepointRestoreSettings(
        SavepointRestoreSettings.forPath(savepoint, false, claim));
    FAILURES_LEFT.set(2); // Each behind a checkpoint of its own.
    if (claim == RecoveryClaimMode.NO_CLAIM) {
      // The savepoint belongs to the user, and is removed once there is a checkpoint.
      beforeFailure =
          () -> {
            try {
              org.apache.flink.util.FileUtils.deleteDirectory(directory.toFile());
            } catch (IOException exception) {
              throw new UncheckedIOException(exception);
            }
          };
    }
    runToTheEnd(second, numbers);
    // A claimed one is Flink's to remove.
    assertThat(fileCount(directory)).isZero();
  }

  @Test
  void aFileThatIsLostIsNamedAndTheJobEnds() throws Exception {
    final long numbers = 40_000;
    final Configuration settings = settings(true);
    settings.setString("restart-strategy.fixed-delay.attempts", "2");
    start(settings);
    slow = true;
    final JobGraph first = job(settings, numbers, false);
    cluster.submitJob(first).get();
    waitForACheckpointOf(first);
    final String savepoint =
        cluster
            .stopWithSavepoint(
                first.getJobID(),
                files.resolve("savepoints").toUri().toString(),
                false,
                SavepointFormatType.NATIVE)
            .get();
    // The largest is a pack of runs; others are of the source.
    final Path lost;
    try (Stream<Path> all = Files.list(Path.of(java.net.URI.create(savepoint)))) {
      lost = all.max(Comparator.comparingLong(file -> file.toFile().length())).orElseThrow();
    }
    Files.delete(lost);
    slow = false;
    final JobGraph second = job(settings, numbers, false);
    second.setSavepointRestoreSettings(SavepointRestoreSettings.forPath(savepoint, false));
    assertThatThrownBy(() -> runToTheEnd(second, numbers))
        .hasStackTraceContaining(lost.getFileName().toString())
        .hasStackTraceContaining("could not be restored");
  }

  @ParameterizedTest(name = "in a directory {0}")
  @ValueSource(booleans = {false, true})
  void stateBeyondItsLimitIsNamedAndTheJobRestarts(boolean directory) throws Exception {
    final Configuration settings = settings(false);
    settings.setString("restart-strategy.fixed-delay.attempts", "3");
    if (directory) {
      settings.setString("state.backend.holdfast.region", files.resolve("state").toString());
      settings.set(HoldfastStateBackend.REGION_MAX_SIZE, MemorySize.parse("16 mb"));
    } else {
      settings.set(HoldfastStateBackend.FIXED_MEMORY, MemorySize.parse("16 mb"));
    }
    start(settings);
    paddingBytes = 200_000;
    assertThatThrownBy(() -> runToTheEnd(job(settings, 40_000, false), 40_000))
        .hasStackTraceContaining("HF_NO_SPACE")
        .hasStackTraceContaining("the keyed state of");
    assertThat(STARTS.get()).isGreaterThan(2 * 2);
    if (directory) assertThat(leftOf(files.resolve("state"))).as("stores that are left").isEmpty();
  }

  private static List<Path> leftOf(Path region) throws IOException {
    try (Stream<Path> all = Files.walk(region, 2)) {
      return all.filter(path -> !path.equals(region))
          .filter(path -> !path.getParent().equals(region))
          .filter(path -> !path.getFileName().toString().equals("lock"))
          .toList();
    }
  }

  @Test
  void whatAKilledProcessLeftIsRemoved() throws Exception {
    final Path region = files.resolve("state");
    final Path dead = Files.createDirectories(region.resolve("process-1-dead/operator"));
    Files.createFile(region.resolve("process-1-dead/lock"));
    Files.writeString(dead.resolve("segment"), "state");
    // Another process is alive: it has its lock.
    final Path alive = Files.createDirectories(region.resolve("process-2-alive"));
    Files.createFile(alive.resolve("lock"));
    final Process holder =
        new ProcessBuilder(
                "python3",
                "-c",
                "import fcntl,sys,time\n"
                    + "f=open(sys.argv[1],'w'); fcntl.lockf(f,fcntl.LOCK_EX); print('locked',flush=True); time.sleep(60)",
                alive.resolve("lock").toString())
            .start();
    try {
      assertThat(holder.inputReader().readLine()).isEqualTo("locked");
      final Path own = StateDirectories.ofThisProcess(region);
      assertThat(own).exists();
      assertThat(region.resolve("process-1-dead")).doesNotExist();
      assertThat(alive).exists();
      assertThat(StateDirectories.ofThisProcess(region)).isEqualTo(own);
    } finally {
      holder.destroy();
    }
  }

  private static long residentKib() throws IOException {
    System.gc();
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aHundredRestartsTakeNoMoreMemory() throws Exception {
    final long numbers = 400_000;
    final Configuration settings = settings(true);
    settings.setString("execution.checkpointing.interval", "10 ms");
    start(settings);
    final long[] kib = new long[101];
    FAILURES_LEFT.set(100);
    beforeFailure =
        () -> {
          try {
            final int left = FAILURES_LEFT.get();
            if (left % 50 < 10) kib[left] = residentKib();
          } catch (IOException exception) {
            throw new UncheckedIOException(exception);
          }
        };
    runToTheEnd(job(settings, numbers, false), numbers);
    assertThat(FAILURES_LEFT.get()).isZero();
    long half = 0, last = 0;
    for (int left = 0; left < 10; ++left) {
      last = Math.max(last, kib[left]);
      half = Math.max(half, kib[50 + left]);
    }
    System.out.println("restarts: RSS " + half + " KiB behind 50, " + last + " KiB behind 100");
    assertThat(last).isLessThan(half + half / 20);
  }
}
