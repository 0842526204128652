package org.holdfast.flink;

import java.io.Closeable;
import java.nio.ByteBuffer;
import java.util.concurrent.ArrayBlockingQueue;
import org.holdfast.HoldfastCheckpoint;

/**
 * Memory outside of the heap that the runs of a checkpoint pass through, one at a time. The JVM gives such memory back only
 * when it collects, and collects everything when there is too much of it: so it goes from one checkpoint to the next, of
 * whichever operator. For one thread; made and closed from any.
 */
final class RunBuffer implements Closeable {
  private static final int LEAST_BYTES = 256 << 10;
  // Those of a large value are larger, and come on the heap: of other memory there is little.
  private static final int LARGEST_BYTES = 4 << 20;
  private static final ArrayBlockingQueue<ByteBuffer> SPARE = new ArrayBlockingQueue<>(4);

  // Null: none was needed yet.
  private ByteBuffer buffer;

  /** The bytes of the run `place`, between position and limit, until the next call. */
  ByteBuffer read(HoldfastCheckpoint checkpoint, int place, long bytes) {
    final int count = Math.toIntExact(bytes);
    if (count > LARGEST_BYTES) {
      final byte[] run = new byte[count];
      checkpoint.read(place, run);
      return ByteBuffer.wrap(run);
    }
    if (buffer == null) buffer = SPARE.poll();
    if (buffer == null || buffer.capacity() < count) {
      buffer = ByteBuffer.allocateDirect(Math.max(count, LEAST_BYTES));
    }
    buffer.clear().limit(count);
    checkpoint.read(place, buffer);
    return buffer;
  }

  @Override
  public void close() {
    if (buffer != null) SPARE.offer(buffer);
    buffer = null;
  }
}
