package org.holdfast.flink;

import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import org.holdfast.HoldfastOptions;
import org.holdfast.HoldfastStore;
import org.holdfast.RunReader;

/**
 * Where the stores of an operator are: in memory, or below a directory. There are many stores in a process, most of them
 * small: each is one of little memory, that grows.
 *
 * @param name of the operator, for people
 * @param mostBytes of a store's medium
 */
record StatePlace(String region, String name, long mostBytes, MemoryBudget budget) {
  static final String DRAM = "dram";
  // Writers of smaller blocks wait more often for reclamation: with 64 KiB a window sum took a sixth longer.
  private static final String BLOCK_BYTES = "256K";
  private static final String SEGMENT_BYTES = "2M";
  private static final long LEAST_BYTES = 8L << 20;

  boolean inMemory() {
    return region.equals(DRAM);
  }

  private HoldfastOptions options() {
    return new HoldfastOptions()
        .set("order", "true")
        .set("access", "create")
        .set("durability", "process")
        .set("block_bytes", BLOCK_BYTES)
        .set("segment_bytes", SEGMENT_BYTES)
        .set("initial_bytes", SEGMENT_BYTES)
        .set("max_bytes", String.valueOf(Math.max(mostBytes, LEAST_BYTES)));
  }

  /** Null: in memory. */
  private Path newDirectory() throws IOException {
    return inMemory()
        ? null
        : StateDirectories.ofThisProcess(Path.of(region)).resolve(name + "-" + UUID.randomUUID());
  }

  private String spec(Path directory) {
    return directory == null ? DRAM : directory.toString();
  }

  /** An empty one. */
  StateStore open() throws IOException {
    final Path directory = newDirectory();
    return new StateStore(HoldfastStore.open(spec(directory), options()), directory, this);
  }

  /** The store of a checkpoint; no record is rewritten. */
  StateStore restore(byte[] privatePart, RunReader runs) throws IOException {
    final Path directory = newDirectory();
    return new StateStore(
        HoldfastStore.restoreOpen(spec(directory), privatePart, runs, options()), directory, this);
  }
}
