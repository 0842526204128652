package org.holdfast.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.FlinkRuntimeException;
import org.holdfast.HoldfastCheckpoint;
import org.holdfast.Run;
import org.holdfast.RunReader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of stores that could not be opened or restored, and the directories of processes that begin at once. */
final class StatePlaceTest {
  private static final long MOST_BYTES = 64L << 20;

  @TempDir Path files;

  private final Map<String, ByteBuffer> runs = new HashMap<>();

  private static String name(long origin, long generation) {
    return origin + "/" + generation;
  }

  /** The private part of a checkpoint of 12 MB; its runs go to `runs`. */
  private byte[] checkpoint() throws IOException {
    final StatePlace place =
        new StatePlace(StatePlace.DRAM, "original", MOST_BYTES, MemoryBudget.UNLIMITED);
    try (StateStore store = place.open()) {
      for (int i = 0; i < 12_000; ++i) store.put(("key" + i).getBytes(), new byte[1000]);
      try (HoldfastCheckpoint checkpoint = store.checkpoint()) {
        final Run[] all = checkpoint.runs();
        for (int i = 0; i < all.length; ++i) {
          final ByteBuffer to = ByteBuffer.allocateDirect((int) all[i].bytes());
          checkpoint.read(i, to);
          runs.put(name(all[i].origin(), all[i].generation()), to);
        }
        return checkpoint.privatePart();
      }
    }
  }

  private final RunReader reader =
      (origin, generation, to) -> to.put(runs.get(name(origin, generation)).duplicate());

  private List<Path> left() throws IOException {
    if (!Files.exists(files)) return List.of();
    try (Stream<Path> all = Files.walk(files, 2)) {
      return all.filter(path -> !path.equals(files) && !path.getParent().equals(files))
          .filter(path -> !path.getFileName().toString().equals("lock"))
          .toList();
    }
  }

  private static long residentKib() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("VmRSS:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
        .findFirst()
        .orElseThrow();
  }

  /** Each attempt of a job that restarted left a store open, until the process had no memory. */
  @Test
  void aRestoreBeyondTheBudgetLeavesNothing() throws IOException {
    final byte[] part = checkpoint();
    final MemoryBudget budget = new MemoryBudget(4 << 20);
    final StatePlace place = new StatePlace(StatePlace.DRAM, "operator", MOST_BYTES, budget);
    long before = 0;
    for (int attempt = 0; attempt < 50; ++attempt) {
      assertThatThrownBy(() -> place.restore(part, reader))
          .isInstanceOf(FlinkRuntimeException.class)
          .hasMessageContaining("HF_NO_SPACE: the keyed state of operator takes");
      assertThat(budget.bytes()).isZero();
      if (attempt == 9) before = residentKib();
    }
    assertThat(residentKib() - before).as("KiB that 40 attempts left").isLessThan(100 << 10);
  }

  @Test
  void aStoreThatIsTooLargeForItsPlaceNamesItsOperator() throws IOException {
    final byte[] part = checkpoint();
    final long most = 8 << 20;
    final StatePlace place = new StatePlace(StatePlace.DRAM, "operator", most, new MemoryBudget(most));
    assertThatThrownBy(() -> place.restore(part, reader))
        .hasMessageContaining("HF_NO_SPACE: the keyed state of operator in dram")
        .hasMessageContaining("may take 8388608 bytes")
        .hasMessageContaining("Raise taskmanager.memory.managed.size");
  }

  /** It said that 0 bytes were allowed, where 8 MiB were, and had another option raised. */
  @Test
  void aLimitOfTheRegionIsNamedWhereItIsWhatIsReached() throws IOException {
    final byte[] part = checkpoint();
    final StatePlace place = new StatePlace(StatePlace.DRAM, "operator", 0, MemoryBudget.UNLIMITED);
    assertThatThrownBy(() -> place.restore(part, reader))
        .hasMessageContaining("may take 8388608 bytes")
        .hasMessageContaining("Raise state.backend.holdfast.region.max-size or the parallelism.");
    final Configuration settings = new Configuration();
    settings.set(HoldfastStateBackend.REGION_MAX_SIZE, MemorySize.parse("7 mb"));
    assertThatThrownBy(
            () -> new HoldfastStateBackend().configure(settings, getClass().getClassLoader()))
        .isInstanceOf(IllegalConfigurationException.class)
        .hasMessageContaining("region.max-size: 7340032 bytes; 8 mb or more is allowed");
  }

