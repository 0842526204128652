package org.holdfast.flink;

import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.IOUtils;
import org.holdfast.HoldfastException;
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
  /** What a store needs. */
  static final long LEAST_BYTES = 8L << 20;

  StatePlace {
    mostBytes = Math.max(mostBytes, LEAST_BYTES); // A smaller budget is kept to by what is counted against it.
  }

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
        .set("max_bytes", String.valueOf(mostBytes));
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
    return opened(directory, () -> HoldfastStore.open(spec(directory), options()));
  }

  /** The store of a checkpoint; no record is rewritten. */
  StateStore restore(byte[] privatePart, RunReader runs) throws IOException {
    final Path directory = newDirectory();
    return opened(
        directory,
        () -> HoldfastStore.restoreOpen(spec(directory), privatePart, runs, options()));
  }

  /** Leaves nothing open and no file behind where it fails: the job restarts, and tries again. */
  private StateStore opened(Path directory, Supplier<HoldfastStore> open) {
    HoldfastStore store = null;
    boolean done = false;
    try {
      store = open.get();
      final StateStore made = new StateStore(store, directory, this);
      done = true;
      return made;
    } catch (HoldfastException failure) {
      throw named(failure);
    } finally {
      if (!done) {
        IOUtils.closeQuietly(store);
        if (directory != null) FileUtils.deleteDirectoryQuietly(directory.toFile());
      }
    }
  }

  /** What can be done where the slot's memory is used up. */
  String moreMemory() {
    final String raise =
        "Raise taskmanager.memory.managed.size, or state.backend.holdfast.memory.fixed-per-slot, or the"
            + " parallelism";
    return inMemory() ? raise + "; or set state.backend.holdfast.region to a directory." : raise + ".";
  }

  private String moreSpace() {
    if (!inMemory()) {
      return "Make room on its file system, or raise state.backend.holdfast.region.max-size or the parallelism.";
    }
    return mostBytes < budget.mostBytes()
        ? "Raise state.backend.holdfast.region.max-size or the parallelism."
        : moreMemory();
  }

  /** A store that found no space, or a key that is too long, says whose it is, and what can be done. */
  RuntimeException named(HoldfastException failure) {
    if (failure.code() == HoldfastException.TOO_LARGE) {
      return new FlinkRuntimeException(
          "HF_TOO_LARGE: the keyed state of "
              + name
              + ": key, namespace and the key of a map's entry may take 65536 bytes together, a value 2 GiB. Have a digest of"
              + " a long text as key.",
          failure);
    }
    if (failure.code() != HoldfastException.NO_SPACE) return failure;
    return new FlinkRuntimeException(
        "HF_NO_SPACE: the keyed state of "
            + name
            + " in "
            + region
            + " found no space; it may take "
            + mostBytes
            + " bytes. "
            + moreSpace(),
        failure);
  }
}
