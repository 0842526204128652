package org.holdfast;

import static org.holdfast.Scratch.bytes;
import static org.holdfast.Scratch.fails;
import static org.holdfast.Scratch.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** Memory of direct buffers is little, others need it too, and what a thread's buffers grew to they keep. */
final class MemoryTest {
  private static long directBytes() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getTotalCapacity)
        .sum();
  }

  @Test
  void shortScansTakeNoMemoryOfTheirOwn() {
    try (HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered())) {
      for (int i = 0; i < 1000; ++i) store.put(bytes("k" + i), new byte[100]);
      long before = 0;
      for (int round = 0; round < 2000; ++round) {
        // Two at a time, and the longer one grows.
        try (HoldfastIterator one = store.iterator();
            HoldfastIterator other = store.iterator()) {
          one.first(bytes("k"), 1);
          int seen = 0;
          for (other.first(bytes("k")); other.valid(); other.next()) ++seen;
          assertEquals(1000, seen);
          assertEquals("k0", text(one.key()), "each has memory of its own");
        }
        if (round == 10) before = directBytes();
      }
      assertTrue(
          directBytes() <= before + (64 << 10),
          before + " bytes outside of the heap became " + directBytes());
    }
  }

  /** It was kept: a thread had as much as its largest value. */
  @Test
  void largeValuesTakeNoMemoryOfDirectBuffers() {
    final byte[] value = new byte[20_000_000];
    for (int i = 0; i < value.length; i += 1000) value[i] = (byte) (i / 1000);
    try (HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered())) {
      final long before = directBytes();
      store.put(bytes("a"), bytes("small"));
      store.put(bytes("b"), value);
      store.append(bytes("c"), value);
      store.append(bytes("c"), bytes("and more"));
      store.put(bytes("d"), bytes("small, too"));
      assertArrayEquals(value, store.get(bytes("b")));
      assertEquals(value.length + 8, store.get(bytes("c")).length);
      try (HoldfastIterator records = store.iterator()) {
        records.first(bytes(""));
        assertEquals("small", text(records.value()));
        records.next();
        assertArrayEquals(bytes("b"), records.key());
        assertEquals(value.length, records.valueBytes());
        assertArrayEquals(value, records.value());
        records.next();
        assertEquals(value.length + 8, records.value().length);
        records.next();
        assertEquals("d", text(records.key()));
        assertEquals("small, too", text(records.value()));
        records.next();
        assertFalse(records.valid());
        assertThrows(IllegalStateException.class, records::value);
        // By address it comes into such memory.
        records.seek(bytes("b"), 1);
        assertTrue(directBytes() < before + (1 << 20), () -> "" + (directBytes() - before));
        assertEquals(1 + value.length, records.record().remaining());
        assertTrue(records.keyAddress() != 0);
        assertArrayEquals(value, records.value());
        records.next();
        assertFalse(records.valid());
      }
      try (HoldfastCheckpoint checkpoint = store.checkpoint()) {
        final Run[] runs = checkpoint.runs();
        for (int i = 0; i < runs.length; ++i) {
          final ByteBuffer direct = ByteBuffer.allocateDirect((int) runs[i].bytes());
          checkpoint.read(i, direct);
          final byte[] copy = new byte[direct.capacity()], same = new byte[copy.length];
          direct.get(0, same);
          checkpoint.read(i, copy);
          assertArrayEquals(same, copy);
        }
        fails(HoldfastException.INVALID_OPTION, "are needed", () -> checkpoint.read(0, new byte[3]));
      }
    }
  }

  /** What a get is given by addresses that are none, and lengths that are none. */
  @Test
  void getRefusesAddressesAndLengthsThatAreNone() {
    final Bytes key = new Bytes(16), value = new Bytes(16);
    try (HoldfastStore store = HoldfastStore.open("dram", new HoldfastOptions())) {
      store.put(key.address(), 16, value.address(), 16, 0);
      for (int round = 0; round < 2; ++round) { // The first call of the thread goes another way.
        fails(HoldfastException.INVALID_OPTION, "key", () -> store.get(0, 16, value.address(), 16));
        fails(HoldfastException.INVALID_OPTION, "buffer", () -> store.get(key.address(), 16, 0, 16));
        fails(HoldfastException.TOO_LARGE, "key", () -> store.get(key.address(), -1, value.address(), 16));
        fails(HoldfastException.INVALID_OPTION, "capacity", () -> store.get(key.address(), 16, value.address(), -1));
        assertEquals(16, store.get(key.address(), 16, value.address(), 16));
        assertEquals(16, store.get(key.address(), 16, 0, 0)); // How long it is.
        assertEquals(HoldfastStore.ABSENT, store.get(key.address(), 15, value.address(), 16));
        assertEquals(HoldfastStore.ABSENT, store.get(0, 0, value.address(), 16));
      }
    }
    key.keep();
    value.keep();
  }

  /** The buffer for keys grew to the length of whatever was given as one, and only then was it refused. */
  @Test
  void aKeyBeyondTheLimitTakesNoMemory() {
    final byte[] key = new byte[5_000_000];
    try (HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered());
        HoldfastIterator records = store.iterator();
        HoldfastSnapshot snapshot = store.snapshot()) {
      store.put(bytes("a"), bytes("1"));
      final long before = directBytes();
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.put(key, bytes("1")));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.get(key));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.erase(key));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.append(key, bytes("1")));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.merge(key, HoldfastStore.Merge.ADD, new byte[8]));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.countPrefix(key));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.erasePrefix(key));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> store.expire(key, 0, 8, false, 1));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> snapshot.get(key));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> records.first(key));
      fails(HoldfastException.TOO_LARGE, "5000000", () -> records.seek(key));
      final byte[] longest = new byte[64 << 10];
      store.put(longest, bytes("2"));
      assertEquals("2", text(store.get(longest)));
      assertNull(snapshot.get(longest));
      records.seek(longest);
      assertArrayEquals(longest, records.key());
      assertTrue(directBytes() < before + (1 << 20), () -> "" + (directBytes() - before));
    }
  }

  /** Operands of merge(), and what a snapshot reads, were left out when large values were mended. */
  @Test
  void largeOperandsAndValuesOfSnapshotsTakeNoMemoryOfDirectBuffers() {
    final byte[] value = new byte[10_000_000];
    for (int i = 0; i < value.length; i += 1000) value[i] = (byte) (i / 1000);
    try (HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered())) {
      final long before = directBytes();
      store.merge(bytes("a"), HoldfastStore.Merge.APPEND, value);
      store.merge(bytes("a"), HoldfastStore.Merge.APPEND, bytes("end"));
      store.put(bytes("b"), new byte[5000]);
      try (HoldfastSnapshot snapshot = store.snapshot()) {
        store.erase(bytes("a"));
        final byte[] read = snapshot.get(bytes("a"));
        assertEquals(value.length + 3, read.length);
        assertEquals(value[999_000], read[999_000]);
        assertEquals('d', read[value.length + 2]);
        assertEquals(5000, snapshot.get(bytes("b")).length);
        assertNull(snapshot.get(bytes("c")));
      }
      assertTrue(directBytes() < before + (1 << 20), () -> "" + (directBytes() - before));
    }
  }

  /** Each message was read through a buffer of its own: where there was no memory for it, that was what was said. */
  @Test
  void aFailureTakesNoMemoryOfDirectBuffers() {
    try (HoldfastStore store = HoldfastStore.open("dram", new HoldfastOptions())) {
      fails(HoldfastException.INVALID_OPTION, "order", store::iterator);
      final long before = directBytes();
      for (int i = 0; i < 50; ++i) {
        fails(HoldfastException.INVALID_OPTION, "order", store::iterator);
      }
      assertTrue(directBytes() < before + (100 << 10), () -> "" + (directBytes() - before));
    }
  }
}
