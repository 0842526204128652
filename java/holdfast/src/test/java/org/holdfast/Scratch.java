package org.holdfast;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.junit.jupiter.api.function.Executable;

/** An empty directory for the stores of a test, on tmpfs where there is one; removed behind it. */
final class Scratch implements AutoCloseable {
  private final Path directory;

  Scratch() throws IOException {
    final Path memory = Path.of("/dev/shm");
    directory =
        Files.isWritable(memory)
            ? Files.createTempDirectory(memory, "holdfast-test-")
            : Files.createTempDirectory("holdfast-test-");
  }

  String path(String name) {
    return directory.resolve(name).toString();
  }

  static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, UTF_8);
  }

  static HoldfastOptions ordered() {
    return new HoldfastOptions().set("order", "true");
  }

  /** The call throws that code, and its message has the words. */
  static void fails(int code, String words, Executable call) {
    final HoldfastException exception = assertThrows(HoldfastException.class, call);
    assertEquals(code, exception.code(), exception.getMessage());
    assertTrue(exception.getMessage().contains(words), exception.getMessage());
  }

  @Override
  public void close() throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      files
          .sorted(Comparator.reverseOrder())
          .forEach(
              file -> {
                try {
                  Files.delete(file);
                } catch (IOException exception) {
                  throw new UncheckedIOException(exception);
                }
              });
    }
  }
}
