import java.util.function.LongConsumer;
import org.holdfast.Bytes;
import org.holdfast.HoldfastOptions;
import org.holdfast.HoldfastStore;

/**
 * The loops of store_loop.cpp through JNI: JniLoop STORE RECORDS prints nanoseconds for a put of a new key, an overwrite,
 * a get. The loops run beforehand on another store, so that they are compiled.
 */
public final class JniLoop {
  private static final long MIX = 0x9e3779b97f4a7c15L;
  private static final int KEY_BYTES = 16;
  private static final int VALUE_BYTES = 200;

  private JniLoop() {}

  private static double nanosecondsOf(long count, LongConsumer body) {
    final long begin = System.nanoTime();
    for (long i = 0; i < count; ++i) body.accept(i);
    return (double) (System.nanoTime() - begin) / count;
  }

  private static double[] loops(String path, long count) {
    final Bytes key = new Bytes(KEY_BYTES), value = new Bytes(VALUE_BYTES);
    final double[] took = new double[3];
    try (HoldfastStore store = HoldfastStore.open(path, new HoldfastOptions())) {
      final LongConsumer put =
          i -> {
            key.buffer().putLong(0, i);
            value.buffer().putLong(0, i);
            store.put(key.address(), KEY_BYTES, value.address(), VALUE_BYTES, 0);
          };
      took[0] = nanosecondsOf(count, put);
      took[1] = nanosecondsOf(count, i -> put.accept((i * MIX >>> 1) % count));
      took[2] =
          nanosecondsOf(
              count,
              i -> {
                final long number = ((i * MIX + 1) >>> 1) % count;
                key.buffer().putLong(0, number);
                final long bytes =
                    store.get(key.address(), KEY_BYTES, value.address(), VALUE_BYTES);
                if (bytes != VALUE_BYTES || value.buffer().getLong(0) != number) {
                  throw new IllegalStateException("a wrong value of " + number);
                }
              });
    }
    key.keep();
    value.keep();
    return took;
  }

  public static void main(String[] words) {
    final long count = Long.parseLong(words[1]);
    loops(words[0] + "-warm", Math.min(count, 200_000));
    final double[] took = loops(words[0], count);
    System.out.printf("%.1f %.1f %.1f%n", took[0], took[1], took[2]);
  }
}
