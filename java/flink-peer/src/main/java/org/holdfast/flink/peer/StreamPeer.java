package org.holdfast.flink.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.util.EnvironmentInformation;

/**
 * Flink as an engine that {@code holdfast stream bench} compares with: StreamPeer NAME THREADS DIRECTORY CHECKPOINT-MS, where
 * NAME is flink-sql-rocksdb, flink-sql-heap, flink-ds-rocksdb or flink-ds-heap, and RocksDB and checkpoints are in DIRECTORY.
 *
 * <p>It is asked as holdfast/peers/peer_main.py is: a question per line, and for each a line of JSON. Questions are {@code
 * queries}, {@code load TABLE DIRECTORY}, {@code window-sum PATH}, {@code nexmark-qN KINDS}. The whole cluster is in this process. Seconds are from the
 * first source that is ready to read to the last row in the sink: to start a job and to end it costs Flink nothing here. The
 * first time a query is run again for 15 s (HOLDFAST_FLINK_WARM_UP), so that what is measured is compiled.
 */
public final class StreamPeer {
  private static final double WARM_UP_S =
      Double.parseDouble(System.getenv().getOrDefault("HOLDFAST_FLINK_WARM_UP", "15"));

  private final boolean sql;
  private final boolean rocksdb;
  private final int threads;
  private final String place;
  private final long checkpointMs;
  private String directory = ""; // Of the run.
  private int runs;
  private final Set<Integer> warm = new HashSet<>(); // Queries.

  private StreamPeer(String[] words) {
    sql = words[0].startsWith("flink-sql-");
    rocksdb = words[0].endsWith("-rocksdb");
    threads = Integer.parseInt(words[1]);
    place = words[2] + "/" + words[0] + "-" + words[1];
    checkpointMs = Long.parseLong(words[3]);
  }

  private String configuration() {
    return (sql ? "SQL" : "DataStream")
        + ", one process, "
        + threads
        + " slots, state in "
        + (rocksdb
            ? "RocksDB with Bloom filters and 2 GB, timers on the heap, an incremental checkpoint each "
                + checkpointMs
                + " ms"
            : "the heap, no checkpoints")
        + ", object reuse, NEXMark with mini-batches";
  }

  /** As Flink's documentation advises; everything else of RocksDB comes from the managed memory. */
  private Configuration settings() {
    final Configuration settings = new Configuration();
    settings.setString("taskmanager.numberOfTaskSlots", String.valueOf(threads));
    settings.setString("rest.bind-port", "0");
    settings.setString("rest.port", "0");
    settings.setString("restart-strategy.type", "none");
    settings.setString("io.tmp.dirs", directory);
    if (!rocksdb) {
      settings.setString("state.backend.type", "hashmap");
      settings.setString("taskmanager.memory.managed.size", "256m");
      return settings;
    }
    settings.setString("state.backend.type", "rocksdb");
    settings.setString("taskmanager.memory.managed.size", "2g");
    settings.setString("state.backend.rocksdb.localdir", directory + "/rocksdb");
    settings.setString("state.backend.rocksdb.timer-service.factory", "HEAP");
    settings.setString("state.backend.rocksdb.use-bloom-filter", "true");
    settings.setString("state.backend.rocksdb.thread.num", "2");
    settings.setString("state.backend.rocksdb.compaction.level.use-dynamic-size", "true");
    settings.setString("execution.checkpointing.incremental", "true");
    settings.setString("execution.checkpointing.interval", checkpointMs + " ms");
    settings.setString("execution.checkpointing.dir", "file://" + directory + "/checkpoints");
    return settings;
  }

  /** Its seconds. {@code query}: a number of NEXMark, or -1: the window sum. */
  private double run(int query) throws Exception {
    Answer.clear();
    Sums.clear();
    Events.BEGAN_NS.set(0);
    remove(Path.of(directory));
    directory = place + "/" + ++runs;
    Files.createDirectories(Path.of(directory));
    if (query >= 0) {
      Nexmark.run(query, settings(), threads);
    } else if (sql) {
      WindowSum.bySql(settings(), threads);
    } else {
      WindowSum.byStream(settings(), threads);
    }
    return (Answer.ENDED_NS.get() - Events.BEGAN_NS.get()) / 1e9;
  }

  /** The same, warm. */
  private double measured(int query) throws Exception {
    final long begun = System.nanoTime();
    double seconds = run(query);
    if (warm.add(query)) {
      while ((System.nanoTime() - begun) / 1e9 < WARM_UP_S) seconds = run(query);
    }
    return seconds;
  }

  /** As far as it goes: the run before may be removing it, too. The process that started this one removes the rest. */
  private static void remove(Path directory) {
    if (directory.toString().isEmpty()) return;
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
        Files.deleteIfExists(path);
      }
    } catch (IOException | UncheckedIOException gone) {
      // It is gone, or is going.
    }
  }

  private String answer(String question) throws Exception {
    final String[] words = question.split(" ", 3);
    if (words[0].equals("queries")) {
      final StringBuilder names = new StringBuilder("\"window-sum\"");
      for (int query = 0; sql && query < Nexmark.QUERIES; ++query) {
        if (Nexmark.has(query)) names.append(", \"nexmark-q").append(query).append('"');
      }
      return "{\"seconds\": 0, \"rows\": [[" + names + "]]}";
    }
    if (words[0].equals("load")) {
      Events.load(words[1], words[2]);
      return "{\"seconds\": 0, \"rows\": []}";
    }
    if (words[0].equals("window-sum")) {
      final double seconds = measured(-1);
      Answer.write(question.substring(words[0].length() + 1));
      Answer.clear();
      return String.format(Locale.ROOT, "{\"seconds\": %.6f, \"rows\": []}", seconds);
    }
    if (!words[0].startsWith("nexmark-q")) throw new IllegalArgumentException("it has no " + words[0]);
    final double seconds = measured(Integer.parseInt(words[0].substring("nexmark-q".length())));
    return String.format(
        Locale.ROOT, "{\"seconds\": %.6f, \"rows\": %s}", seconds, Sums.json(words[1].length()));
  }

  /** All that went wrong, the reason of all last. */
  private static String text(Throwable error) {
    final StringBuilder text = new StringBuilder();
    for (Throwable at = error; at != null && at != at.getCause(); at = at.getCause()) {
      if (text.length() > 0) text.append(": ");
      text.append(at.getClass().getSimpleName()).append(' ').append(at.getMessage());
    }
    if (text.length() <= 600) return text.toString();
    return text.substring(0, 200) + " … " + text.substring(text.length() - 400);
  }

  private static String json(String text) {
    final StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') quoted.append('\\').append(c);
      else if (c < ' ') quoted.append(String.format("\\u%04x", (int) c));
      else quoted.append(c);
    }
    return quoted.append('"').toString();
  }

  public static void main(String[] words) throws IOException {
    final PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // What libraries print is no answer.
    final StreamPeer peer = new StreamPeer(words);
    answers.println(
        "{\"version\": "
            + json(EnvironmentInformation.getVersion())
            + ", \"configuration\": "
            + json(peer.configuration())
            + "}");
    final BufferedReader questions =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = questions.readLine(); line != null; line = questions.readLine()) {
      String said;
      try {
        said = peer.answer(line.strip());
      } catch (Throwable error) { // Whatever it is, it is the answer.
        said = "{\"error\": " + json(text(error)) + "}";
      }
      answers.println(said);
    }
    System.exit(0);
  }
}
