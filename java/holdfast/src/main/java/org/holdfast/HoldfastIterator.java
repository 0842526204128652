package org.holdfast;

import java.nio.ByteBuffer;

/**
 * Records in the order of their keys, compared as unsigned bytes. Fetches many by one native call.
 *
 * <pre>{@code
 * try (HoldfastIterator records = store.iterator()) {
 *   for (records.first(prefix); records.valid(); records.next()) use(records.key(), records.value());
 * }
 * }</pre>
 *
 * <p>Of a live store: each record as it was when its group was fetched. From one thread at a time. It goes before its
 * store is closed.
 */
public final class HoldfastIterator implements AutoCloseable {
  private static final int GROUP_BYTES = 64 << 10;
  private static final int HEADER_BYTES = 24;

  private final Bytes keyBytes = new Bytes(256);
  private final Bytes group = new Bytes(4 << 10);
  private long handle;
  // Of the present record in the group, and where the group ends.
  private int at;
  private int end;
  // Whether the native iterator stands behind the group.
  private boolean more;

  HoldfastIterator(long handle) {
    this.handle = handle;
  }

  /** To the first record whose key begins with `prefix`; it ends with these. */
  public void first(byte[] prefix) {
    moved(Native.iterFirst(handle(), keyBytes.set(prefix), prefix.length));
  }

  /** To the first record whose key is not below `key`. */
  public void seek(byte[] key) {
    moved(Native.iterSeek(handle(), keyBytes.set(key), key.length));
  }

  public boolean valid() {
    return at < end;
  }

  /** At no record nothing happens. */
  public void next() {
    if (at >= end) return;
    at += packedBytes();
    if (at >= end && more) fetch();
  }

  /** Where the key of the present record lies, until the iterator moves. It must be at one. */
  public long keyAddress() {
    return group.address() + at + HEADER_BYTES;
  }

  public int keyBytes() {
    return group.buffer().getInt(at);
  }

  public long valueAddress() {
    return keyAddress() + keyBytes();
  }

  public int valueBytes() {
    return (int) group.buffer().getLong(at + 8);
  }

  public byte[] key() {
    return copy(at + HEADER_BYTES, keyBytes());
  }

  public byte[] value() {
    return copy(at + HEADER_BYTES + keyBytes(), valueBytes());
  }

  /** Key and value side by side, read-only, until the iterator moves. */
  public ByteBuffer record() {
    return group
        .buffer()
        .slice(at + HEADER_BYTES, keyBytes() + valueBytes())
        .asReadOnlyBuffer();
  }

  @Override
  public void close() {
    if (handle != 0) Native.iterClose(handle);
    handle = 0;
    at = end = 0;
  }

  private byte[] copy(int from, int count) {
    if (!valid()) throw new IllegalStateException("the iterator is at no record");
    final byte[] bytes = new byte[count];
    group.buffer().get(from, bytes);
    return bytes;
  }

  private int packedBytes() {
    return (HEADER_BYTES + keyBytes() + valueBytes() + 7) & ~7;
  }

  private void moved(int code) {
    at = end = 0;
    more = code == 0;
    if (code != 0 && code != HoldfastStore.ABSENT) Native.checked(code);
    if (more) fetch();
  }

  private void fetch() {
    at = 0;
    long used = Native.iterFill(handle(), group.address(), group.capacity(), 0);
    if (used == -HoldfastException.TOO_LARGE) {
      group.ensure(Native.checked(Native.iterRecordBytes(handle)));
      used = Native.iterFill(handle, group.address(), group.capacity(), 0);
    }
    end = (int) Native.checked(used);
    more = end != 0;
    if (more && end > group.capacity() / 2) growForNext();
  }

  // A short scan takes little memory, a long one few calls. The group must not move while it is read.
  private void growForNext() {
    if (group.capacity() >= GROUP_BYTES) return;
    final byte[] kept = new byte[end];
    group.buffer().get(0, kept);
    group.ensure(4L * group.capacity());
    group.buffer().put(0, kept);
  }

  private long handle() {
    if (handle == 0) {
      throw new HoldfastException(HoldfastException.CLOSED, "HF_CLOSED: the iterator was closed");
    }
    return handle;
  }
}
