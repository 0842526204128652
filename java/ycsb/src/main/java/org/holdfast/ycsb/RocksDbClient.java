package org.holdfast.ycsb;

import java.util.Collections;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import site.ycsb.DBException;

/**
 * RocksDB, its log on and not synced, which is what survives the death of a process. Tuned for data that fits into memory:
 * a Bloom filter, no compression, a cache of 2 GiB. Properties: rocksdb.dir.
 */
public final class RocksDbClient extends RecordClient {
  private static final long CACHE_BYTES = 2L << 30;
  private static final int FILTER_BITS = 10;
  private static final Shared<RocksDB> SHARED = new Shared<>();

  private RocksDB store;

  private static RocksDB open(String directory) throws RocksDBException {
    RocksDB.loadLibrary();
    final Options options =
        new Options()
            .setCreateIfMissing(true)
            .setCompressionType(CompressionType.NO_COMPRESSION)
            .setIncreaseParallelism(2)
            .optimizeLevelStyleCompaction()
            .setTableFormatConfig(
                new BlockBasedTableConfig()
                    .setBlockCache(new LRUCache(CACHE_BYTES))
                    .setFilterPolicy(new BloomFilter(FILTER_BITS)));
    // optimizeLevelStyleCompaction() has set one for each level.
    options.setCompressionPerLevel(
        Collections.nCopies(options.numLevels(), CompressionType.NO_COMPRESSION));
    return RocksDB.open(options, directory);
  }

  @Override
  public void init() throws DBException {
    try {
      final String directory = getProperties().getProperty("rocksdb.dir");
      store = SHARED.get(() -> open(directory));
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
  byte[] get(byte[] key) throws RocksDBException {
    return store.get(key);
  }

  @Override
  void put(byte[] key, byte[] value) throws RocksDBException {
    store.put(key, value);
  }

  @Override
  void erase(byte[] key) throws RocksDBException {
    store.delete(key);
  }

  @Override
  void scan(byte[] key, int count, Visit visit) {
    try (RocksIterator records = store.newIterator()) {
      records.seek(key);
      for (int i = 0; i < count && records.isValid(); ++i, records.next()) {
        visit.value(records.value());
      }
    }
  }
}
