package org.holdfast;

import java.util.Objects;

/**
 * An embedded, durable key-value store: holdfast.h for Java.
 *
 * <pre>{@code
 * try (HoldfastStore store = HoldfastStore.open("/mnt/pmem/users", new HoldfastOptions())) {
 *   store.put("ada".getBytes(UTF_8), "lovelace".getBytes(UTF_8));
 *   byte[] name = store.get("ada".getBytes(UTF_8)); // Null: there is none.
 * }
 * }</pre>
 *
 * <p>A put that returned survives the death of the process, and a loss of power where the medium can do that
 * (docs/durability.md).
 *
 * <p>Each verb has two forms. The one with arrays copies them through memory of the thread. The one with addresses takes
 * bytes where they lie outside of the heap ({@link Bytes}, a direct buffer) and costs a call of native code, no more.
 *
 * <p>Threads: all from any. {@link #close} waits for the calls that are under way; what is called behind it throws, with
 * code {@link HoldfastException#CLOSED}. Snapshots, iterators and checkpoints go before the store, and imports end before:
 * close() throws BUSY otherwise, and the store stays open.
 *
 * <p>Errors: {@link HoldfastException}.
 */
public final class HoldfastStore implements AutoCloseable {
  /** Flags of a write. */
  public static final int DURABLE_PROCESS = 1;

  public static final int DURABLE_POWER = 2;
  public static final int RENEW = 4;

  /** What get() with addresses returns where there is no such key. */
  public static final long ABSENT = -HoldfastException.NOT_FOUND;

  /** Functions of merge(). Numbers have 8 bytes, little-endian. */
  public enum Merge {
    APPEND,
    ADD,
    ADD_DOUBLE,
    MIN,
    MAX,
    MIN_UNSIGNED,
    MAX_UNSIGNED,
    OR
  }

  // What arrays are copied through.
  private static final class Scratch {
    final Bytes key = new Bytes(256), value = new Bytes(1024);
  }

  private static final ThreadLocal<Scratch> SCRATCH = ThreadLocal.withInitial(Scratch::new);
  private static final int STATS_FIELDS = 22;

  // Good for ever: native code knows whether the store behind it was closed.
  private final long handle;
  private volatile boolean open = true;

  private HoldfastStore(long handle) {
    this.handle = handle;
  }

  /** `spec`: a path, or another region (docs/kv.md). */
  public static HoldfastStore open(String spec, HoldfastOptions options) {
    final Bytes text = new Bytes(0);
    final long at = text.setText(spec);
    try {
      return new HoldfastStore(options.use(native_ -> Native.open(at, native_)));
    } finally {
      text.keep();
    }
  }

  /** Throws BUSY while something of the store is open. Closing twice is closing once. */
  @Override
  public void close() {
    final int code = Native.close(handle);
    if (code == -Native.HELD) {
      throw new HoldfastException(
          HoldfastException.BUSY, "HF_BUSY: an import into the store is under way; close it later");
    }
    if (code != -HoldfastException.BUSY) open = false;
    Native.checked(code);
  }

  public boolean isOpen() {
    return open;
  }

  long handle() {
    return handle;
  }

  // ---- Records, by arrays ----

  public void put(byte[] key, byte[] value) {
    final Scratch scratch = SCRATCH.get();
    if (value.length > LargeBytes.FROM) {
      try (LargeBytes large = LargeBytes.of(value)) {
        put(scratch.key.setKey(key), key.length, large.address(), value.length, 0);
      }
      return;
    }
    put(scratch.key.setKey(key), key.length, scratch.value.set(value), value.length, 0);
  }

