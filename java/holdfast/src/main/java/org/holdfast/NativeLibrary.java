package org.holdfast;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Loads the native library that lies in the jar. It is copied to a file of its own for each class loader, since the JVM
 * refuses to load one file for two of them; the file is removed at once, and its contents stay while it is loaded.
 */
final class NativeLibrary {
  private static final String RESOURCE = "/org/holdfast/native/linux-x86_64/libholdfast_jni.so";
  // Of hf_abi_version().
  private static final int ABI_VERSION = 1;

  private NativeLibrary() {}

  private static void load(Path file) {
    try {
      System.load(file.toString());
    } catch (UnsatisfiedLinkError error) {
      if (!String.valueOf(error.getMessage()).contains("static TLS")) throw error;
      final UnsatisfiedLinkError explained =
          new UnsatisfiedLinkError(
              "other class loaders of this process have loaded it as often as there is thread-local memory for; each copy"
                  + " stays as long as its class loader and the threads that called it. Have the jar where all share it,"
                  + " or set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 (docs/java.md)");
      explained.initCause(error);
      throw explained;
    }
  }

  static void load() {
    try {
      final Path directory = Files.createTempDirectory("holdfast-jni-");
      final Path file = directory.resolve("libholdfast_jni.so");
      try (InputStream library = NativeLibrary.class.getResourceAsStream(RESOURCE)) {
        if (library == null) {
          throw new UnsatisfiedLinkError(
              "no "
                  + RESOURCE
                  + " in the jar: it is for Linux on x86-64, and this is "
                  + System.getProperty("os.name")
                  + " on "
                  + System.getProperty("os.arch"));
        }
        Files.copy(library, file);
        load(file);
      } finally {
        Files.deleteIfExists(file);
        Files.deleteIfExists(directory);
      }
    } catch (IOException exception) {
      throw new UnsatisfiedLinkError(
          "the library could not be copied to java.io.tmpdir ("
              + System.getProperty("java.io.tmpdir")
              + "): "
              + exception);
    }
    if (Native.abiVersion() != ABI_VERSION) {
      throw new UnsatisfiedLinkError(
          "the native library has version "
              + Native.abiVersion()
              + " of its interface, these classes need "
              + ABI_VERSION);
    }
  }
}
