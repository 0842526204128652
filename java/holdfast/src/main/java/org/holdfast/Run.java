package org.holdfast;

/** A run of a checkpoint. Its name (origin, generation) is never given to other bytes. */
public record Run(long origin, long generation, long bytes, long records) {
  static final int NATIVE_BYTES = 32;

  /** Of hf_run, `count` of them one behind the other. */
  static Run[] unpack(Bytes bytes, int count) {
    final Run[] runs = new Run[count];
    for (int i = 0; i < count; ++i) {
      final int at = i * NATIVE_BYTES;
      runs[i] =
          new Run(
              bytes.buffer().getLong(at),
              bytes.buffer().getLong(at + 8),
              bytes.buffer().getLong(at + 16),
              bytes.buffer().getLong(at + 24));
    }
    return runs;
  }
}
