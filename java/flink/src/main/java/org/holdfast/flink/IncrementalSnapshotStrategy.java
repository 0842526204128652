package org.holdfast.flink;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.checkpoint.SnapshotType.SharingFilesStrategy;
import org.apache.flink.runtime.checkpoint.filemerging.FileMergingSnapshotManager;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.LocalRecoveryConfig;
import org.apache.flink.runtime.state.PlaceholderStreamStateHandle;
import org.apache.flink.runtime.state.SnapshotResult;
import org.apache.flink.runtime.state.SnapshotStrategy;
import org.apache.flink.runtime.state.StateUtil;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.util.function.FunctionWithException;
import org.holdfast.Run;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the runs of the store that no earlier checkpoint has, in packs of up to 32 MiB. A pack of which less than half
 * still counts is not named again: what counts is written once more.
 */
final class IncrementalSnapshotStrategy<K>
    implements SnapshotStrategy<KeyedStateHandle, IncrementalSnapshot<K>> {
  private static final Logger LOG = LoggerFactory.getLogger(IncrementalSnapshotStrategy.class);
  private static final long PACK_BYTES = 32L << 20;

  private final UUID backend = UUID.randomUUID();
  private final Uploads uploads;
  private final KeyGroupRange keyGroupRange;
  private final LocalRecoveryConfig localRecovery;
  private final FunctionWithException<Map<Pack, Uploads.File>, IncrementalSnapshot<K>, Exception>
      take;

  /** `take`: all state at this moment, given the packs that may be named again. */
  IncrementalSnapshotStrategy(
      KeyGroupRange keyGroupRange,
      Uploads uploads,
      LocalRecoveryConfig localRecovery,
      FunctionWithException<Map<Pack, Uploads.File>, IncrementalSnapshot<K>, Exception> take) {
    this.keyGroupRange = keyGroupRange;
    this.uploads = uploads;
    this.localRecovery = localRecovery;
    this.take = take;
  }

  @Override
  public IncrementalSnapshot<K> syncPrepareResources(long checkpointId) throws Exception {
    return take.apply(uploads.reusable());
  }

  @Override
  public SnapshotResultSupplier<KeyedStateHandle> asyncSnapshot(
      IncrementalSnapshot<K> snapshot,
      long checkpointId,
      long timestamp,
      CheckpointStreamFactory factory,
      CheckpointOptions options) {
    if (snapshot.isEmpty()) return registry -> SnapshotResult.empty();
    if (options.getCheckpointType().getSharingFilesStrategy() == SharingFilesStrategy.FORWARD) {
      uploads.begun(checkpointId);
    }
    return registry ->
        new Writing(
                snapshot,
                checkpointId,
                factory,
                registry,
                options.getCheckpointType().getSharingFilesStrategy())
            .run();
  }

  /** One checkpoint on its way. */
  private final class Writing {
    private final IncrementalSnapshot<K> snapshot;
    private final long id;
    private final CheckpointStreamFactory factory;
    private final CloseableRegistry registry;
    // FORWARD: after a restore that leaves its checkpoint to the user everything is written anew. NO_SHARING: a native
    // savepoint, of which later checkpoints know nothing.
    private final SharingFilesStrategy sharing;
    private final Map<Pack, Uploads.File> packs = new HashMap<>();
    private final List<StreamStateHandle> reused = new ArrayList<>();
    private final List<StreamStateHandle> written = new ArrayList<>();
    private final RunBuffer buffer = new RunBuffer();

    Writing(
        IncrementalSnapshot<K> snapshot,
        long id,
        CheckpointStreamFactory factory,
        CloseableRegistry registry,
        SharingFilesStrategy sharing) {
      this.sharing = sharing;
      this.snapshot = snapshot;
      this.id = id;
      this.factory = factory;
      this.registry = registry;
    }

    SnapshotResult<KeyedStateHandle> run() throws Exception {
      boolean done = false;
      try {
        final Run[] runs = snapshot.checkpoint().runs();
        final Set<Run> left = new HashSet<>(List.of(runs));
        if (sharing == SharingFilesStrategy.FORWARD_BACKWARD) {
          snapshot.reusable().forEach((pack, file) -> name(pack, file, left));
        }
        writePacks(runs, left);
        final StreamStateHandle meta =
            write(
                CheckpointedStateScope.EXCLUSIVE,
                stream ->
                    snapshot.write(new DataOutputViewStreamWrapper(stream), packs.keySet()));
        final KeyedStateHandle local = sharing == SharingFilesStrategy.NO_SHARING ? null : local();
        final SnapshotResult<KeyedStateHandle> result =
            local == null
                ? SnapshotResult.of(handle(meta))
                : SnapshotResult.withLocalState(handle(meta), local);
        factory.reusePreviousStateHandle(reused);
        if (sharing != SharingFilesStrategy.NO_SHARING) uploads.taken(id, packs);
        done = true;
        return result;
      } finally {
        buffer.close();
        if (!done) written.forEach(StateUtil::discardStateObjectQuietly);
      }
    }

    /** Takes the runs of a pack of an earlier checkpoint from `left`, if enough of it counts. */
    private void name(Pack pack, Uploads.File file, Set<Run> left) {
      final long counts =
          pack.runs().stream().filter(left::contains).mapToLong(Run::bytes).sum();
      if (2 * counts < pack.bytes() || !factory.couldReuseStateHandle(file.remote())) return;
      pack.runs().forEach(left::remove);
      packs.put(pack, file);
      reused.add(file.remote());
    }

    /** The copy on this machine; null: none is wanted, or there is none, which costs a slower recovery and no more. */
    private KeyedStateHandle local() throws IOException {
      if (!localRecovery.isLocalRecoveryOrLocalBackupEnabled()) return null;
      final Path directory =
          localRecovery
              .getLocalStateDirectoryProvider()
              .orElseThrow(LocalRecoveryConfig.localRecoveryNotEnabled())
              .subtaskSpecificCheckpointDirectory(id)
              .toPath();
      LocalCopy copy = null;
      try {
        copy = new LocalCopy(directory, snapshot.checkpoint(), buffer);
        for (Map.Entry<Pack, Uploads.File> pack : packs.entrySet()) {
          final Uploads.File file = pack.getValue();
          pack.setValue(
              new Uploads.File(file.remote(), copy.add(pack.getKey(), file.local())));
        }
        return copy.end(
            backend,
            keyGroupRange,
            id,
            packs,
            output -> snapshot.write(output, packs.keySet()));
      } catch (Exception failure) {
        LOG.warn("checkpoint {} has no copy on this machine", id, failure);
        discard(copy);
        packs.replaceAll((pack, file) -> new Uploads.File(file.remote(), null));
        return null;
      }
    }

    /** What is left of a copy that failed. Its disk may be the reason, so that not even this may work. */
    private void discard(LocalCopy copy) {
      try {
        if (copy != null) copy.discard();
      } catch (Exception failure) {
        LOG.warn("a part of a copy of checkpoint {} is left on this machine", id, failure);
      }
    }

    private void writePacks(Run[] runs, Set<Run> left) throws Exception {
      for (int next = 0; next < runs.length; ) {
        final List<Integer> places = new ArrayList<>();
        for (long bytes = 0; next < runs.length && bytes < PACK_BYTES; ++next) {
          if (!left.contains(runs[next])) continue;
          places.add(next);
          bytes += runs[next].bytes();
        }
        if (places.isEmpty()) continue;
        final List<Integer> sums = new ArrayList<>();
        final StreamStateHandle file =
            write(
                sharing == SharingFilesStrategy.NO_SHARING
                    ? CheckpointedStateScope.EXCLUSIVE
                    : CheckpointedStateScope.SHARED,
                stream -> {
                  for (int place : places) sums.add(copyRun(place, runs[place].bytes(), stream));
                });
        final Pack pack =
            new Pack(
                backend + "-" + id + "-" + packs.size(),
                places.stream().map(place -> runs[place]).toList(),
                sums);
        packs.put(pack, new Uploads.File(file, null));
      }
    }

    /** Returns the checksum. */
    private int copyRun(int place, long bytes, CheckpointStateOutputStream stream)
        throws IOException {
      final ByteBuffer run = buffer.read(snapshot.checkpoint(), place, bytes);
      final byte[] copy = new byte[run.remaining()];
      run.get(copy);
      stream.write(copy);
      return Pack.sum(copy);
    }

    @FunctionalInterface
    private interface Content {
      void write(CheckpointStateOutputStream stream) throws Exception;
    }

    /** A file of the checkpoint. Closing the registry, which cancels the checkpoint, ends the writing. */
    private StreamStateHandle write(CheckpointedStateScope scope, Content content)
        throws Exception {
      final CheckpointStateOutputStream stream = factory.createCheckpointStateOutputStream(scope);
      registry.registerCloseable(stream);
      try {
        content.write(stream);
        if (!registry.unregisterCloseable(stream)) throw new IOException("the checkpoint was cancelled");
        final StreamStateHandle handle = stream.closeAndGetHandle();
        if (handle == null) throw new IOException("a file of the checkpoint has no handle");
        written.add(handle);
        return handle;
      } finally {
        registry.unregisterCloseable(stream);
        stream.close(); // Removes the file, if it has no handle yet.
      }
    }

    /** What an earlier checkpoint has the JobManager knows: it gets a place holder. */
    private IncrementalRemoteKeyedStateHandle handle(StreamStateHandle meta) {
      final List<HandleAndLocalPath> shared = new ArrayList<>();
      packs.forEach(
          (pack, file) -> {
            final StreamStateHandle handle = file.remote();
            shared.add(
                HandleAndLocalPath.of(
                    reused.contains(handle)
                        ? new PlaceholderStreamStateHandle(
                            handle.getStreamStateHandleID(),
                            handle.getStateSize(),
                            FileMergingSnapshotManager.isFileMergingHandle(handle))
                        : handle,
                    pack.name()));
          });
      final long bytes = written.stream().mapToLong(StreamStateHandle::getStateSize).sum();
      return new IncrementalRemoteKeyedStateHandle(
          backend, keyGroupRange, id, shared, new ArrayList<>(), meta, bytes);
    }
  }
}
