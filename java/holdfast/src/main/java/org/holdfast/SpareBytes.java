package org.holdfast;

import java.util.ArrayDeque;

/**
 * Memory that closed iterators, and checkpoints, leave for the next ones of the same thread. The JVM gives memory outside of the heap back
 * only when it collects, and collects everything when there is too much of it: an iterator for each short scan must not
 * take its own.
 */
final class SpareBytes {
  /** Larger ones, made for a large value, are not kept. */
  static final int LARGEST = 64 << 10;

  private static final int MOST = 4;
  private static final ThreadLocal<ArrayDeque<Bytes>> SPARE = ThreadLocal.withInitial(ArrayDeque::new);

  private SpareBytes() {}

  /** At least so many bytes. */
  static Bytes take(int capacity) {
    final Bytes spare = SPARE.get().poll();
    return spare == null ? new Bytes(capacity) : spare.ensure(capacity);
  }

  static void give(Bytes bytes) {
    final ArrayDeque<Bytes> spare = SPARE.get();
    if (bytes.capacity() <= LARGEST && spare.size() < MOST) spare.push(bytes);
  }
}
