package org.holdfast;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The functions of libholdfast_jni.so: holdfast.h, a line each. Bytes are addresses outside of the heap and lengths.
 * What returns a number returns it, or a code below zero: {@link #checked}.
 */
final class Native {
  private Native() {}

  static {
    NativeLibrary.load();
  }

  // Beside the codes, of close(): GATE_HELD of gate.h.
  static final int HELD = 1000;

  private static final int MESSAGE_BYTES = 4096;

  static native int abiVersion();

  static native long addressOf(ByteBuffer buffer);

  static native int lastError(long buffer, int capacity);

  // ---- LargeBytes ----

  static native long allocate(long bytes);

  static native void release(long address);

  static native void copyIn(byte[] from, long to);

  static native void copyOut(long from, byte[] to);

  static native long optionsNew();

  static native int optionsSet(long options, long name, long value);

  static native void optionsFree(long options);

  static native long open(long spec, long options);

  static native int close(long store);

  static native int sync(long store);

  static native long count(long store);

  static native int stats(long store, long stats);

  static native int reclaim(long store);

  static native int verify(long store);

  static native int put(long store, long key, int keyBytes, long value, int valueBytes, int flags);

  static native long get(long store, long key, int keyBytes, long buffer, int capacity);

  static native int erase(long store, long key, int keyBytes, int flags);

  static native int append(long store, long key, int keyBytes, long bytes, int count, int flags);

  static native int merge(
      long store, long key, int keyBytes, int function, long operand, int count, int flags);

  static native int putMany(
      long store, int count, long keys, long keyBytes, long values, long valueBytes, int flags);

  static native long getMany(
      long store,
      int count,
      long keys,
      long keyBytes,
      long buffer,
      int capacity,
      long valueBytes,
      long codes);

  static native long countPrefix(long store, long prefix, int bytes);

  static native long erasePrefix(long store, long prefix, int bytes, int flags);

  static native long snapshotOpen(long store);

  static native long snapshotGet(long snapshot, long key, int keyBytes, long buffer, int capacity);

  static native void snapshotClose(long snapshot);

  static native long iterOpen(long store);

  static native long iterOpenSnapshot(long snapshot);

  static native int iterFirst(long iter, long prefix, int bytes);

  static native int iterSeek(long iter, long key, int bytes);

  static native long iterFill(long iter, long buffer, int capacity, int most);

  static native long iterRecordBytes(long iter);

  static native void iterClose(long iter);

  static native long checkpointBegin(long store);

  static native long checkpointRuns(long checkpoint, long runs, int capacity);

  static native int checkpointRead(long checkpoint, int run, long buffer, long bytes);

  static native long checkpointPrivate(long checkpoint, long buffer, long capacity);

  static native void checkpointEnd(long checkpoint);

  static native long privateRuns(long part, long bytes, long runs, int capacity);

  static native int restore(long spec, long part, long bytes, RunReader runs, long options);

  static native long restoreOpen(long spec, long part, long bytes, RunReader runs, long options);

  static native long importCheckpoint(
      long store, long part, long bytes, RunReader runs, long ranges, int count);

  static native int expire(
      long store, long prefix, int prefixBytes, int offset, int width, int byteOrder, long ttl);

  static native int setClock(long store, long now);

  /** The result, or what the last call of this thread failed with. */
  static long checked(long result) {
    if (result < 0) throw failure((int) -result);
    return result;
  }

  static int checked(int result) {
    if (result < 0) throw failure(-result);
    return result;
  }

  /**
   * Lengths, offsets and times: native code has no sign for them, and would see a very large number. Not a method of the
   * exception's class: the JVM's compiler inlines none of a Throwable.
   */
  static void refuseNegative(String name, long number) {
    if (number >= 0) return;
    throw HoldfastException.invalid(name + "=" + number + "; a number from 0 on is allowed");
  }

  static HoldfastException failure(int code) {
    if (code == HoldfastException.CLOSED) {
      return new HoldfastException(code, "HF_CLOSED: the store was closed");
    }
    try (LargeBytes text = new LargeBytes(MESSAGE_BYTES)) {
      final byte[] message = text.get(lastError(text.address(), MESSAGE_BYTES));
      return new HoldfastException(code, new String(message, StandardCharsets.UTF_8));
    }
  }
}
