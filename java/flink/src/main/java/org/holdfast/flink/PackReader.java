package org.holdfast.flink;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.IOUtils;
import org.holdfast.Run;
import org.holdfast.RunReader;

/** Gives the runs of a checkpoint out of its packs. Keeps the file open that was read last. */
final class PackReader implements RunReader, Closeable {
  private record Name(long origin, long generation) {}

  private record Place(String pack, long at) {}

  private final Map<String, StreamStateHandle> files;
  private final CloseableRegistry cancellation;
  private final Map<Name, Place> places = new HashMap<>();
  private String open;
  private FSDataInputStream stream;

  PackReader(List<Pack> packs, Map<String, StreamStateHandle> files, CloseableRegistry cancellation) {
    this.files = files;
    this.cancellation = cancellation;
    for (Pack pack : packs) {
      long at = 0;
      for (Run run : pack.runs()) {
        places.put(new Name(run.origin(), run.generation()), new Place(pack.name(), at));
        at += run.bytes();
      }
    }
  }

  @Override
  public void read(long origin, long generation, ByteBuffer to) {
    final Place place = places.get(new Name(origin, generation));
    final StreamStateHandle file = place == null ? null : files.get(place.pack());
    try {
      if (file == null) {
        throw new IOException(
            "the checkpoint has no file with run "
                + Long.toHexString(origin)
                + "/"
                + generation
                + " of the store"
                + (place == null ? "" : ": pack " + place.pack() + " is not among its shared files"));
      }
      if (!place.pack().equals(open)) {
        close();
        stream = file.openInputStream();
        cancellation.registerCloseable(stream);
        open = place.pack();
      }
      final byte[] bytes = new byte[to.remaining()];
      stream.seek(place.at());
      IOUtils.readFully(stream, bytes, 0, bytes.length);
      to.put(bytes);
    } catch (IOException exception) {
      throw new UncheckedIOException(exception);
    }
  }

  @Override
  public void close() {
    if (stream == null) return;
    cancellation.unregisterCloseable(stream);
    IOUtils.closeQuietly(stream);
    stream = null;
    open = null;
  }
}
