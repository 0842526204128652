package org.holdfast.ycsb;

/** Keeps nothing and finds nothing: what YCSB itself costs, but for the decoding of records. */
public final class NothingClient extends RecordClient {
  @Override
  byte[] get(byte[] key) {
    return null;
  }

  @Override
  void put(byte[] key, byte[] value) {}

  @Override
  void erase(byte[] key) {}

  @Override
  void scan(byte[] key, int count, Visit visit) {}
}
