package org.holdfast.flink.peer;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** A query of NEXMark in Flink's SQL, by the texts of workloads/stream/nexmark, which are in this jar. */
final class Nexmark {
  static final int QUERIES = 23;

  private Nexmark() {}

  /** Not those of the time of processing (q12), and of a table that is looked up (q13). */
  static boolean has(int number) {
    return number >= 0 && number < QUERIES && number != 12 && number != 13;
  }

  static void run(int number, Configuration settings, int parallelism) throws Exception {
    // As NEXMark's own settings of Flink.
    settings.setString("table.exec.mini-batch.enabled", "true");
    settings.setString("table.exec.mini-batch.allow-latency", "2 s");
    settings.setString("table.exec.mini-batch.size", "50000");
    settings.setString("table.optimizer.distinct-agg.split.enabled", "true");
    final StreamTableEnvironment tables =
        StreamTableEnvironment.create(WindowSum.environment(settings, parallelism));
    tables.getConfig().set("table.local-time-zone", "UTC");
    MemoryTables.subtasks = parallelism;
    for (String statement : text("tables").split(";")) {
      if (!statement.isBlank())
        tables.executeSql(
            statement.replaceFirst("WITH \\('connector' = 'nexmark'[^)]*\\)", "WITH ('connector' = 'memory')"));
    }
    final Table answer = tables.sqlQuery(text("q" + number).replace(";", ""));
    answer.insertInto(TableDescriptor.forConnector("memory").build()).execute().await();
  }

  private static String text(String name) throws IOException {
    try (InputStream file = Nexmark.class.getResourceAsStream("/nexmark/" + name + ".sql")) {
      final String text = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      return text.replaceAll("(?m)^--.*$", "").replaceAll("\\bdateTime\\b", "`dateTime`"); // A word of Flink's.
    }
  }
}
