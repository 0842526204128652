package org.holdfast.ycsb;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/**
 * A record of YCSB, a map of fields, as one value of a key-value store. What both stores have in common, so that encoding
 * costs both the same. An update reads the record, replaces its fields and puts it back, as YCSB's own binding for RocksDB
 * does: not atomically.
 *
 * <p>A value is, for each field: the name's length in 4 bytes, the name, the field's length in 4 bytes, the field.
 */
abstract class RecordClient extends DB {
  /** Null: there is none. */
  abstract byte[] get(byte[] key) throws Exception;

  abstract void put(byte[] key, byte[] value) throws Exception;

  abstract void erase(byte[] key) throws Exception;

  /** Calls `visit` with the values of up to `count` records from `key` on. */
  abstract void scan(byte[] key, int count, Visit visit) throws Exception;

  @FunctionalInterface
  interface Visit {
    void value(byte[] value);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] encode(Map<String, ? extends ByteIterator> fields) {
    final byte[][] parts = new byte[2 * fields.size()][];
    int number = 0, total = 0;
    for (Map.Entry<String, ? extends ByteIterator> field : fields.entrySet()) {
      parts[number] = bytes(field.getKey());
      parts[number + 1] = field.getValue().toArray();
      total += 8 + parts[number].length + parts[number + 1].length;
      number += 2;
    }
    final ByteBuffer value = ByteBuffer.allocate(total);
    for (byte[] part : parts) value.putInt(part.length).put(part);
    return value.array();
  }

  /** `wanted`: names of fields; null: all. */
  static void decode(byte[] value, Set<String> wanted, Map<String, ByteIterator> fields) {
    for (int at = 0; at < value.length; ) {
      final int nameBytes = ByteBuffer.wrap(value, at, 4).getInt();
      final String name = new String(value, at + 4, nameBytes, StandardCharsets.UTF_8);
      at += 4 + nameBytes;
      final int bytes = ByteBuffer.wrap(value, at, 4).getInt();
      if (wanted == null || wanted.contains(name)) {
        fields.put(name, new ByteArrayByteIterator(value, at + 4, bytes));
      }
      at += 4 + bytes;
    }
  }

  @FunctionalInterface
  private interface Body {
    Status run() throws Exception;
  }

  private static Status tried(Body body) {
    try {
      return body.run();
    } catch (Exception exception) {
      System.err.println(exception);
      return Status.ERROR;
    }
  }

  @Override
  public Status read(
      String table, String key, Set<String> wanted, Map<String, ByteIterator> fields) {
    return tried(
        () -> {
          final byte[] value = get(bytes(key));
          if (value == null) return Status.NOT_FOUND;
          decode(value, wanted, fields);
          return Status.OK;
        });
  }

  @Override
  public Status scan(
      String table,
      String key,
      int count,
      Set<String> wanted,
      Vector<HashMap<String, ByteIterator>> records) {
    return tried(
        () -> {
          scan(
              bytes(key),
              count,
              value -> {
                final HashMap<String, ByteIterator> fields = new HashMap<>();
                decode(value, wanted, fields);
                records.add(fields);
              });
          return Status.OK;
        });
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> changes) {
    return tried(
        () -> {
          final byte[] at = bytes(key), value = get(at);
          if (value == null) return Status.NOT_FOUND;
          final Map<String, ByteIterator> fields = new LinkedHashMap<>();
          decode(value, null, fields);
          fields.putAll(changes);
          put(at, encode(fields));
          return Status.OK;
        });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> fields) {
    return tried(
        () -> {
          put(bytes(key), encode(fields));
          return Status.OK;
        });
  }

  @Override
  public Status delete(String table, String key) {
    return tried(
        () -> {
          erase(bytes(key));
          return Status.OK;
        });
  }
}
