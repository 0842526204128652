package org.holdfast.flink;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.ResourceGuard;
import org.holdfast.HoldfastCheckpoint;
import org.holdfast.HoldfastIterator;
import org.holdfast.HoldfastOptions;
import org.holdfast.HoldfastSnapshot;
import org.holdfast.HoldfastStore;
import org.holdfast.RunReader;

/**
 * The store of one keyed backend. A key is the state's number in 2 bytes, big-endian, and behind it what Flink's canonical
 * format has: key group, key, namespace, key of a map's entry. So a snapshot is a copy.
 *
 * <p>Threads: verbs from any. {@link #read} from the task's. Closing waits for snapshots and readers that hold a lease.
 */
final class StateStore implements Closeable {
  static final String DRAM = "dram";
  static final int NUMBER_BYTES = 2;

  /** A key with the state's number, and its value. */
  record Entry(byte[] key, byte[] value) {}

  private final HoldfastStore store;
  private final ResourceGuard guard = new ResourceGuard();
  // Null: the state lives in DRAM.
  private final Path directory;
  private HoldfastIterator records;

  private StateStore(HoldfastStore store, Path directory) {
    this.store = store;
    this.directory = directory;
  }

  /** `name`: of the operator, for people who look into the directory. */
  static StateStore open(String region, String name) throws IOException {
    final Path directory =
        region.equals(DRAM) ? null : Path.of(region, name + "-" + UUID.randomUUID());
    if (directory != null) Files.createDirectories(directory.getParent());
    // There are many stores in a process, most of them small. Writers of small blocks wait more often for
    // reclamation: with 64 KiB a window sum took a sixth longer.
    final HoldfastOptions options =
        new HoldfastOptions()
            .set("order", "true")
            .set("access", "create")
            .set("durability", "process")
            .set("block_bytes", "256K")
            .set("segment_bytes", "2M")
            .set("initial_bytes", "2M");
    return new StateStore(
        HoldfastStore.open(directory == null ? DRAM : directory.toString(), options), directory);
  }

  /** The key of a record of the state `number`. */
  static byte[] key(int number, byte[] canonical) {
    final byte[] key = new byte[NUMBER_BYTES + canonical.length];
    key[0] = (byte) (number >>> 8);
    key[1] = (byte) number;
    System.arraycopy(canonical, 0, key, NUMBER_BYTES, canonical.length);
    return key;
  }

  static byte[] canonical(byte[] key) {
    return Arrays.copyOfRange(key, NUMBER_BYTES, key.length);
  }

  /** Null: there is none. */
  byte[] get(byte[] key) {
    return store.get(key);
  }

  void put(byte[] key, byte[] value) {
    store.put(key, value);
  }

  void erase(byte[] key) {
    store.erase(key);
  }

  void append(byte[] key, byte[] bytes) {
    store.append(key, bytes);
  }

  long countPrefix(byte[] prefix) {
    return store.countPrefix(prefix);
  }

  void erasePrefix(byte[] prefix) {
    store.erasePrefix(prefix);
  }

  /** Whether a key begins with `prefix`. */
  boolean any(byte[] prefix) {
    return !read(prefix, null, 1).isEmpty();
  }

  /** Up to `most` records whose keys begin with `prefix`, in order, behind the key `after`; null: from the first on. */
  List<Entry> read(byte[] prefix, byte[] after, int most) {
    if (records == null) records = store.iterator();
    return read(records, prefix, after, most);
  }

  /** The same for any thread. */
  List<Entry> readElsewhere(byte[] prefix, byte[] after, int most) {
    try (HoldfastIterator own = store.iterator()) {
      return read(own, prefix, after, most);
    }
  }

  private static List<Entry> read(
      HoldfastIterator records, byte[] prefix, byte[] after, int most) {
    if (after == null) records.first(prefix, most);
    else records.seek(Arrays.copyOf(after, after.length + 1), most); // The least key behind it.
    final List<Entry> found = new ArrayList<>();
    for (; records.valid(); records.next()) {
      final byte[] key = records.key();
      if (!beginsWith(key, prefix)) break;
      found.add(new Entry(key, records.value()));
    }
    return found;
  }

  static boolean beginsWith(byte[] key, byte[] prefix) {
    return key.length >= prefix.length
        && Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length);
  }

  HoldfastCheckpoint checkpoint() {
    return store.checkpoint();
  }

  /** Records of a checkpoint of such a store; no prefixes: all. */
  void importCheckpoint(byte[] privatePart, RunReader runs, byte[]... prefixes) {
    store.importCheckpoint(privatePart, runs, prefixes);
  }

  HoldfastSnapshot snapshot() {
    return store.snapshot();
  }

  /** While it is held the store is not closed. */
  ResourceGuard.Lease lease() throws IOException {
    return guard.acquireResource();
  }

  @Override
  public void close() {
    guard.close(); // Waits for leases.
    if (records != null) records.close();
    records = null;
    store.close();
    if (directory == null) return;
    try {
      FileUtils.deleteDirectory(directory.toFile());
    } catch (IOException exception) {
      throw new UncheckedIOException(exception);
    }
  }
}
