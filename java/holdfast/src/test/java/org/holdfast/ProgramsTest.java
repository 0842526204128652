package org.holdfast;

import static org.holdfast.Scratch.bytes;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Random programs beside a map, threads, deaths, class loaders. */
final class ProgramsTest {
  private static void same(Map<String, byte[]> model, HoldfastStore store) {
    assertEquals(model.size(), store.count());
    try (HoldfastIterator records = store.iterator()) {
      records.first(new byte[0]);
      for (Map.Entry<String, byte[]> entry : model.entrySet()) {
        assertTrue(records.valid());
        assertArrayEquals(bytes(entry.getKey()), records.key());
        assertArrayEquals(entry.getValue(), records.value());
        records.next();
      }
      assertFalse(records.valid());
    }
  }

  @Test
  void randomProgramsDoAsAMapDoes() throws IOException {
    final Random random = new Random(20261123);
    final Map<String, byte[]> model = new TreeMap<>();
    try (Scratch scratch = new Scratch()) {
      HoldfastStore store = HoldfastStore.open(scratch.path("s"), Scratch.ordered());
      for (int step = 0; step < 200_000; ++step) {
        final String key = "key" + random.nextInt(2000);
        final byte[] value = new byte[random.nextInt(300)];
        random.nextBytes(value);
        switch (random.nextInt(6)) {
          case 0 -> assertEquals(model.remove(key) != null, store.erase(bytes(key)));
          case 1 -> {
            final byte[] old = model.getOrDefault(key, new byte[0]);
            if (old.length > 5000) break;
            final byte[] all = Arrays.copyOf(old, old.length + value.length);
            System.arraycopy(value, 0, all, old.length, value.length);
            model.put(key, all);
            store.append(bytes(key), value);
          }
          case 2, 3 -> {
            final byte[] seen = store.get(bytes(key));
            if (model.containsKey(key)) assertArrayEquals(model.get(key), seen);
            else assertNull(seen);
          }
          default -> {
            model.put(key, value);
            store.put(bytes(key), value);
          }
        }
        if (step % 50_000 == 25_000) {
          same(model, store);
          store.close();
          store = HoldfastStore.open(scratch.path("s"), Scratch.ordered());
        }
      }
      same(model, store);
      store.verify();
      store.close();
    }
  }

  @Test
  void threadsShareAStore() throws Exception {
    final int threads = 4, each = 20_000;
    final ExecutorService pool = Executors.newFixedThreadPool(threads);
    try (Scratch scratch = new Scratch();
        HoldfastStore store = HoldfastStore.open(scratch.path("s"), new HoldfastOptions())) {
      final List<Future<Void>> running = new ArrayList<>();
      for (int thread = 0; thread < threads; ++thread) {
        final int number = thread;
        final Callable<Void> work =
            () -> {
              for (int i = 0; i < each; ++i) {
                final byte[] key = bytes(number + "/" + i);
                store.put(key, key);
                assertArrayEquals(key, store.get(key));
                store.merge(
                    bytes("sum"), HoldfastStore.Merge.ADD, new byte[] {1, 0, 0, 0, 0, 0, 0, 0});
              }
              return null;
            };
        running.add(pool.submit(work));
      }
      for (Future<Void> one : running) one.get();
      assertEquals(threads * each + 1, store.count());
      assertEquals(
          threads * each,
          Long.reverseBytes(ByteBuffer.wrap(store.get(bytes("sum"))).getLong()));
    } finally {
      pool.shutdown();
    }
  }

  /** Puts numbers without end and says which ones are acknowledged. Started and killed by a test. */
  static final class Endless {
    private Endless() {}

    public static void main(String[] arguments) {
      final HoldfastStore store = HoldfastStore.open(arguments[0], new HoldfastOptions());
      for (int i = 0; ; ++i) {
        store.put(bytes("n" + i), bytes("value " + i));
        if (i % 1000 == 0) System.out.println(i);
      }
    }
  }

  /** The last number of which the line is whole; -1: there is none yet. */
  private static int last(Path said) throws IOException {
    final String text = Files.readString(said);
    final String[] lines = text.substring(0, text.lastIndexOf('\n') + 1).split("\n");
    return lines[lines.length - 1].isEmpty() ? -1 : Integer.parseInt(lines[lines.length - 1]);
  }

  @Test
  void whatWasAcknowledgedIsThereAfterAKill() throws Exception {
    try (Scratch scratch = new Scratch()) {
      final Path said = Path.of(scratch.path("said"));
      final Process child =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-cp",
                  System.getProperty("java.class.path"),
                  Endless.class.getName(),
                  scratch.path("s"))
              .redirectOutput(said.toFile())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      while (last(said) < 50_000) {
        assertTrue(child.isAlive(), "the child ended by itself");
        Thread.sleep(5);
      }
      child.destroyForcibly().waitFor(); // SIGKILL.
      final int acknowledged = last(said);
      try (HoldfastStore store = HoldfastStore.open(scratch.path("s"), new HoldfastOptions())) {
        for (int i = 0; i <= acknowledged; ++i) {
          assertArrayEquals(bytes("value " + i), store.get(bytes("n" + i)), "n" + i);
        }
        store.verify();
      }
    }
  }

  @Test
  void eachClassLoaderHasALibraryOfItsOwn() throws Exception {
    final URL classes = HoldfastStore.class.getProtectionDomain().getCodeSource().getLocation();
    try (Scratch scratch = new Scratch()) {
      for (int i = 0; i < 3; ++i) {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {classes}, null)) {
          final Class<?> type = loader.loadClass(HoldfastStore.class.getName());
          assertNotSame(HoldfastStore.class, type);
          final Class<?> options = loader.loadClass(HoldfastOptions.class.getName());
          final Object store =
              type.getMethod("open", String.class, options)
                  .invoke(null, scratch.path("s"), options.getConstructor().newInstance());
          type.getMethod("put", byte[].class, byte[].class)
              .invoke(store, bytes("loader" + i), bytes("was here"));
          assertEquals(i + 1L, type.getMethod("count").invoke(store));
          type.getMethod("close").invoke(store);
        }
      }
    }
    try (Stream<Path> left = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
      assertEquals(
          0,
          left.filter(path -> path.getFileName().toString().startsWith("holdfast-jni-")).count(),
          "the copies of the library are removed");
    }
  }
}