  /** Null: there is none. */
  public byte[] get(byte[] key) {
    final Scratch scratch = SCRATCH.get();
    final long at = scratch.key.setKey(key);
    for (; ; ) {
      final Bytes value = scratch.value;
      final long bytes = get(at, key.length, value.address(), value.capacity());
      if (bytes == ABSENT) return null;
      if (bytes <= value.capacity()) return value.get((int) bytes);
      if (bytes > LargeBytes.FROM) {
        return LargeBytes.read(bytes, (buffer, capacity) -> get(at, key.length, buffer, capacity));
      }
      value.ensure(bytes);
    }
  }

  /** Whether there was one. */
  public boolean erase(byte[] key) {
    return erase(SCRATCH.get().key.setKey(key), key.length, 0);
  }

  /** Adds behind the value, in O(bytes added); an absent key gets `bytes`. */
  public void append(byte[] key, byte[] bytes) {
    final Scratch scratch = SCRATCH.get();
    if (bytes.length > LargeBytes.FROM) {
      try (LargeBytes large = LargeBytes.of(bytes)) {
        append(scratch.key.setKey(key), key.length, large.address(), bytes.length, 0);
      }
      return;
    }
    append(scratch.key.setKey(key), key.length, scratch.value.set(bytes), bytes.length, 0);
  }

  public void merge(byte[] key, Merge function, byte[] operand) {
    final Scratch scratch = SCRATCH.get();
    if (operand.length > LargeBytes.FROM) {
      try (LargeBytes large = LargeBytes.of(operand)) {
        merge(scratch.key.setKey(key), key.length, function, large.address(), operand.length);
      }
      return;
    }
    merge(
        scratch.key.setKey(key), key.length, function, scratch.value.set(operand), operand.length);
  }

  private void merge(long key, int keyBytes, Merge function, long operand, int count) {
    Native.checked(
        Native.merge(handle(), key, keyBytes, function.ordinal(), operand, count, 0));
  }

  // ---- Records, by addresses ----

  /** True: there was none of this key; on plain files it may be not known, and false. */
  public boolean put(long key, int keyBytes, long value, int valueBytes, int flags) {
    return Native.checked(Native.put(handle(), key, keyBytes, value, valueBytes, flags)) == 1;
  }

  /** Copies as much as has room, and returns the value's full length, or ABSENT. */
  public long get(long key, int keyBytes, long buffer, int capacity) {
    Native.refuseNegative("capacity", capacity);
    final long bytes = Native.get(handle, key, keyBytes, buffer, capacity);
    return bytes >= 0 || bytes == ABSENT ? bytes : Native.checked(bytes);
  }

  public boolean erase(long key, int keyBytes, int flags) {
    return Native.checked(Native.erase(handle(), key, keyBytes, flags)) != 0;
  }

  public void append(long key, int keyBytes, long bytes, int count, int flags) {
    Native.checked(Native.append(handle(), key, keyBytes, bytes, count, flags));
  }

  /** Packed keys and values, with `int` lengths of keys and `long` lengths of values. Shares fences; not atomic. */
  public void putMany(int count, long keys, long keyBytes, long values, long valueBytes) {
    Native.refuseNegative("count", count);
    Native.checked(Native.putMany(handle(), count, keys, keyBytes, values, valueBytes, 0));
  }

  /**
   * Looks up the first keys, as many as have room for their values, and returns how many. `codes` has an `int` each: 0 or
   * NOT_FOUND.
   */
  public int getMany(
      int count,
      long keys,
      long keyBytes,
      long buffer,
      int capacity,
      long valueBytes,
      long codes) {
    Native.refuseNegative("count", count);
    Native.refuseNegative("capacity", capacity);
    return (int)
        Native.checked(
            Native.getMany(
                handle(), count, keys, keyBytes, buffer, capacity, valueBytes, codes));
  }

  // ---- Order; the option order=true ----

  public long countPrefix(byte[] prefix) {
    return Native.checked(
        Native.countPrefix(handle(), SCRATCH.get().key.setKey(prefix), prefix.length));
  }

  /** Not at once: an exception leaves a part. Returns how many. */
  public long erasePrefix(byte[] prefix) {
    return Native.checked(
        Native.erasePrefix(handle(), SCRATCH.get().key.setKey(prefix), prefix.length, 0));
  }

