package org.holdfast;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * A store at one moment, as runs that never change and a small private part. What an earlier checkpoint had under the same
 * name need not be copied again. The runs are held until it is closed. Threads: any, one after the other; closing waits for
 * the call that is under way.
 */
public final class HoldfastCheckpoint implements AutoCloseable {
  private long handle;

  HoldfastCheckpoint(long handle) {
    this.handle = handle;
  }

  public synchronized Run[] runs() {
    final int count = (int) Native.checked(Native.checkpointRuns(handle(), 0, 0));
    final Bytes runs = SpareBytes.take(Math.multiplyExact(count, Run.NATIVE_BYTES));
    Native.checked(Native.checkpointRuns(handle(), runs.address(), count));
    final Run[] all = Run.unpack(runs, count);
    SpareBytes.give(runs);
    return all;
  }

  /** The bytes of the run `number` into a direct buffer that has exactly so many. */
  public synchronized void read(int number, ByteBuffer to) {
    if (!to.isDirect() || to.isReadOnly()) {
      throw new IllegalArgumentException("a direct buffer that may be written is needed");
    }
    final long address = Native.addressOf(to);
    try {
      Native.checked(
          Native.checkpointRead(handle(), number, address + to.position(), to.remaining()));
    } finally {
      Reference.reachabilityFence(to);
    }
  }

  /** The same into an array, for large ones. */
  public synchronized void read(int number, byte[] to) {
    try (LargeBytes run = new LargeBytes(to.length)) {
      Native.checked(Native.checkpointRead(handle(), number, run.address(), to.length));
      Native.copyOut(run.address(), to);
    }
  }

  public synchronized byte[] privatePart() {
    final Bytes part = SpareBytes.take(SpareBytes.LARGEST);
    for (; ; ) {
      final long bytes =
          Native.checked(Native.checkpointPrivate(handle(), part.address(), part.capacity()));
      if (bytes <= part.capacity()) {
        final byte[] copy = part.get((int) bytes);
        SpareBytes.give(part);
        return copy;
      }
      part.ensure(bytes);
    }
  }

  /** The runs that a private part names. */
  public static Run[] runsOf(byte[] privatePart) {
    final Bytes part = new Bytes(privatePart.length);
    final long at = part.set(privatePart);
    final int count = (int) Native.checked(Native.privateRuns(at, privatePart.length, 0, 0));
    final Bytes runs = new Bytes(count * Run.NATIVE_BYTES);
    Native.checked(Native.privateRuns(at, privatePart.length, runs.address(), count));
    part.keep();
    return Run.unpack(runs, count);
  }

  @Override
  public synchronized void close() {
    if (handle != 0) Native.checkpointEnd(handle);
    handle = 0;
  }

  private long handle() {
    if (handle == 0) {
      throw new HoldfastException(HoldfastException.CLOSED, "HF_CLOSED: the checkpoint was closed");
    }
    return handle;
  }
}
