package org.holdfast.flink;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.base.ListSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.runtime.state.ListDelimitedSerializer;
import org.apache.flink.runtime.state.StateSnapshotTransformer;
import org.apache.flink.runtime.state.StateSnapshotTransformer.StateSnapshotTransformFactory;
import org.apache.flink.util.FlinkRuntimeException;

/** What a snapshot leaves out or changes, expired values, for values as the store has them. */
final class SnapshotTransforms {
  private SnapshotTransforms() {}

  @SuppressWarnings("unchecked")
  static <V, E> StateSnapshotTransformFactory<V> of(
      StateDescriptor<?, V> descriptor,
      StateSnapshotTransformFactory<E> elements,
      TypeSerializer<V> serializer) {
    return switch (descriptor.getType()) {
      case LIST ->
          serialized(
              () -> {
                final TypeSerializer<E> element =
                    ((ListSerializer<E>) serializer).getElementSerializer();
                return elements
                    .createForDeserializedState()
                    .map(one -> new OfLists<>(one, element.duplicate()));
              });
      case MAP -> serialized(() -> elements.createForSerializedState().map(OfMapEntries::new));
      default -> serialized(elements::createForSerializedState);
    };
  }

  @FunctionalInterface
  private interface Make {
    Optional<? extends StateSnapshotTransformer<byte[]>> make();
  }

  private static <V> StateSnapshotTransformFactory<V> serialized(Make make) {
    return new StateSnapshotTransformFactory<>() {
      @Override
      public Optional<StateSnapshotTransformer<V>> createForDeserializedState() {
        throw new UnsupportedOperationException("state is kept as bytes");
      }

      @Override
      public Optional<StateSnapshotTransformer<byte[]>> createForSerializedState() {
        return make.make().map(transformer -> transformer);
      }
    };
  }

  /** The value of a map's entry begins with a flag; its user's part is behind. */
  private record OfMapEntries(StateSnapshotTransformer<byte[]> value)
      implements StateSnapshotTransformer<byte[]> {
    @Override
    public byte[] filterOrTransform(byte[] entry) {
      if (entry == null || entry[0] != 0) return entry; // A null has no stamp.
      final byte[] old = new byte[entry.length - 1];
      System.arraycopy(entry, 1, old, 0, old.length);
      final byte[] kept = value.filterOrTransform(old);
      if (kept == null || kept == old) return kept == null ? null : entry;
      final byte[] changed = new byte[kept.length + 1];
      System.arraycopy(kept, 0, changed, 1, kept.length);
      return changed;
    }
  }

  /** Element by element; none left: no list. */
  private static final class OfLists<E> implements StateSnapshotTransformer<byte[]> {
    private final StateSnapshotTransformer<E> element;
    private final TypeSerializer<E> serializer;
    private final ListDelimitedSerializer lists = new ListDelimitedSerializer();
    private final DataInputDeserializer input = new DataInputDeserializer();
    private final boolean stopsEarly;

    OfLists(StateSnapshotTransformer<E> element, TypeSerializer<E> serializer) {
      this.element = element;
      this.serializer = serializer;
      stopsEarly =
          element instanceof CollectionStateSnapshotTransformer<E> collection
              && collection.getFilterStrategy()
                  == CollectionStateSnapshotTransformer.TransformStrategy.STOP_ON_FIRST_INCLUDED;
    }

    @Override
    public byte[] filterOrTransform(byte[] list) {
      if (list == null) return null;
      final List<E> kept = new ArrayList<>();
      input.setBuffer(list);
      try {
        int from = 0;
        for (E next;
            (next = ListDelimitedSerializer.deserializeNextElement(input, serializer)) != null; ) {
          final E left = element.filterOrTransform(next);
          if (left != null) {
            // The oldest come first: what is behind the first that lives, lives.
            if (stopsEarly) return Arrays.copyOfRange(list, from, list.length);
            kept.add(left);
          }
          from = input.getPosition();
        }
        return kept.isEmpty() ? null : lists.serializeList(kept, serializer);
      } catch (IOException exception) {
        throw new FlinkRuntimeException("a list could not be read for a snapshot", exception);
      }
    }
  }
}
