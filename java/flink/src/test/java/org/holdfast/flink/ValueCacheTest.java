package org.holdfast.flink;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ValueCacheTest {
  /** Keys as texts of their bytes. */
  private static class Store implements ValueCache.Backing<Long> {
    final Map<String, Long> records = new HashMap<>();
    int reads;
    int writes;
    int erases;

    private static String name(byte[] key, int count) {
      return Arrays.toString(Arrays.copyOf(key, count));
    }

    @Override
    public Long read(byte[] key, int count) {
      ++reads;
      return records.get(name(key, count));
    }

    @Override
    public void write(byte[] key, int count, Long value) {
      ++writes;
      records.put(name(key, count), value);
    }

    @Override
    public void erase(byte[] key, int count) {
      ++erases;
      records.remove(name(key, count));
    }
  }

  // Larger than a key: what is behind the key must not count.
  private final byte[] buffer = new byte[40];
  private final Random random = new Random(20261124);

  private int key(int number) {
    final int count = 9 + number % 17;
    random.nextBytes(buffer);
    Arrays.fill(buffer, 0, count, (byte) 0);
    ByteBuffer.wrap(buffer).putInt(count - 4, number);
    return count;
  }

  /** In all sizes: with few places for many keys, with many for few, and where it is off. */
  @ParameterizedTest(name = "{0} places, {1} keys")
  @CsvSource({"4,20", "16,100", "64,50", "1024,700", "1024,100000", "0,20"})
  void whatIsPutIsThereUntilItIsErased(int most, int keys) throws IOException {
    final Store store = new Store();
    final ValueCache<Long> cache = new ValueCache<>(most, store);
    final Map<String, Long> model = new HashMap<>();
    for (int step = 0; step < 300_000; ++step) {
      final int count = key(random.nextInt(keys));
      final String name = Store.name(buffer, count);
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> {
          cache.put(buffer, count, (long) step);
          model.put(name, (long) step);
        }
        case 3 -> {
          cache.erase(buffer, count);
          model.remove(name);
        }
        case 4 -> {
          if (random.nextInt(2000) == 0) {
            if (random.nextBoolean()) cache.flush();
            else cache.clear();
            assertThat(store.records).isEqualTo(model);
          }
        }
        default -> assertThat(cache.get(buffer, count)).isEqualTo(model.get(name));
      }
    }
    cache.flush();
    assertThat(store.records).isEqualTo(model);
    final int writes = store.writes;
    cache.flush();
    assertThat(store.writes).as("what is clean is not written").isEqualTo(writes);
  }

  @Test
  void whatIsErasedBeforeItsPlaceIsNeededNeverGetsToTheStore() throws IOException {
    final Store store = new Store();
    final ValueCache<Long> cache = new ValueCache<>(1024, store);
    for (int number = 0; number < 100; ++number) {
      final int count = key(number);
      assertThat(cache.get(buffer, count)).isNull();
      for (long value = 0; value < 10; ++value) cache.put(buffer, count, value);
      assertThat(cache.get(buffer, count)).isEqualTo(9);
      cache.erase(buffer, count);
      assertThat(cache.get(buffer, count)).isNull();
    }
    cache.flush();
    assertThat(store.writes + store.erases).isZero();
    assertThat(store.reads).isEqualTo(100);
  }

  @Test
  void itGrowsWithUseAndStandsAsideWhereItIsOfNone() throws IOException {
    final Store store = new Store();
    final ValueCache<Long> cache = new ValueCache<>(4096, store);
    for (int round = 0; round < 20; ++round) {
      for (int number = 0; number < 2000; ++number) {
        cache.put(buffer, key(number), 1L);
      }
    }
    int writes = store.writes;
    for (int number = 0; number < 2000; ++number) cache.put(buffer, key(number), 2L);
    assertThat(store.writes - writes).as("values that have no place").isLessThan(200);
    // Each key once: no access finds its value.
    for (int number = 0; number < 500_000; ++number) cache.put(buffer, key(number), 3L);
    writes = store.writes;
    for (int number = 0; number < 10; ++number) cache.put(buffer, key(number), 4L);
    assertThat(store.writes - writes).as("it stands aside").isEqualTo(10);
    // Few keys again: it comes back.
    for (int number = 0; number < 2_000_000; ++number) cache.put(buffer, key(number % 10), 5L);
    writes = store.writes;
    for (int number = 0; number < 1000; ++number) cache.put(buffer, key(number % 10), 6L);
    assertThat(store.writes).isEqualTo(writes);
  }

  /** Places are counted: 16,384 values of a megabyte each were 16 GiB on the heap. */
  @ParameterizedTest(name = "{0} places, {1} keys")
  @CsvSource({"4,20", "64,50", "1024,700", "0,20"})
  void largeValuesGoBy(int most, int keys) throws IOException {
    final Store store =
        new Store() {
          @Override
          public boolean isSmall(Long value) {
            return value % 3 != 0;
          }
        };
    final ValueCache<Long> cache = new ValueCache<>(most, store);
    final Map<String, Long> model = new HashMap<>();
    for (int step = 0; step < 200_000; ++step) {
      final int count = key(random.nextInt(keys));
      final String name = Store.name(buffer, count);
      switch (random.nextInt(4)) {
        case 0 -> {
          final long value = random.nextInt(100);
          cache.put(buffer, count, value);
          model.put(name, value);
          if (value % 3 == 0) {
            assertThat(store.records.get(name)).isEqualTo(value);
            assertThat(cache.look(Arrays.copyOf(buffer, count), seen -> {})).isFalse();
          }
        }
        case 1 -> {
          cache.erase(buffer, count);
          model.remove(name);
        }
        default -> {
          assertThat(cache.get(buffer, count)).isEqualTo(model.get(name));
          cache.look(
              Arrays.copyOf(buffer, count),
              seen -> assertThat(seen == null || store.isSmall(seen)).isTrue());
        }
      }
    }
    cache.flush();
    assertThat(store.records).isEqualTo(model);
  }

  /** Each state had 16 MiB of the heap for itself: forty of them ended a TaskManager of the usual size. */
  @ParameterizedTest(name = "{0} bytes of heap")
  @CsvSource({"0", "65536", "200000", "10000000"})
  void cachesHaveOneShareOfTheHeap(long most) throws IOException {
    final CacheHeap heap = new CacheHeap(most);
    final Store[] stores = new Store[5];
    final List<ValueCache<Long>> caches = new ArrayList<>();
    final List<Map<String, Long>> models = new ArrayList<>();
    for (int i = 0; i < stores.length; ++i) {
      stores[i] =
          new Store() {
            @Override
            public int heapBytes(Long value) {
              return (int) (value % 1000);
            }
          };
      caches.add(new ValueCache<>(1024, heap, stores[i]));
      models.add(new HashMap<>());
    }
    for (int step = 0; step < 500_000; ++step) {
      final int which = random.nextInt(stores.length);
      final int count = key(random.nextInt(700));
      final String name = Store.name(buffer, count);
      switch (random.nextInt(4)) {
        case 0, 1 -> {
          caches.get(which).put(buffer, count, (long) step);
          models.get(which).put(name, (long) step);
        }
        case 2 -> {
          caches.get(which).erase(buffer, count);
          models.get(which).remove(name);
        }
        default ->
            assertThat(caches.get(which).get(buffer, count)).isEqualTo(models.get(which).get(name));
      }
      if (step % 1000 == 0) assertThat(heap.takenBytes()).isBetween(0L, most);
    }
    assertThat(heap.takenBytes() > 0).isEqualTo(most > 0);
    for (int i = 0; i < stores.length; ++i) {
      caches.get(i).flush();
      assertThat(stores[i].records).isEqualTo(models.get(i));
      caches.get(i).drop();
    }
    assertThat(heap.takenBytes()).isZero();
  }

  @Test
  void anotherThreadSeesWhatIsOnlyHere() throws Exception {
    final Store store = new Store();
    final ValueCache<Long> cache = new ValueCache<>(64, store);
    final int count = key(7);
    final byte[] asked = Arrays.copyOf(buffer, count);
    cache.put(asked, count, 0L);
    final AtomicReference<Throwable> wrong = new AtomicReference<>();
    final Thread reader =
        new Thread(
            () -> {
              try {
                long last = 0;
                while (last < 100_000) {
                  final long[] seen = {-1};
                  assertThat(cache.look(asked, value -> seen[0] = value)).isTrue();
                  assertThat(seen[0]).isGreaterThanOrEqualTo(last);
                  last = seen[0];
                }
              } catch (Throwable failure) {
                wrong.set(failure);
              }
            });
    reader.start();
    for (long value = 1; value <= 100_000; ++value) cache.put(asked, count, value);
    reader.join();
    assertThat(wrong.get()).isNull();
    assertThat(cache.look(Arrays.copyOf(buffer, 3), value -> {})).isFalse();
  }
}
