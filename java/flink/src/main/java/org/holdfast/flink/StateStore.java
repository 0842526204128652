package org.holdfast.flink;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.FlinkRuntimeException;
import org.apache.flink.util.ResourceGuard;
import org.holdfast.Bytes;
import org.holdfast.HoldfastCheckpoint;
import org.holdfast.HoldfastException;
import org.holdfast.HoldfastIterator;
import org.holdfast.HoldfastSnapshot;
import org.holdfast.HoldfastStats;
import org.holdfast.HoldfastStore;
import org.holdfast.RunReader;

/**
 * The store of one keyed backend. A key is the state's number in 2 bytes, big-endian, and behind it what Flink's canonical
 * format has: key group, key, namespace, key of a map's entry. So a snapshot is a copy.
 *
 * <p>Threads: as it says at the verbs; {@link #read(byte[], byte[], int)} from the task's. Closing waits for snapshots and readers that hold a lease.
 */
final class StateStore implements Closeable {
  static final int NUMBER_BYTES = 2;
  static final int ABSENT = -1;
  // A store says what memory it takes each time that it has written so much.
  private static final long BYTES_BETWEEN_CHECKS = 1 << 20;
  private static final int RECORD_OVERHEAD_BYTES = 64;
  // Of what is kept outside of the heap for values. Flink gives a TaskManager some 128 MiB of such memory.
  private static final int LARGEST_COPY_BYTES = 1 << 20;
  // Of records that are read together: values may be large, and they are on the heap.
  private static final long BYTES_AT_ONCE = 1 << 20;

  /** A key with the state's number, and its value. */
  record Entry(byte[] key, byte[] value) {}

  /** Records in order. `more`: there may be others behind them. */
  record Entries(List<Entry> all, boolean more) {}

  private final HoldfastStore store;
  private final ResourceGuard guard = new ResourceGuard();
  // Null: the state lives in DRAM.
  private final Path directory;
  private final StatePlace place;
  private final Bytes keyCopy = new Bytes(256);
  private final Bytes valueCopy = new Bytes(1024);
  private byte[] valueRead = new byte[1024];
  private HoldfastIterator records;
  // Since the budget was told last, and what it was told.
  private long writtenBytes;
  private long toldBytes;

