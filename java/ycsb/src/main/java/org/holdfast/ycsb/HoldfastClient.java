package org.holdfast.ycsb;

import org.holdfast.HoldfastIterator;
import org.holdfast.HoldfastOptions;
import org.holdfast.HoldfastStore;
import site.ycsb.DBException;

/** Holdfast, in order of keys. Properties: holdfast.spec, the region. */
public final class HoldfastClient extends RecordClient {
  private static final Shared<HoldfastStore> SHARED = new Shared<>();

  private HoldfastStore store;

  @Override
  public void init() throws DBException {
    try {
      final String spec = getProperties().getProperty("holdfast.spec");
      store =
          SHARED.get(() -> HoldfastStore.open(spec, new HoldfastOptions().set("order", "true")));
    } catch (Exception exception) {
      throw new DBException(exception);
    }
  }

  @Override
  public void cleanup() throws DBException {
    try {
      SHARED.release();
    } catch (Exception exception) {
      throw new DBException(exception);
    }
  }

  @Override
  byte[] get(byte[] key) {
    return store.get(key);
  }

  @Override
  void put(byte[] key, byte[] value) {
    store.put(key, value);
  }

  @Override
  void erase(byte[] key) {
    store.erase(key);
  }

  @Override
  void scan(byte[] key, int count, Visit visit) {
    try (HoldfastIterator records = store.iterator()) {
      for (records.seek(key, count); records.valid(); records.next()) visit.value(records.value());
    }
  }
}
