package org.holdfast.flink;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeutils.TypeSerializerSchemaCompatibility;
import org.apache.flink.core.fs.CloseableRegistry;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.memory.DataInputViewStreamWrapper;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.AbstractIncrementalStateHandle;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalLocalKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyedBackendSerializationProxy;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.StateSerializerProvider;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.metainfo.StateMetaInfoSnapshot;
import org.apache.flink.util.StateMigrationException;

/**
 * Reads what {@link IncrementalSnapshotStrategy} wrote, and keeps the key groups that are ours. Where one checkpoint has
 * exactly these, its runs become the store as they are, and the next checkpoint may name its packs again.
 */
final class IncrementalRestore<K> {
  private static final int RECORDS_AT_ONCE = 256;

  private final RestoreTargets targets;
  private final ClassLoader classLoader;
  private final Collection<KeyedStateHandle> handles;
  private final StateSerializerProvider<K> keySerializer;
  private final CloseableRegistry cancellation;
  private final Uploads uploads;
  private boolean keySerializerChecked;

  IncrementalRestore(
      RestoreTargets targets,
      ClassLoader classLoader,
      Collection<KeyedStateHandle> handles,
      StateSerializerProvider<K> keySerializer,
      CloseableRegistry cancellation,
      Uploads uploads) {
    this.uploads = uploads;
    this.targets = targets;
    this.classLoader = classLoader;
    this.handles = handles;
    this.keySerializer = keySerializer;
    this.cancellation = cancellation;
  }

  static boolean canRead(Collection<KeyedStateHandle> handles) {
    return !handles.isEmpty()
        && handles.stream().allMatch(AbstractIncrementalStateHandle.class::isInstance);
  }

  void run() throws Exception {
    for (KeyedStateHandle handle : handles) {
      final KeyGroupRange ours = targets.keyGroupRange().getIntersection(handle.getKeyGroupRange());
      if (ours.getNumberOfKeyGroups() == 0) continue;
      restore((AbstractIncrementalStateHandle) handle, ours);
    }
  }

  private void restore(AbstractIncrementalStateHandle handle, KeyGroupRange ours)
      throws Exception {
    try (FSDataInputStream stream = handle.getMetaDataStateHandle().openInputStream()) {
      cancellation.registerCloseable(stream);
      try {
        restore(handle, ours, new DataInputViewStreamWrapper(stream));
      } finally {
        cancellation.unregisterCloseable(stream);
      }
    }
  }

  private void restore(
      AbstractIncrementalStateHandle handle,
      KeyGroupRange ours,
      DataInputViewStreamWrapper input)
      throws Exception {
    final int version = input.readInt();
    if (version < 1 || version > IncrementalSnapshot.FORMAT_VERSION) {
      throw new IOException(
          "the checkpoint was written by another state backend, or by a newer version of this one (it begins with "
              + version
              + ", this backend reads 1 to "
              + IncrementalSnapshot.FORMAT_VERSION
              + "); from one backend to another goes a canonical savepoint");
    }
    final KeyedBackendSerializationProxy<K> states = new KeyedBackendSerializationProxy<>(classLoader);
    states.read(input);
    checkKeySerializer(states);
    final byte[] part = new byte[input.readInt()];
    input.readFully(part);
    final List<Pack> packs = new ArrayList<>();
    for (int left = input.readInt(); left > 0; --left) packs.add(Pack.read(input, version));

    final List<StateMetaInfoSnapshot> infos = states.getStateMetaInfoSnapshots();
    final List<StateTable> tables = new ArrayList<>(); // By the numbers of the checkpoint.
    for (StateMetaInfoSnapshot info : infos) {
      if (!RestoreTargets.isQueue(info)) tables.add(targets.table(info));
    }
    if (!tables.isEmpty()) {
      try (PackReader runs = new PackReader(packs, filesOf(handle), cancellation)) {
        if (handles.size() == 1 && ours.equals(handle.getKeyGroupRange())) {
          targets.adopt(part, runs);
          uploads.restored(handle.getCheckpointId(), uploadsOf(handle, packs));
        } else {
          copyRecords(part, runs, tables, ours, ours.equals(handle.getKeyGroupRange()));
        }
      }
    }
    restoreTimers(input, infos, ours);
  }

  /** Where the packs are read, by their names. */
  private static Map<String, StreamStateHandle> filesOf(AbstractIncrementalStateHandle handle)
      throws IOException {
    final Map<String, StreamStateHandle> files = new HashMap<>();
    for (HandleAndLocalPath file : handle.getSharedStateHandles()) {
      files.put(file.getLocalPath(), file.getHandle());
    }
    if (!(handle instanceof IncrementalLocalKeyedStateHandle local)) return files;
    for (String name : files.keySet()) {
      final Path copy = local.getDirectoryStateHandle().getDirectory().resolve(name);
      files.put(
          name,
          new FileStateHandle(
              new org.apache.flink.core.fs.Path(copy.toUri()), Files.size(copy)));
    }
    return files;
  }

