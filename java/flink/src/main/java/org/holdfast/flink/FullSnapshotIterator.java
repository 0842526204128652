package org.holdfast.flink;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyValueStateIterator;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.heap.HeapPriorityQueueStateSnapshot;
import org.holdfast.HoldfastIterator;
import org.holdfast.HoldfastSnapshot;

/**
 * The entries of a snapshot by key group, then by state, as the canonical format wants them: for each key group the records
 * of each state, then the timers.
 */
final class FullSnapshotIterator implements KeyValueStateIterator {
  private static final byte[] NO_VALUE = new byte[0];

  private final List<FullSnapshot.Part> parts;
  private final List<HeapPriorityQueueStateSnapshot<?>> queues;
  private final KeyGroupRange keyGroupRange;
  private final int prefixBytes;
  private final HoldfastIterator records;
  private final DataOutputSerializer output = new DataOutputSerializer(64);

  // Where it stands: the key group's place in the range, and the state's number.
  private int group = 0;
  private int state = -1;
  // Of the present state in the present group: one of both, by the state's number.
  private Iterator<?> timers;
  private boolean valid;
  private boolean newGroup;
  private boolean newState;
  private byte[] key;
  private byte[] value;

  FullSnapshotIterator(
      HoldfastSnapshot snapshot,
      List<FullSnapshot.Part> parts,
      List<HeapPriorityQueueStateSnapshot<?>> queues,
      KeyGroupRange keyGroupRange,
      int prefixBytes)
      throws IOException {
    this.parts = parts;
    this.queues = queues;
    this.keyGroupRange = keyGroupRange;
    this.prefixBytes = prefixBytes;
    records = snapshot.iterator();
    try {
      find();
    } catch (Throwable failure) {
      records.close(); // Nobody else can.
      throw failure;
    }
    newGroup = newState = true;
  }

  @Override
  public void next() throws IOException {
    find();
  }

  /** To the next entry, whatever group and state it is of. */
  private void find() throws IOException {
    final int groupBefore = group, stateBefore = state;
    valid = take();
    while (!valid && enterNext()) valid = take();
    newGroup = group != groupBefore;
    newState = newGroup || state != stateBefore;
  }

  private boolean enterNext() throws IOException {
    if (++state == parts.size() + queues.size()) {
      state = 0;
      ++group;
    }
    if (group >= keyGroupRange.getNumberOfKeyGroups() || parts.size() + queues.size() == 0) return false;
    if (state < parts.size()) {
      records.first(StateStore.key(parts.get(state).table().number(), groupPrefix()));
    } else {
      timers = queues.get(state - parts.size()).getIteratorForKeyGroup(keyGroup());
    }
    return true;
  }

  private byte[] groupPrefix() throws IOException {
    output.clear();
    CompositeKeySerializationUtils.writeKeyGroup(keyGroup(), prefixBytes, output);
    return output.getCopyOfBuffer();
  }

  /** The next entry of the present state and group. */
  private boolean take() throws IOException {
    if (state < 0) return false;
    return state < parts.size() ? takeRecord() : takeTimer();
  }

  private boolean takeRecord() {
    final StateTable table = parts.get(state).table();
    final StateSnapshotTransformer<byte[]> transformer = parts.get(state).transformer();
    for (; records.valid(); records.next()) {
      byte[] seen = table.canonical(records.value());
      if (transformer != null) seen = transformer.filterOrTransform(seen);
      if (seen == null) continue; // It has expired.
      key = StateStore.canonical(records.key());
      value = seen;
      records.next();
      return true;
    }
    return false;
  }

  @SuppressWarnings("unchecked")
  private boolean takeTimer() throws IOException {
    if (!timers.hasNext()) return false;
    final TypeSerializer<Object> serializer =
        (TypeSerializer<Object>)
            (TypeSerializer<?>)
                queues.get(state - parts.size()).getMetaInfo().getElementSerializer();
    output.clear();
    CompositeKeySerializationUtils.writeKeyGroup(keyGroup(), prefixBytes, output);
    serializer.serialize(timers.next(), output);
    key = output.getCopyOfBuffer();
    value = NO_VALUE;
    return true;
  }

  @Override
  public int keyGroup() {
    return keyGroupRange.getKeyGroupId(group);
  }

  @Override
  public byte[] key() {
    return key;
  }

  @Override
  public byte[] value() {
    return value;
  }

  @Override
  public int kvStateId() {
    return state;
  }

  @Override
  public boolean isNewKeyValueState() {
    return newState;
  }

  @Override
  public boolean isNewKeyGroup() {
    return newGroup;
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public void close() {
    records.close();
  }
}
