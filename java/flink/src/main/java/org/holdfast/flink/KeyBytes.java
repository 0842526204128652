package org.holdfast.flink;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.runtime.state.CompositeKeySerializationUtils;
import org.apache.flink.util.FlinkRuntimeException;

/**
 * The key of a record, put together in one buffer: the state's number, and what Flink's canonical format has. The key group
 * and the key are written once for all states that an element has to do with. For one thread.
 */
final class KeyBytes<K> {
  private static final int CAPACITY = 64;

  private final DataOutputSerializer output = new DataOutputSerializer(CAPACITY);
  private final TypeSerializer<K> keySerializer;
  private final boolean keysVary;
  private final int prefixBytes;
  private int keyEnd;

  KeyBytes(TypeSerializer<K> keySerializer, int prefixBytes) {
    this.keySerializer = keySerializer;
    this.prefixBytes = prefixBytes;
    keysVary = CompositeKeySerializationUtils.isSerializerTypeVariableSized(keySerializer);
  }

  void setKey(K key, int keyGroup) {
    output.clear();
    try {
      output.writeShort(0); // Of the state; it is written last.
      CompositeKeySerializationUtils.writeKeyGroup(keyGroup, prefixBytes, output);
      keySerializer.serialize(key, output);
    } catch (IOException exception) {
      throw new FlinkRuntimeException("the key " + key + " could not be serialized", exception);
    }
    keyEnd = output.length();
  }

  /** Of a record in a namespace. Returns how many bytes of {@link #bytes} it takes. */
  <N> int in(int number, N namespace, TypeSerializer<N> serializer) {
    final boolean ambiguous =
        keysVary && CompositeKeySerializationUtils.isSerializerTypeVariableSized(serializer);
    output.setPosition(keyEnd);
    try {
      if (ambiguous) {
        CompositeKeySerializationUtils.writeVariableIntBytes(
            keyEnd - StateStore.NUMBER_BYTES - prefixBytes, output);
      }
      CompositeKeySerializationUtils.writeNameSpace(namespace, serializer, output, ambiguous);
    } catch (IOException exception) {
      throw new FlinkRuntimeException(
          "the namespace " + namespace + " could not be serialized", exception);
    }
    final byte[] bytes = output.getSharedBuffer();
    bytes[0] = (byte) (number >>> 8);
    bytes[1] = (byte) number;
    return output.length();
  }

  /** The same of an entry of a map. */
  <N, U> int in(
      int number,
      N namespace,
      TypeSerializer<N> serializer,
      U userKey,
      TypeSerializer<U> userKeySerializer)
      throws IOException {
    in(number, namespace, serializer);
    userKeySerializer.serialize(userKey, output);
    return output.length();
  }

  /** Good until the next call of another method. */
  byte[] bytes() {
    return output.getSharedBuffer();
  }
}
