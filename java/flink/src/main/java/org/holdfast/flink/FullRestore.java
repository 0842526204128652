package org.holdfast.flink;

import java.io.EOFException;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.runtime.state.restore.FullSnapshotRestoreOperation;
import org.apache.flink.runtime.state.restore.KeyGroup;
import org.apache.flink.runtime.state.restore.KeyGroupEntry;
import org.apache.flink.runtime.state.restore.SavepointRestoreResult;
import org.apache.flink.runtime.state.restore.ThrowingIterator;
import org.apache.flink.util.StateMigrationException;

/** Reads snapshots in the canonical format, whichever backend wrote them, and keeps the key groups that are ours. */
final class FullRestore<K> {
  private final RestoreTargets targets;
  private final FullSnapshotRestoreOperation<K> snapshots;
  private final CloseableRegistry cancellation;

  FullRestore(
      RestoreTargets targets,
      ClassLoader classLoader,
      Collection<KeyedStateHandle> handles,
      StateSerializerProvider<K> keySerializer,
      CloseableRegistry cancellation) {
    this.targets = targets;
    this.cancellation = cancellation;
    snapshots =
        new FullSnapshotRestoreOperation<>(
            targets.keyGroupRange(), classLoader, handles, keySerializer);
  }

  void run() throws Exception {
    try (ThrowingIterator<SavepointRestoreResult> each = snapshots.restore()) {
      while (each.hasNext()) restore(each.next());
    } catch (EOFException | IndexOutOfBoundsException | NegativeArraySizeException failure) {
      // What the heap's backend writes as a checkpoint looks the same, but for what is in it.
      throw new IOException(
          "the snapshot is not in the canonical format: it is damaged, or a checkpoint or native savepoint of another state"
              + " backend; from one backend to another goes a canonical savepoint",
          failure);
    }
  }

  private void restore(SavepointRestoreResult snapshot)
      throws IOException, StateMigrationException {
    final List<StateMetaInfoSnapshot> infos = snapshot.getStateMetaInfoSnapshots();
    final List<RestoreTargets.Target> byNumber = infos.stream().map(targets::of).toList();
    try (ThrowingIterator<KeyGroup> groups = snapshot.getRestoredKeyGroups()) {
      while (groups.hasNext()) {
        if (cancellation.isClosed()) throw new IOException("the restore was cancelled");
        try (ThrowingIterator<KeyGroupEntry> entries = groups.next().getKeyGroupEntries()) {
          while (entries.hasNext()) {
            final KeyGroupEntry entry = entries.next();
            final int number = entry.getKvStateId();
            if (number < 0 || number >= byNumber.size()) {
              throw new IOException(
                  "the snapshot has an entry of state "
                      + number
                      + " and names "
                      + infos.size()
                      + " states");
            }
            byNumber.get(number).add(entry.getKey(), entry.getValue());
          }
        }
      }
    }
  }
}
