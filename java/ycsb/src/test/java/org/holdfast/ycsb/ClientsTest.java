package org.holdfast.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import site.ycsb.ByteIterator;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** Both stores answer alike. */
final class ClientsTest {
  private static Map<String, ByteIterator> fields(String... pairs) {
    final Map<String, ByteIterator> fields = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      fields.put(pairs[i], new StringByteIterator(pairs[i + 1]));
    }
    return fields;
  }

  private static Map<String, String> read(RecordClient client, String key, Set<String> wanted) {
    final Map<String, ByteIterator> found = new HashMap<>();
    assertEquals(Status.OK, client.read("t", key, wanted, found));
    final Map<String, String> texts = new HashMap<>();
    found.forEach((name, value) -> texts.put(name, value.toString()));
    return texts;
  }

  private static void holds(RecordClient client, Properties properties) throws Exception {
    client.setProperties(properties);
    client.init();
    for (String key : new String[] {"b", "c", "a"}) {
      assertEquals(Status.OK, client.insert("t", key, fields("x", "1" + key, "y", "2")));
    }
    assertEquals(Map.of("x", "1a", "y", "2"), read(client, "a", null));
    assertEquals(Status.OK, client.update("t", "a", fields("y", "changed")));
    assertEquals(Map.of("x", "1a", "y", "changed"), read(client, "a", null));
    assertEquals(Map.of("y", "changed"), read(client, "a", Set.of("y")));
    final Vector<HashMap<String, ByteIterator>> records = new Vector<>();
    assertEquals(Status.OK, client.scan("t", "a", 2, Set.of("x"), records));
    assertEquals(2, records.size());
    assertEquals("1b", records.get(1).get("x").toString());
    assertEquals(Status.OK, client.delete("t", "a"));
    assertEquals(Status.NOT_FOUND, client.read("t", "a", null, new HashMap<>()));
    assertEquals(Status.NOT_FOUND, client.update("t", "a", fields("y", "1")));
    client.cleanup();
  }

  @Test
  void holdfast(@TempDir Path directory) throws Exception {
    final Properties properties = new Properties();
    properties.setProperty("holdfast.spec", directory.resolve("s").toString());
    holds(new HoldfastClient(), properties);
  }

  @Test
  void rocksDb(@TempDir Path directory) throws Exception {
    final Properties properties = new Properties();
    properties.setProperty("rocksdb.dir", directory.resolve("s").toString());
    holds(new RocksDbClient(), properties);
  }
}
