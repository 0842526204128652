package org.holdfast.flink;

import java.util.Arrays;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.runtime.state.RegisteredKeyValueStateBackendMetaInfo;

/** A registered state: its number in the store's keys, and what Flink knows of it. */
final class StateTable {
  private final int number;
  private RegisteredKeyValueStateBackendMetaInfo<?, ?> info;

  StateTable(int number, RegisteredKeyValueStateBackendMetaInfo<?, ?> info) {
    this.number = number;
    this.info = info;
  }

  int number() {
    return number;
  }

  @SuppressWarnings("unchecked")
  <N, V> RegisteredKeyValueStateBackendMetaInfo<N, V> info() {
    return (RegisteredKeyValueStateBackendMetaInfo<N, V>) info;
  }

  void setInfo(RegisteredKeyValueStateBackendMetaInfo<?, ?> changed) {
    info = changed;
  }

  /** Between the elements of a list in the canonical format, and behind each of them in the store. */
  static final byte DELIMITER = ',';

  static byte[] listWithEnd(byte[] canonical) {
    final byte[] list = Arrays.copyOf(canonical, canonical.length + 1);
    list[canonical.length] = DELIMITER;
    return list;
  }

  static byte[] listWithoutEnd(byte[] stored) {
    return Arrays.copyOf(stored, stored.length - 1);
  }

  private boolean ofLists() {
    return info.getStateType() == StateDescriptor.Type.LIST;
  }

  /** A value as the store has it, of one in the canonical format. */
  byte[] stored(byte[] canonical) {
    return ofLists() ? listWithEnd(canonical) : canonical;
  }

  byte[] canonical(byte[] stored) {
    return ofLists() ? listWithoutEnd(stored) : stored;
  }

  /** Of all its records. */
  byte[] prefix() {
    return StateStore.key(number, new byte[0]);
  }
}
