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
        System.load(file.toString());
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
