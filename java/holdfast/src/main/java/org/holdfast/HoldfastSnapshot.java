package org.holdfast;

/** Every record as it was when the snapshot was taken, while writes go on. Threads: any; closing waits for calls under way. */
public final class HoldfastSnapshot implements AutoCloseable {
  private final Bytes keyBytes = new Bytes(256);
  private final Bytes valueBytes = new Bytes(1024);
  private long handle;

  HoldfastSnapshot(long handle) {
    this.handle = handle;
  }

  /** Null: there was none. */
  public synchronized byte[] get(byte[] key) {
    final long at = keyBytes.setKey(key);
    final long bytes = get(at, key.length, valueBytes.address(), valueBytes.capacity());
    if (bytes == HoldfastStore.ABSENT) return null;
    if (bytes <= valueBytes.capacity()) return valueBytes.get((int) bytes);
    if (bytes > LargeBytes.FROM) {
      return LargeBytes.read(bytes, (buffer, capacity) -> get(at, key.length, buffer, capacity));
    }
    valueBytes.ensure(bytes); // It does not change.
    get(at, key.length, valueBytes.address(), valueBytes.capacity());
    return valueBytes.get((int) bytes);
  }

  private long get(long key, int keyCount, long buffer, int capacity) {
    final long bytes = Native.snapshotGet(handle(), key, keyCount, buffer, capacity);
    return bytes == HoldfastStore.ABSENT ? bytes : Native.checked(bytes);
  }

  /** In order; of a store with order=true. It may outlive the snapshot, which it then keeps. */
  public synchronized HoldfastIterator iterator() {
    return new HoldfastIterator(Native.checked(Native.iterOpenSnapshot(handle())));
  }

  @Override
  public synchronized void close() {
    if (handle != 0) Native.snapshotClose(handle);
    handle = 0;
  }

  private long handle() {
    if (handle == 0) {
      throw new HoldfastException(HoldfastException.CLOSED, "HF_CLOSED: the snapshot was closed");
    }
    return handle;
  }
}
