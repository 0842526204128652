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

  // `sum`: null where there is none.
  private record Place(String pack, long at, Integer sum) {}

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
      for (int i = 0; i < pack.runs().size(); ++i) {
        final Run run = pack.runs().get(i);
        final Integer sum = pack.sums().isEmpty() ? null : pack.sums().get(i);
        places.put(new Name(run.origin(), run.generation()), new Place(pack.name(), at, sum));
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
      if (place.sum() != null && place.sum() != Pack.sum(bytes)) {
        throw new IOException(
            "the checkpoint is damaged: the checksum of run "
                + Long.toHexString(origin)
                + "/"
                + generation
                + " does not hold; its "
                + bytes.length
                + " bytes begin at "
                + place.at()
                + " of "
                + file);
      }
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
