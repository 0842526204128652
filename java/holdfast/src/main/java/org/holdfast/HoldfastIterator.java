package org.holdfast;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Records in the order of their keys, compared as unsigned bytes. Fetches many by one native call.
 *
 * <pre>{@code
 * try (HoldfastIterator records = store.iterator()) {
 *   for (records.first(prefix); records.valid(); records.next()) use(records.key(), records.value());
 * }
 * }</pre>
 *
 * <p>A caller that wants few records says how many: then no more are fetched.
 *
 * <p>Of a live store: each record as it was when its group was fetched. It goes before its store is closed. Its memory is
 * for the next iterator of the thread that moved it, if that closes it.
 *
 * <p>Threads: one at a time. Another one may close it meanwhile: that waits for a call of native code that is under way, and
 * then the user is told.
 */
public final class HoldfastIterator implements AutoCloseable {
  private static final int FIRST_GROUP_BYTES = 4 << 10;
  private static final int HEADER_BYTES = 24;
  private static final long ALL = Long.MAX_VALUE;
  private static final ThreadLocal<Bytes> SOUGHT = ThreadLocal.withInitial(() -> new Bytes(256));

  private long handle;
  // Null: it was closed.
  private Bytes group = SpareBytes.take(FIRST_GROUP_BYTES);
  // The present record as it would be in the group, where it is large; else null.
  private byte[] large;
  // Of the present record in the group, and where the group ends.
  private int at;
  private int end;
  // Whether the native iterator stands behind the group.
  private boolean more;
  // How many records are wanted, the present one included.
  private long wanted;
  // The thread that moved it last, and may be reading a record.
  private Thread user;

  HoldfastIterator(long handle) {
    this.handle = handle;
  }

  /** To the first record whose key begins with `prefix`; it ends with these. */
  public void first(byte[] prefix) {
    first(prefix, ALL);
  }

  /** The same, and it ends behind `most` records, at least 1. */
  public synchronized void first(byte[] prefix, long most) {
    wanted = wanted(most);
    moved(Native.iterFirst(handle(), SOUGHT.get().setKey(prefix), prefix.length));
  }

  /** To the first record whose key is not below `key`. */
  public void seek(byte[] key) {
    seek(key, ALL);
  }

  /** The same, and it ends behind `most` records, at least 1. */
  public synchronized void seek(byte[] key, long most) {
    wanted = wanted(most);
    moved(Native.iterSeek(handle(), SOUGHT.get().setKey(key), key.length));
  }

  public boolean valid() {
    return at < end;
  }

  /** At no record nothing happens. */
  public void next() {
    if (at >= end) return;
    at += packedBytes();
    large = null;
    --wanted;
    if (at >= end && more && wanted > 0) fetchMore();
  }

  /** Where the key of the present record lies, until the iterator moves. At no record this and the following throw. */
  public long keyAddress() {
    return present().address() + at + HEADER_BYTES;
  }

  public int keyBytes() {
    return header().getInt(at);
  }

  public long valueAddress() {
    return keyAddress() + keyBytes();
  }

  public int valueBytes() {
    return (int) header().getLong(at + 8);
  }

  public byte[] key() {
    return copy(at + HEADER_BYTES, keyBytes());
  }

  public byte[] value() {
    return copy(at + HEADER_BYTES + keyBytes(), valueBytes());
  }

  /** Key and value side by side, read-only, until the iterator moves. */
  public ByteBuffer record() {
    return present()
        .buffer()
        .slice(at + HEADER_BYTES, keyBytes() + valueBytes())
        .asReadOnlyBuffer();
  }

  @Override
  public synchronized void close() {
    if (handle == 0) return;
    Native.iterClose(handle);
    handle = 0;
    at = end = 0;
    large = null;
    // Another iterator's records must not overwrite one that its user still reads.
    if (user == null || user == Thread.currentThread()) SpareBytes.give(group);
    group = null;
  }

  private static long wanted(long most) {
    if (most < 1) {
      throw HoldfastException.invalid(
          "most=" + most + "; an iterator ends behind 1 record or more");
    }
    return most;
  }

  /** A large record comes into the group only where its address is wanted. */
  private Bytes present() {
    final Bytes present = group;
    if (!valid() || present == null) throw new IllegalStateException("the iterator is at no record");
    if (large != null) present.set(large);
    large = null;
    return present;
  }

  private ByteBuffer header() {
    final byte[] record = large;
    return record == null ? present().buffer() : ByteBuffer.wrap(record).order(ByteOrder.LITTLE_ENDIAN);
  }

  private byte[] copy(int from, int count) {
    final byte[] record = large;
    if (record != null) return Arrays.copyOfRange(record, from, from + count);
    final byte[] bytes = new byte[count];
    present().buffer().get(from, bytes);
    return bytes;
  }

  private int packedBytes() {
    return (HEADER_BYTES + keyBytes() + valueBytes() + 7) & ~7;
  }

  private synchronized void fetchMore() {
    handle(); // It is not closed.
    // A short scan takes little memory, a long one few calls.
    group.ensure(Math.min(SpareBytes.LARGEST, 4L * group.capacity()));
    fetch();
  }

  private void moved(int code) {
    user = Thread.currentThread();
    at = end = 0;
    more = code == 0;
    if (code != 0 && code != HoldfastStore.ABSENT) Native.checked(code);
    if (more) fetch();
  }

  private void fetch() {
    at = end = 0; // At no record, if this throws.
    large = null;
    final int most = wanted > Integer.MAX_VALUE ? 0 : (int) wanted; // 0: any number.
    long used = Native.iterFill(handle(), group.address(), group.capacity(), most);
    if (used == -HoldfastException.TOO_LARGE) {
      final long bytes = Native.checked(Native.iterRecordBytes(handle));
      used = bytes > LargeBytes.FROM ? fetchLarge(bytes) : fetchInto(group.ensure(bytes), most);
    }
    end = (int) Native.checked(used);
    more = end != 0;
  }

  private long fetchInto(Bytes to, int most) {
    return Native.iterFill(handle, to.address(), to.capacity(), most);
  }

  /** One record. */
  private long fetchLarge(long bytes) {
    try (LargeBytes memory = new LargeBytes(bytes)) {
      final long used = Native.iterFill(handle, memory.address(), (int) bytes, 1);
      if (used > 0) large = memory.get((int) used);
      return used;
    }
  }

  private long handle() {
    if (handle == 0) {
      throw new HoldfastException(HoldfastException.CLOSED, "HF_CLOSED: the iterator was closed");
    }
    return handle;
  }
}