  /** Their files stayed as long as the process. */
  @Test
  void aRestoreThatFailsLeavesNoFiles() throws IOException {
    final byte[] part = checkpoint();
    final StatePlace unlimited =
        new StatePlace(files.toString(), "operator", MOST_BYTES, MemoryBudget.UNLIMITED);
    assertThatThrownBy(
            () ->
                unlimited.restore(
                    part,
                    (origin, generation, to) -> {
                      throw new UncheckedIOException(new IOException("the file is gone"));
                    }))
        .isInstanceOf(UncheckedIOException.class)
        .hasMessageContaining("the file is gone");
    assertThat(left()).isEmpty();
    final MemoryBudget none = new MemoryBudget(1);
    final StatePlace limited = new StatePlace(files.toString(), "operator", MOST_BYTES, none);
    assertThatThrownBy(() -> limited.restore(part, reader)).hasMessageContaining("HF_NO_SPACE");
    assertThatThrownBy(limited::open).hasMessageContaining("HF_NO_SPACE");
    assertThat(left()).isEmpty();
    assertThat(none.bytes()).isZero();
    try (StateStore store = unlimited.restore(part, reader)) {
      assertThat(store.get("key7".getBytes())).hasSize(1000);
    }
    assertThat(left()).isEmpty();
  }

  /** A URI was taken for a path, and the state lay in a directory `file:` of wherever the process began. */
  @Test
  void aDirectoryMayBeWrittenAsFlinkWritesThem() {
    final Configuration settings = new Configuration();
    for (String region : List.of("file:///mnt/pmem", "file:/mnt/pmem/", "/mnt/pmem")) {
      settings.set(HoldfastStateBackend.REGION, region);
      assertThat(new HoldfastStateBackend().configure(settings, null).toString())
          .contains("region=/mnt/pmem");
      assertThat(new HoldfastStateBackend(region).toString()).contains("region=/mnt/pmem");
    }
    for (String region :
        List.of(
            "hdfs://host/state",
            "s3:/bucket",
            "file://host/state",
            "",
            " ",
            // They were directories where the TaskManager was started, and options of a store.
            "DRAM",
            "node:0",
            "state",
            "/mnt/state?granularity=line")) {
      settings.set(HoldfastStateBackend.REGION, region);
      assertThatThrownBy(() -> new HoldfastStateBackend().configure(settings, null))
          .isInstanceOf(IllegalConfigurationException.class)
          .hasMessageContaining("state.backend.holdfast.region: '" + region + "'");
    }
  }

  /** It was as if it had not been set. */
  @Test
  void aSlotOfNoMemoryIsRefused() {
    final Configuration settings = new Configuration();
    settings.set(HoldfastStateBackend.FIXED_MEMORY, MemorySize.ZERO);
    assertThatThrownBy(
            () -> new HoldfastStateBackend().configure(settings, getClass().getClassLoader()))
        .isInstanceOf(IllegalConfigurationException.class)
        .hasMessageContaining("fixed-per-slot: 0");
  }

  /** It came back without its lock, and the next process removed it under the one that used it. */
  @Test
  void aDirectoryThatSomebodyRemovedIsLockedAnew() throws IOException {
    final Path region = files.resolve("region");
    final Path first = StateDirectories.ofThisProcess(region);
    FileUtils.deleteDirectory(region.toFile());
    final Path second = StateDirectories.ofThisProcess(region);
    assertThat(second).isNotEqualTo(first).exists();
    assertThat(second.resolve("lock")).exists();
    assertThat(StateDirectories.ofThisProcess(region)).isEqualTo(second);
  }

  /** Takes a directory in each region that it is told. */
  static final class OtherProcess {
    private OtherProcess() {}

    public static void main(String[] arguments) throws Exception {
      final BufferedReader regions = new BufferedReader(new InputStreamReader(System.in));
      for (String region; (region = regions.readLine()) != null; ) {
        System.out.println(StateDirectories.ofThisProcess(Path.of(region)));
      }
    }
  }

  private static Path waitForDirectoryOfAProcess(Path region) throws IOException {
    for (; ; ) {
      try (Stream<Path> all = Files.list(region)) {
        final Path seen =
            all.filter(path -> path.getFileName().toString().startsWith("process-"))
                .findFirst()
                .orElse(null);
        if (seen != null) return seen;
      }
    }
  }

  private static boolean isLocked(Path lock) throws IOException {
    if (!Files.exists(lock)) return false;
    try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.WRITE);
        FileLock taken = channel.tryLock()) {
      return taken == null;
    }
  }

  /** A directory without a lock is that of a dead process, and another that began at the same time removed it. */
  @Test
  void aDirectoryOfAProcessIsLockedFromItsFirstMoment() throws Exception {
    final Process other =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                OtherProcess.class.getName())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      int unlocked = 0;
      for (int i = 0; i < 200; ++i) {
        final Path region = Files.createDirectories(files.resolve("region" + i));
        other.outputWriter().write(region + "\n");
        other.outputWriter().flush();
        final Path seen = waitForDirectoryOfAProcess(region);
        if (!isLocked(seen.resolve("lock"))) ++unlocked;
        assertThat(other.inputReader().readLine()).isEqualTo(seen.toString());
        assertThat(isLocked(seen.resolve("lock"))).isTrue();
      }
      assertThat(unlocked).as("directories seen without a lock").isZero();
    } finally {
      other.destroyForcibly();
    }
  }
}
