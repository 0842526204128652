package org.holdfast.flink;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What the caches of all states of this process may take of its heap, together. Each of them has places enough for its state
 * alone; a TaskManager has hundreds of states. The states that come first get room; a state that gets none has no
 * cache.
 *
 * <p>Threads: any.
 */
final class CacheHeap {
  // Of the heap.
  private static final int SHARE = 8;
  static final CacheHeap OF_PROCESS = new CacheHeap(Runtime.getRuntime().maxMemory() / SHARE);
  static final CacheHeap UNLIMITED = new CacheHeap(Long.MAX_VALUE);

  private final long mostBytes;
  private final AtomicLong takenBytes = new AtomicLong();

  CacheHeap(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  long takenBytes() {
    return takenBytes.get();
  }

  /** Whether there were so many bytes; they are taken then. */
  boolean take(long bytes) {
    if (takenBytes.addAndGet(bytes) <= mostBytes) return true;
    give(bytes);
    return false;
  }

  void give(long bytes) {
    takenBytes.addAndGet(-bytes);
  }
}
