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
    final long at = keyBytes.set(key);
    for (; ; ) {
      final long bytes =
          Native.snapshotGet(
              handle(), at, key.length, valueBytes.address(), valueBytes.capacity());
      if (bytes == HoldfastStore.ABSENT) return null;
      Native.checked(bytes);
      if (bytes <= valueBytes.capacity()) return valueBytes.get((int) bytes);
      valueBytes.ensure(bytes);
    }
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
