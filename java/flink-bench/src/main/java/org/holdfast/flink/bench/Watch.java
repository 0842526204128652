package org.holdfast.flink.bench;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.flink.api.common.JobID;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** What Flink's own page says of a job: its checkpoints, and whether its tasks run. */
final class Watch {
  private final HttpClient client = HttpClient.newHttpClient();
  private final ObjectMapper json = new ObjectMapper();
  private final String job;

  Watch(int port, JobID id) {
    job = "http://127.0.0.1:" + port + "/jobs/" + id;
  }

  private JsonNode get(String path) throws IOException {
    try {
      return json.readTree(
          client
              .send(
                  HttpRequest.newBuilder(URI.create(job + path)).build(),
                  HttpResponse.BodyHandlers.ofString())
              .body());
    } catch (InterruptedException exception) {
      throw new IOException(exception);
    }
  }

  /** Median size and duration of the completed checkpoints, and of their synchronous parts the longest. */
  record Checkpoints(long completed, long stateBytes, long writtenBytes, long tookMs) {}

  Checkpoints checkpoints() throws IOException {
    final JsonNode all = get("/checkpoints"), median = all.path("summary");
    return new Checkpoints(
        all.path("counts").path("completed").asLong(),
        median.path("state_size").path("p50").asLong(),
        median.path("checkpointed_size").path("p50").asLong(),
        median.path("end_to_end_duration").path("p50").asLong());
  }

  /** Whether every task is past its restore. */
  boolean runs() throws IOException {
    final JsonNode vertices = get("").path("vertices");
    if (vertices.isEmpty()) return false;
    for (JsonNode vertex : vertices) {
      if (vertex.path("tasks").path("RUNNING").asLong() != vertex.path("parallelism").asLong()) {
        return false;
      }
    }
    return true;
  }

  /** Milliseconds from now, when the job fails, until it is restored and runs. */
  long recovered() throws IOException, InterruptedException {
    final long begin = System.nanoTime(), most = 120_000_000_000L;
    for (boolean failed = false; ; ) {
      final boolean runs = runs();
      failed |= !runs;
      final long took = System.nanoTime() - begin;
      if (failed && runs) return took / 1_000_000;
      if (took > most) throw new IOException("the job did not come back within 120 s");
      Thread.sleep(5);
    }
  }
}
