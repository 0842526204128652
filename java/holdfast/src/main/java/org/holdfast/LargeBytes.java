package org.holdfast;

/**
 * Memory outside of the heap for one large value or message, for the time of a call. It is not that of direct buffers: of
 * that the JVM gives little, which others need, too, and what it gave comes back only when it collects.
 */
final class LargeBytes implements AutoCloseable {
  /** What is larger comes here. */
  static final int FROM = 1 << 20;

  private long address;

  LargeBytes(long bytes) {
    if (bytes > Integer.MAX_VALUE - 8) {
      throw new HoldfastException(
          HoldfastException.TOO_LARGE,
          "HF_TOO_LARGE: " + bytes + " bytes; an array of Java has at most " + (Integer.MAX_VALUE - 8));
    }
    address = Native.allocate(bytes);
    if (address == 0) {
      throw new HoldfastException(
          HoldfastException.NO_SPACE, "HF_NO_SPACE: no memory for a value of " + bytes + " bytes");
    }
  }

  static LargeBytes of(byte[] bytes) {
    final LargeBytes copy = new LargeBytes(bytes.length);
    Native.copyIn(bytes, copy.address);
    return copy;
  }

  /** A verb that copies as much of a value as has room, and returns its full length or ABSENT. */
  @FunctionalInterface
  interface Reader {
    long read(long buffer, int capacity);
  }

  /** Null: there is none. `bytes`: what the value had just now. */
  static byte[] read(long bytes, Reader reader) {
    for (long room = bytes; ; ) {
      try (LargeBytes large = new LargeBytes(room)) {
        final long found = reader.read(large.address, (int) room);
        if (found == HoldfastStore.ABSENT) return null;
        if (found <= room) return large.get((int) found);
        room = found;
      }
    }
  }

  long address() {
    return address;
  }

  /** The first `count` bytes. */
  byte[] get(int count) {
    final byte[] bytes = new byte[count];
    Native.copyOut(address, bytes);
    return bytes;
  }

  @Override
  public void close() {
    Native.release(address);
    address = 0;
  }
}
