package org.holdfast;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.LongConsumer;

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

  private static double nanosecondsOf(long count, LongConsumer body) {
    final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    final long begin = threads.getCurrentThreadCpuTime();
    for (long i = 0; i < count; ++i) body.accept(i);
    return (double) (threads.getCurrentThreadCpuTime() - begin) / count;
  }

  private static double[] loops(String path, long count) {
    final Bytes key = new Bytes(KEY_BYTES), value = new Bytes(VALUE_BYTES);
    final double[] took = new double[6];
    try (HoldfastStore store = HoldfastStore.open(path, new HoldfastOptions())) {
      final LongConsumer put =
          i -> {
            key.buffer().putLong(0, i);
            value.buffer().putLong(0, i);
            store.put(key.address(), KEY_BYTES, value.address(), VALUE_BYTES, 0);
          };
      took[0] = nanosecondsOf(count, put);
      took[1] = nanosecondsOf(count, i -> put.accept((i * MIX >>> 1) % count));
      final LongConsumer get =
          number -> {
            key.buffer().putLong(0, number);
            final long bytes = store.get(key.address(), KEY_BYTES, value.address(), VALUE_BYTES);
            if (bytes != VALUE_BYTES || value.buffer().getLong(0) != number) {
              throw new IllegalStateException("a wrong value of " + number);
            }
          };
      took[2] = nanosecondsOf(count, i -> get.accept(number(i, count)));
      took[3] = nanosecondsOf(count, i -> get.accept(number(i & 1, count)));
      took[4] = getMany(store, count);
      took[5] = nanosecondsOf(count, i -> Native.abiVersion());
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
    final double took =
        nanosecondsOf(
            count / GROUP,
            group -> {
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
                    || values.buffer().getLong(VALUE_BYTES * i)
                        != number(group * GROUP + i, count)) {
                  throw new IllegalStateException("a wrong value in group " + group);
                }
              }
            });
    for (Bytes bytes : new Bytes[] {keys, keyBytes, values, valueBytes, codes}) bytes.keep();
    return took / GROUP;
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