  public HoldfastIterator iterator() {
    return new HoldfastIterator(Native.checked(Native.iterOpen(handle())));
  }

  public HoldfastSnapshot snapshot() {
    return new HoldfastSnapshot(Native.checked(Native.snapshotOpen(handle())));
  }

  // ---- Checkpoints ----

  public HoldfastCheckpoint checkpoint() {
    return new HoldfastCheckpoint(Native.checked(Native.checkpointBegin(handle())));
  }

  /** Makes the store of a checkpoint anew where nothing may be, and leaves it closed. */
  public static void restore(
      String spec, byte[] privatePart, RunReader runs, HoldfastOptions options) {
    Objects.requireNonNull(runs, "runs");
    final Bytes text = new Bytes(0), part = new Bytes(privatePart.length);
    final long at = text.setText(spec), partAt = part.set(privatePart);
    try {
      options.use(native_ -> Native.restore(at, partAt, privatePart.length, runs, native_));
    } finally {
      text.keep();
      part.keep();
    }
  }

  /** The same, and opens it: of use where what is closed is gone ("dram"). */
  public static HoldfastStore restoreOpen(
      String spec, byte[] privatePart, RunReader runs, HoldfastOptions options) {
    Objects.requireNonNull(runs, "runs");
    final Bytes text = new Bytes(0), part = new Bytes(privatePart.length);
    final long at = text.setText(spec), partAt = part.set(privatePart);
    try {
      return new HoldfastStore(
          options.use(
              native_ -> Native.restoreOpen(at, partAt, privatePart.length, runs, native_)));
    } finally {
      text.keep();
      part.keep();
    }
  }

  /** Puts the records of a checkpoint whose keys begin with one of the prefixes; none given: all. Returns how many. */
  public long importCheckpoint(byte[] privatePart, RunReader runs, byte[]... prefixes) {
    Objects.requireNonNull(runs, "runs");
    final Bytes part = new Bytes(privatePart.length);
    final KeyRanges ranges = KeyRanges.ofPrefixes(prefixes);
    try {
      return Native.checked(
          Native.importCheckpoint(
              handle(),
              part.set(privatePart),
              privatePart.length,
              runs,
              ranges.address(),
              prefixes.length));
    } finally {
      part.keep();
      ranges.keep();
    }
  }

  // ---- Upkeep ----

  /** What was acknowledged before survives a loss of power when it returns. */
  public void sync() {
    Native.checked(Native.sync(handle()));
  }

  public long count() {
    return Native.checked(Native.count(handle()));
  }

  public void reclaim() {
    Native.checked(Native.reclaim(handle()));
  }

  /** Reads and checks everything; throws CORRUPT for what is damaged. */
  public void verify() {
    Native.checked(Native.verify(handle()));
  }

  public HoldfastStats stats() {
    final Bytes stats = new Bytes(8 * (1 + STATS_FIELDS));
    stats.buffer().putLong(0, 8L * (1 + STATS_FIELDS));
    Native.checked(Native.stats(handle(), stats.address()));
    return new HoldfastStats(stats);
  }

  /**
   * Records whose key begins with `prefix` end when the clock reaches the stamp at `offset` of the value + ttl.
   * `width`: 4 or 8. docs/expiry.md.
   */
  public void expire(byte[] prefix, int offset, int width, boolean bigEndian, long ttl) {
    Native.refuseNegative("offset", offset);
    Native.refuseNegative("ttl", ttl);
    Native.checked(
        Native.expire(
            handle(),
            SCRATCH.get().key.setKey(prefix),
            prefix.length,
            offset,
            width,
            bigEndian ? 1 : 0,
            ttl));
  }

  public void setClock(long now) {
    Native.refuseNegative("now", now);
    Native.checked(Native.setClock(handle(), now));
  }
}
