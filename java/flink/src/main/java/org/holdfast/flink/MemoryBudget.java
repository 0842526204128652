package org.holdfast.flink;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What the stores of a slot take of its managed memory, together. Each says how much it takes now and then, so that they may
 * be above the limit for a moment, by what they wrote meanwhile.
 *
 * <p>Threads: any.
 */
final class MemoryBudget implements AutoCloseable {
  /** Nobody gave one. */
  static final MemoryBudget UNLIMITED = new MemoryBudget(Long.MAX_VALUE);

  private final long mostBytes;
  private final AtomicLong bytes = new AtomicLong();

  MemoryBudget(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  long mostBytes() {
    return mostBytes;
  }

  long bytes() {
    return bytes.get();
  }

  /** Whether all together are within the limit, where one takes so many bytes more than it said last. */
  boolean add(long more) {
    return bytes.addAndGet(more) <= mostBytes;
  }

  /** Of the slot's memory manager, when the last of its operators gives it back. */
  @Override
  public void close() {}
}
