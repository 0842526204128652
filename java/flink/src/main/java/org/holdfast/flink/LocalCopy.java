package org.holdfast.flink;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.runtime.state.DirectoryStateHandle;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.util.FileUtils;
import org.apache.flink.util.function.ThrowingConsumer;
import org.holdfast.HoldfastCheckpoint;
import org.holdfast.Run;

/**
 * A checkpoint once more, on the TaskManager's disk, for Flink's local recovery: a directory with a file for each pack. A
 * pack that an earlier checkpoint has there is a hard link; of others the runs that count are written, where the pack has them.
 */
final class LocalCopy {
  private static final int BYTES_AT_ONCE = 1 << 20;
  private final Path directory;
  private final Path meta;
  private final HoldfastCheckpoint checkpoint;
  private final Map<Run, Integer> places = new HashMap<>();
  private final RunBuffer buffer;

  /** `directory`: Flink's, of the checkpoint and the operator. `buffer`: the maker's. */
  LocalCopy(Path directory, HoldfastCheckpoint checkpoint, RunBuffer buffer) throws IOException {
    this.buffer = buffer;
    final String name = UUID.randomUUID().toString();
    this.directory = directory.resolve(name);
    meta = directory.resolve(name + "-meta");
    this.checkpoint = checkpoint;
    Files.createDirectories(this.directory);
    final Run[] runs = checkpoint.runs();
    for (int place = 0; place < runs.length; ++place) places.put(runs[place], place);
  }

  /** Where the pack's copy is; `before`: where an earlier checkpoint has it, or null. */
  Path add(Pack pack, Path before) throws IOException {
    final Path file = directory.resolve(pack.name());
    if (before != null && Files.exists(before)) return Files.createLink(file, before);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      long at = 0;
      for (Run run : pack.runs()) {
        final Integer place = places.get(run);
        if (place != null) write(channel, at, place, run.bytes());
        at += run.bytes();
      }
    }
    return file;
  }

  private void write(FileChannel channel, long at, int place, long bytes) throws IOException {
    final ByteBuffer run = buffer.read(checkpoint, place, bytes);
    final int end = run.limit();
    while (run.position() < end) {
      // Of a buffer on the heap the JVM makes a copy outside of it, as large as what is to be written.
      run.limit(Math.min(end, run.position() + BYTES_AT_ONCE));
      channel.write(run, at + run.position());
    }
  }

  /** `content`: writes what says what is in the packs. */
  IncrementalLocalKeyedStateHandle end(
      UUID backend,
      KeyGroupRange range,
      long id,
      Map<Pack, Uploads.File> packs,
      ThrowingConsumer<DataOutputViewStreamWrapper, Exception> content)
      throws Exception {
    try (OutputStream stream = new BufferedOutputStream(Files.newOutputStream(meta))) {
      content.accept(new DataOutputViewStreamWrapper(new DataOutputStream(stream)));
    }
    final List<HandleAndLocalPath> remote = new ArrayList<>();
    packs.forEach((pack, file) -> remote.add(HandleAndLocalPath.of(file.remote(), pack.name())));
    return new IncrementalLocalKeyedStateHandle(
        backend,
        id,
        DirectoryStateHandle.forPathWithSize(directory),
        range,
        new FileStateHandle(
            new org.apache.flink.core.fs.Path(meta.toUri()), Files.size(meta)),
        remote);
  }

  void discard() throws IOException {
    FileUtils.deleteDirectory(directory.toFile());
    Files.deleteIfExists(meta);
  }
}