  /** `place`: where it is. Throws if the budget does not have what the store takes; the store is the caller's then. */
  StateStore(HoldfastStore store, Path directory, StatePlace place) {
    this.store = store;
    this.directory = directory;
    this.place = place;
    try {
      checkBudget();
    } catch (RuntimeException failure) {
      place.budget().add(-toldBytes);
      throw failure;
    }
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
    try {
      return store.get(key);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
  }

  // ---- For the task's thread: keys and values in the first bytes of arrays, which are copied ----

  /** The length of the value, which lies in {@link #valueRead}; or ABSENT. */
  int read(byte[] key, int keyCount) {
    try {
      return copied(key, keyCount);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
  }

  private int copied(byte[] key, int keyCount) {
    final long at = keyCopy.set(key, 0, keyCount);
    long bytes = store.get(at, keyCount, valueCopy.address(), valueCopy.capacity());
    if (bytes == HoldfastStore.ABSENT) return ABSENT;
    if (bytes > LARGEST_COPY_BYTES) {
      valueRead = store.get(Arrays.copyOf(key, keyCount));
      return valueRead.length;
    }
    if (bytes > valueCopy.capacity()) {
      valueCopy.ensure(bytes);
      bytes = store.get(at, keyCount, valueCopy.address(), valueCopy.capacity());
    }
    final int count = (int) bytes;
    if (valueRead.length < count) valueRead = new byte[Math.max(count, 2 * valueRead.length)];
    valueCopy.buffer().get(0, valueRead, 0, count);
    return count;
  }

  byte[] valueRead() {
    return valueRead;
  }

  void write(byte[] key, int keyCount, byte[] value, int valueCount) {
    if (valueCount > LARGEST_COPY_BYTES) {
      put(Arrays.copyOf(key, keyCount), Arrays.copyOf(value, valueCount));
      return;
    }
    final long at = keyCopy.set(key, 0, keyCount);
    try {
      store.put(at, keyCount, valueCopy.set(value, 0, valueCount), valueCount, 0);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
    wrote(keyCount + valueCount);
  }

  void writeBehind(byte[] key, int keyCount, byte[] value, int valueCount) {
    if (valueCount > LARGEST_COPY_BYTES) {
      append(Arrays.copyOf(key, keyCount), Arrays.copyOf(value, valueCount));
      return;
    }
    final long at = keyCopy.set(key, 0, keyCount);
    try {
      store.append(at, keyCount, valueCopy.set(value, 0, valueCount), valueCount, 0);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
    wrote(keyCount + valueCount);
  }

  void erase(byte[] key, int keyCount) {
    try {
      store.erase(keyCopy.set(key, 0, keyCount), keyCount, 0);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
  }

  // ---- For any thread ----

  void put(byte[] key, byte[] value) {
    try {
      store.put(key, value);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
    wrote(key.length + value.length);
  }

  void erase(byte[] key) {
    try {
      store.erase(key);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
  }

  void append(byte[] key, byte[] bytes) {
    try {
      store.append(key, bytes);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
    wrote(key.length + bytes.length);
  }

  // ---- Memory ----

  private void wrote(int bytes) {
    writtenBytes += bytes + RECORD_OVERHEAD_BYTES;
    if (writtenBytes >= BYTES_BETWEEN_CHECKS) checkBudget();
  }

  private void checkBudget() {
    writtenBytes = 0;
    final HoldfastStats stats = store.stats();
    // In files the medium is the system's page cache.
    final long bytes = stats.dramBytes() + (place.inMemory() ? stats.mediumBytes() : 0);
    final long more = bytes - toldBytes;
    toldBytes = bytes;
    if (place.budget().add(more) || more <= 0) return;
    throw new FlinkRuntimeException(
        "HF_NO_SPACE: the keyed state of "
            + place.name()
            + " takes "
            + bytes
            + " bytes, and all of its slot "
            + place.budget().bytes()
            + ", more than its budget of "
            + place.budget().mostBytes()
            + ". "
            + place.moreMemory());
  }

  MemoryBudget budget() {
    return place.budget();
  }

  HoldfastStats stats() {
    return store.stats();
  }

  long countPrefix(byte[] prefix) {
    return store.countPrefix(prefix);
  }

  void erasePrefix(byte[] prefix) {
    try {
      store.erasePrefix(prefix);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
  }

  /** Whether a key begins with `prefix`. */
  boolean any(byte[] prefix) {
    return !read(prefix, null, 1).all().isEmpty();
  }

  /**
   * Up to `most` records whose keys begin with `prefix`, in order, behind the key `after`; null: from the first on. Fewer,
   * but one at least, where they are large.
   */
  Entries read(byte[] prefix, byte[] after, int most) {
    if (records == null) records = store.iterator();
    return read(records, prefix, after, most);
  }

  /** The same for any thread. */
  Entries readElsewhere(byte[] prefix, byte[] after, int most) {
    try (HoldfastIterator own = store.iterator()) {
      return read(own, prefix, after, most);
    }
  }

  private static Entries read(
      HoldfastIterator records, byte[] prefix, byte[] after, int most) {
    if (after == null) records.first(prefix, most);
    else records.seek(Arrays.copyOf(after, after.length + 1), most); // The least key behind it.
    final List<Entry> found = new ArrayList<>();
    long bytes = 0;
    for (; records.valid(); records.next()) {
      final byte[] key = records.key(), value = records.value();
      if (!beginsWith(key, prefix)) return new Entries(found, false);
      found.add(new Entry(key, value));
      bytes += key.length + value.length;
      if (bytes >= BYTES_AT_ONCE) return new Entries(found, true);
    }
    return new Entries(found, found.size() == most);
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
    try {
      store.importCheckpoint(privatePart, runs, prefixes);
    } catch (HoldfastException failure) {
      throw place.named(failure);
    }
    checkBudget();
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
    try {
      store.close();
    } finally {
      place.budget().add(-toldBytes);
      toldBytes = 0;
      removeFiles();
    }
  }

  private void removeFiles() {
    if (directory == null) return;
    try {
      FileUtils.deleteDirectory(directory.toFile());
    } catch (IOException exception) {
      throw new UncheckedIOException(exception);
    }
  }
}