  private static Map<Pack, Uploads.File> uploadsOf(
      AbstractIncrementalStateHandle handle, List<Pack> packs) {
    final Map<String, StreamStateHandle> remote = new HashMap<>();
    for (HandleAndLocalPath file : handle.getSharedStateHandles()) {
      remote.put(file.getLocalPath(), file.getHandle());
    }
    final Path copies =
        handle instanceof IncrementalLocalKeyedStateHandle local
            ? local.getDirectoryStateHandle().getDirectory()
            : null;
    final Map<Pack, Uploads.File> uploads = new HashMap<>();
    for (Pack pack : packs) {
      uploads.put(
          pack,
          new Uploads.File(
              remote.get(pack.name()), copies == null ? null : copies.resolve(pack.name())));
    }
    return uploads;
  }

  private void checkKeySerializer(KeyedBackendSerializationProxy<K> states)
      throws StateMigrationException {
    if (keySerializerChecked) return;
    keySerializerChecked = true;
    final String present = keySerializer.currentSchemaSerializer().toString();
    final TypeSerializerSchemaCompatibility<K> compatibility =
        keySerializer.setPreviousSerializerSnapshotForRestoredState(
            states.getKeySerializerSnapshot());
    if (compatibility.isCompatibleAfterMigration() || compatibility.isIncompatible()) {
      throw new StateMigrationException(
          "the key serializer ("
              + present
              + ") must be compatible with the one of the checkpoint ("
              + keySerializer.previousSchemaSerializer()
              + ") as it is");
    }
  }

  private void copyRecords(
      byte[] part, PackReader runs, List<StateTable> tables, KeyGroupRange ours, boolean all)
      throws IOException {
    boolean sameNumbers = true;
    for (int number = 0; number < tables.size(); ++number) {
      sameNumbers &= tables.get(number).number() == number;
    }
    final byte[][] wanted = all ? new byte[0][] : prefixes(tables.size(), ours);
    if (sameNumbers) {
      targets.store().importCheckpoint(part, runs, wanted);
      return;
    }
    // Its subtask registered the states in another order.
    try (StateStore theirs = targets.place().open()) {
      theirs.importCheckpoint(part, runs, wanted);
      for (int number = 0; number < tables.size(); ++number) {
        renumber(theirs, number, tables.get(number).number());
      }
    }
  }

  private void renumber(StateStore from, int number, int ours) throws IOException {
    final byte[] prefix = StateStore.key(number, new byte[0]);
    byte[] last = null;
    for (List<StateStore.Entry> some;
        !(some = from.read(prefix, last, RECORDS_AT_ONCE).all()).isEmpty(); ) {
      for (StateStore.Entry entry : some) {
        last = entry.key();
        targets.store().put(StateStore.key(ours, StateStore.canonical(last)), entry.value());
      }
    }
  }

  /** Of all records of the states in these key groups. */
  private byte[][] prefixes(int states, KeyGroupRange groups) throws IOException {
    final DataOutputSerializer output = new DataOutputSerializer(2);
    final List<byte[]> prefixes = new ArrayList<>();
    for (int number = 0; number < states; ++number) {
      for (int group : groups) {
        output.clear();
        CompositeKeySerializationUtils.writeKeyGroup(group, targets.prefixBytes(), output);
        prefixes.add(StateStore.key(number, output.getCopyOfBuffer()));
      }
    }
    return prefixes.toArray(new byte[0][]);
  }

  private void restoreTimers(
      DataInputViewStreamWrapper input, List<StateMetaInfoSnapshot> infos, KeyGroupRange ours)
      throws IOException {
    final Map<Integer, RestoreTargets.Target> queues = new HashMap<>();
    for (int number = 0; number < infos.size(); ++number) {
      if (RestoreTargets.isQueue(infos.get(number))) queues.put(number, targets.of(infos.get(number)));
    }
    for (int number; (number = input.readInt()) != IncrementalSnapshot.NO_MORE; ) {
      final int group = input.readInt();
      final byte[] timer = new byte[input.readInt()];
      input.readFully(timer);
      final RestoreTargets.Target queue = queues.get(number);
      if (queue == null) throw new IOException("the checkpoint has timers of state " + number + ", which has none");
      if (ours.contains(group)) queue.add(timer, new byte[0]);
    }
  }
}
