package org.holdfast;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * The loops of store_loop.cpp through JNI: JniLoop STORE RECORDS prints nanoseconds for a put of a new key, an overwrite,
 * a get, a get of two keys in turn, a get of 64 in a call, and a native call that does nothing. The loops run
 * beforehand on another store, so that they are compiled. Times are those that the thread had the CPU.
 */
public final class JniLoop {
  private static final long MIX = 0x9e3779b97f4a7c15L;
  private static final int KEY_BYTES = 16;
  private static final int VALUE_BYTES = 200;
  private static final int GROUP = 64;

  private JniLoop() {}

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  // A loop for each verb, as the templates of store_loop.cpp are: one loop that calls what it is given does not know what
  // it calls, and the JVM's compiler inlines nothing of it.

  private static double puts(HoldfastStore store, Bytes key, Bytes value, long count, boolean inOrder) {
    final long begin = THREADS.getCurrentThreadCpuTime();
    for (long i = 0; i < count; ++i) {
      final long number = inOrder ? i : (i * MIX >>> 1) % count;
      key.buffer().putLong(0, number);
      value.buffer().putLong(0, number);
      store.put(key.address(), KEY_BYTES, value.address(), VALUE_BYTES, 0);
    }
    return (double) (THREADS.getCurrentThreadCpuTime() - begin) / count;
  }

  /** `mask`: of what is counted. */
  private static double gets(HoldfastStore store, Bytes key, Bytes value, long count, long mask) {
    final long begin = THREADS.getCurrentThreadCpuTime();
    for (long i = 0; i < count; ++i) {
      final long number = number(i & mask, count);
      key.buffer().putLong(0, number);
      final long bytes = store.get(key.address(), KEY_BYTES, value.address(), VALUE_BYTES);
      if (bytes != VALUE_BYTES || value.buffer().getLong(0) != number) {
        throw new IllegalStateException("a wrong value of " + number);
      }
    }
    return (double) (THREADS.getCurrentThreadCpuTime() - begin) / count;
  }

  private static double emptyCalls(long count) {
    final long begin = THREADS.getCurrentThreadCpuTime();
    for (long i = 0; i < count; ++i) Native.abiVersion();
    return (double) (THREADS.getCurrentThreadCpuTime() - begin) / count;
  }

  private static double[] loops(String path, long count) {
    final Bytes key = new Bytes(KEY_BYTES), value = new Bytes(VALUE_BYTES);
    final double[] took = new double[6];
    try (HoldfastStore store = HoldfastStore.open(path, new HoldfastOptions())) {
      took[0] = puts(store, key, value, count, true);
      took[1] = puts(store, key, value, count, false);
      took[2] = gets(store, key, value, count, -1);
      took[3] = gets(store, key, value, count, 1);
      took[4] = getMany(store, count);
      took[5] = emptyCalls(count);
    }
    key.keep();
    value.keep();
    return took;
  }

  /** The same gets, in groups. */
  private static double getMany(HoldfastStore store, long count) {
    final Bytes keys = new Bytes(GROUP * KEY_BYTES), keyBytes = new Bytes(GROUP * 4);
    final Bytes values = new Bytes(GROUP * VALUE_BYTES), valueBytes = new Bytes(GROUP * 8);
    final Bytes codes = new Bytes(GROUP * 4);
    for (int i = 0; i < GROUP; ++i) keyBytes.buffer().putInt(4 * i, KEY_BYTES);
    final long begin = THREADS.getCurrentThreadCpuTime();
    for (long group = 0; group < count / GROUP; ++group) {
      for (int i = 0; i < GROUP; ++i) {
        keys.buffer().putLong(KEY_BYTES * i, number(group * GROUP + i, count));
      }
      final int found =
          store.getMany(
              GROUP,
              keys.address(),
              keyBytes.address(),
              values.address(),
              values.capacity(),
              valueBytes.address(),
              codes.address());
      for (int i = 0; i < GROUP; ++i) {
        if (found != GROUP
            || valueBytes.buffer().getLong(8 * i) != VALUE_BYTES
            || values.buffer().getLong(VALUE_BYTES * i) != number(group * GROUP + i, count)) {
          throw new IllegalStateException("a wrong value in group " + group);
        }
      }
    }
    final long took = THREADS.getCurrentThreadCpuTime() - begin;
    for (Bytes bytes : new Bytes[] {keys, keyBytes, values, valueBytes, codes}) bytes.keep();
    return (double) took / (count / GROUP * GROUP);
  }

  private static long number(long at, long count) {
    return ((at * MIX + 1) >>> 1) % count;
  }

  public static void main(String[] words) {
    final long count = Long.parseLong(words[1]);
    loops(words[0] + "-warm", Math.min(count, 200_000));
    final double[] took = loops(words[0], count);
    for (double one : took) System.out.printf("%.1f ", one);
  }
}
