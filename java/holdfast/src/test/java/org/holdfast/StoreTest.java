package org.holdfast;

import static org.holdfast.Scratch.bytes;
import static org.holdfast.Scratch.fails;
import static org.holdfast.Scratch.text;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class StoreTest {
  private Scratch scratch;

  @BeforeEach
  void begin() throws IOException {
    scratch = new Scratch();
  }

  @AfterEach
  void end() throws IOException {
    scratch.close();
  }

  private HoldfastStore open(String name) {
    return HoldfastStore.open(scratch.path(name), new HoldfastOptions());
  }

  @Test
  void recordsAreThereAfterAReopening() {
    try (HoldfastStore store = open("s")) {
      store.put(bytes("ada"), bytes("lovelace"));
      store.put(bytes(""), bytes(""));
      store.append(bytes("log"), bytes("one "));
      store.append(bytes("log"), bytes("two"));
      store.merge(bytes("n"), HoldfastStore.Merge.ADD, new byte[] {40, 0, 0, 0, 0, 0, 0, 0});
      store.merge(bytes("n"), HoldfastStore.Merge.ADD, new byte[] {2, 0, 0, 0, 0, 0, 0, 0});
      assertTrue(store.erase(bytes("ada")));
      assertFalse(store.erase(bytes("ada")));
      assertNull(store.get(bytes("ada")));
      store.put(bytes("ada"), bytes("countess"));
    }
    try (HoldfastStore store = open("s")) {
      assertEquals("countess", text(store.get(bytes("ada"))));
      assertEquals("", text(store.get(bytes(""))));
      assertEquals("one two", text(store.get(bytes("log"))));
      assertArrayEquals(new byte[] {42, 0, 0, 0, 0, 0, 0, 0}, store.get(bytes("n")));
      assertEquals(4, store.count());
      assertEquals(4, store.stats().records());
      assertTrue(store.stats().mediumBytes() > 0 && store.stats().newestVersion() > 0);
      store.verify();
      store.sync();
    }
  }

  @Test
  void aValueLargerThanTheScratchIsReadWhole() {
    final byte[] large = new byte[3 << 20];
    for (int i = 0; i < large.length; ++i) large[i] = (byte) (i * 7);
    try (HoldfastStore store = HoldfastStore.open(scratch.path("s"), Scratch.ordered())) {
      store.put(bytes("large"), large);
      assertArrayEquals(large, store.get(bytes("large")));
      store.put(bytes("m"), bytes("behind"));
      try (HoldfastSnapshot snapshot = store.snapshot();
          HoldfastIterator records = snapshot.iterator()) {
        assertArrayEquals(large, snapshot.get(bytes("large")));
        records.first(bytes(""));
        assertArrayEquals(large, records.value());
        records.next();
        assertEquals("behind", text(records.value()));
      }
    }
  }

  @Test
  void errorsHaveACodeAndWords() {
    fails(
        HoldfastException.INVALID_OPTION,
        "did you mean 'order'",
        () ->
            HoldfastStore.open(scratch.path("s"), new HoldfastOptions().set("ordre", "true")));
    fails(
        HoldfastException.NOT_FOUND,
        "nowhere",
        () ->
            HoldfastStore.open(scratch.path("nowhere"), new HoldfastOptions().set("access", "open")));
    try (HoldfastStore store = open("s")) {
      fails(HoldfastException.BUSY, "in use", () -> open("s"));
      fails(HoldfastException.TOO_LARGE, "key", () -> store.put(new byte[70_000], bytes("v")));
      fails(HoldfastException.INVALID_OPTION, "order", store::iterator);
    }
  }

  @Test
  void whatIsClosedIsRefused() {
    final HoldfastStore store = HoldfastStore.open(scratch.path("s"), Scratch.ordered());
    store.put(bytes("k"), bytes("v"));
    final HoldfastSnapshot snapshot = store.snapshot();
    final HoldfastIterator records = store.iterator();
    fails(HoldfastException.BUSY, "1 iterator, 1 snapshot", store::close);
    assertTrue(store.isOpen());
    assertEquals("v", text(store.get(bytes("k"))));
    snapshot.close();
    snapshot.close();
    records.close();
    records.close();
    fails(HoldfastException.CLOSED, "snapshot", () -> snapshot.get(bytes("k")));
    fails(HoldfastException.CLOSED, "iterator", () -> records.first(bytes("")));
    records.next();
    assertFalse(records.valid());
    assertThrows(IllegalStateException.class, records::key);
    assertThrows(IllegalStateException.class, records::keyAddress);
    assertThrows(IllegalStateException.class, records::valueAddress);
    assertThrows(IllegalStateException.class, records::record);
    store.close();
    store.close();
    assertFalse(store.isOpen());
    fails(HoldfastException.CLOSED, "store", () -> store.get(bytes("k")));
    fails(HoldfastException.CLOSED, "store", () -> store.put(bytes("k"), bytes("v")));
    fails(HoldfastException.CLOSED, "store", store::snapshot);
    fails(HoldfastException.CLOSED, "store", store::count);
  }

  @Test
  void iteratorsSeeAllRecordsInOrderByGroups() {
    try (HoldfastStore store = HoldfastStore.open(scratch.path("s"), Scratch.ordered())) {
      for (int i = 0; i < 20_000; ++i) {
        store.put(bytes(String.format("k%05d", i * 7919 % 20_000)), bytes("value " + i));
      }
      store.put(bytes("a"), bytes("before"));
      store.put(bytes("z"), bytes("behind"));
      try (HoldfastIterator records = store.iterator()) {
        int seen = 0;
        for (records.first(bytes("k")); records.valid(); records.next(), ++seen) {
          assertEquals(String.format("k%05d", seen), text(records.key()));
          assertArrayEquals(store.get(records.key()), records.value());
          assertEquals(records.keyBytes() + records.valueBytes(), records.record().remaining());
        }
        assertEquals(20_000, seen);
        records.seek(bytes("k19998x"));
        assertEquals("k19999", text(records.key()));
        records.next();
        assertEquals("z", text(records.key()));
        records.next();
        assertFalse(records.valid());
        records.first(bytes("nothing"));
        assertFalse(records.valid());
      }
      assertEquals(10_000, store.countPrefix(bytes("k0")));
      assertEquals(10_000, store.erasePrefix(bytes("k0")));
      assertEquals(10_002, store.count());
    }
  }

  @Test
  void anIteratorEndsBehindAsManyAsAreWanted() {
    try (HoldfastStore store = HoldfastStore.open(scratch.path("s"), Scratch.ordered())) {
      for (int i = 0; i < 1000; ++i) store.put(bytes(String.format("k%03d", i)), new byte[100]);
      store.put(bytes("z"), bytes("behind"));
      try (HoldfastIterator records = store.iterator()) {
        for (int most : new int[] {1, 2, 33, 999, 1000, 1001, 5000}) {
          int seen = 0;
          for (records.first(bytes("k"), most); records.valid(); records.next()) {
            assertEquals(String.format("k%03d", seen++), text(records.key()));
          }
          assertEquals(Math.min(most, 1000), seen);
          seen = 0;
          for (records.seek(bytes("k500"), most); records.valid(); records.next()) ++seen;
          assertEquals(Math.min(most, 501), seen);
        }
        // The limit is of one move.
        records.first(bytes("k"), 1);
        records.first(bytes("k"));
        records.next();
        assertEquals("k001", text(records.key()));
        fails(HoldfastException.INVALID_OPTION, "most=0", () -> records.first(bytes("k"), 0));
        fails(HoldfastException.INVALID_OPTION, "most=-1", () -> records.seek(bytes("k"), -1));
      }
    }
  }

  @Test
  void manyRecordsByOneCall() {
    final int count = 300;
    final Bytes keys = new Bytes(count * 4), lengths = new Bytes(count * 4);
    final Bytes values = new Bytes(count * 8), valueLengths = new Bytes(count * 8);
    final Bytes found = new Bytes(count * 8), codes = new Bytes(count * 4);
    for (int i = 0; i < count; ++i) {
      keys.buffer().putInt(4 * i, i);
      lengths.buffer().putInt(4 * i, 4);
      values.buffer().putLong(8 * i, 1000L + i);
      valueLengths.buffer().putLong(8 * i, 8);
    }
    try (HoldfastStore store = open("s")) {
      store.putMany(
          count, keys.address(), lengths.address(), values.address(), valueLengths.address());
      assertEquals(count, store.count());
      assertTrue(store.erase(keys.address() + 4 * 7, 4, 0));
      assertEquals(
          count,
          store.getMany(
              count,
              keys.address(),
              lengths.address(),
              found.address(),
              found.capacity(),
              valueLengths.address(),
              codes.address()));
      assertEquals(HoldfastException.NOT_FOUND, codes.buffer().getInt(4 * 7));
      assertEquals(0, codes.buffer().getInt(4 * 8));
      assertEquals(1008, found.buffer().getLong(8 * 7));
      assertEquals(0, valueLengths.buffer().getLong(8 * 7));
    }
    keys.keep();
    lengths.keep();
    values.keep();
  }

  @Test
  void checkpointsAreRestoredAndImported() {
    final Map<String, ByteBuffer> kept = new HashMap<>();
    final byte[] part;
    try (HoldfastStore store = open("original")) {
      for (int i = 0; i < 1000; ++i) store.put(bytes("key" + i), bytes("value" + i));
      store.erase(bytes("key500"));
      try (HoldfastCheckpoint checkpoint = store.checkpoint()) {
        store.put(bytes("later"), bytes("not in it"));
        final Run[] runs = checkpoint.runs();
        assertTrue(runs.length > 0);
        for (int i = 0; i < runs.length; ++i) {
          final ByteBuffer to = ByteBuffer.allocateDirect((int) runs[i].bytes());
          checkpoint.read(i, to);
          kept.put(runs[i].origin() + "/" + runs[i].generation(), to);
        }
        part = checkpoint.privatePart();
        assertArrayEquals(runs, HoldfastCheckpoint.runsOf(part));
        fails(
            HoldfastException.INVALID_OPTION,
            "bytes",
            () -> checkpoint.read(0, ByteBuffer.allocateDirect(1)));
        assertThrows(
            IllegalArgumentException.class, () -> checkpoint.read(0, ByteBuffer.allocate(1)));
      }
    }
    final RunReader reader = (origin, generation, to) -> to.put(kept.get(origin + "/" + generation).duplicate());
    HoldfastStore.restore(scratch.path("again"), part, reader, new HoldfastOptions());
    try (HoldfastStore store = open("again")) {
      assertEquals(999, store.count());
      assertEquals("value999", text(store.get(bytes("key999"))));
      assertNull(store.get(bytes("later")));
      assertNull(store.get(bytes("key500")));
    }
    try (HoldfastStore store = open("imported")) {
      assertEquals(11 + 111, store.importCheckpoint(part, reader, bytes("key10"), bytes("key2")));
      assertEquals("value10", text(store.get(bytes("key10"))));
      assertNull(store.get(bytes("key3")));
      assertEquals(999, store.importCheckpoint(part, reader));
      assertEquals(999, store.count());
      // What the reader throws comes out as it is.
      final IllegalStateException thrown = new IllegalStateException("the file is gone");
      assertSame(
          thrown,
          assertThrows(
              IllegalStateException.class,
              () ->
                  store.importCheckpoint(
                      part,
                      (origin, generation, to) -> {
                        throw thrown;
                      })));
    }
    final byte[] damaged = Arrays.copyOf(part, part.length - 1);
    fails(HoldfastException.CORRUPT, "HF_CORRUPT", () -> HoldfastCheckpoint.runsOf(damaged));
    fails(
        HoldfastException.ALREADY_EXISTS,
        "again",
        () ->
            HoldfastStore.restore(scratch.path("again"), part, reader, new HoldfastOptions()));
  }

  @Test
  void aRestoredStoreInMemoryIsOpen() {
    final Map<String, ByteBuffer> kept = new HashMap<>();
    final byte[] part;
    try (HoldfastStore store = open("original")) {
      for (int i = 0; i < 1000; ++i) store.put(bytes("key" + i), bytes("value" + i));
      part = checkpointed(store, kept);
    }
    final RunReader reader = (origin, generation, to) -> to.put(kept.get(origin + "/" + generation).duplicate());
    try (HoldfastStore store =
        HoldfastStore.restoreOpen("dram", part, reader, new HoldfastOptions().set("order", "true"))) {
      assertEquals(1000, store.count());
      assertEquals(111, store.countPrefix(bytes("key1")));
      store.put(bytes("new"), bytes("one"));
      // Its runs have their names, so a checkpoint of it has few new ones.
      final Map<String, ByteBuffer> again = new HashMap<>();
      checkpointed(store, again);
      assertTrue(again.keySet().containsAll(kept.keySet()), again.keySet() + " " + kept.keySet());
      assertEquals(kept.size() + 1, again.size());
    }
    fails(
        HoldfastException.INVALID_OPTION,
        "did you mean 'order'",
        () ->
            HoldfastStore.restoreOpen(
                "dram", part, reader, new HoldfastOptions().set("ordre", "true")));
  }

  private static byte[] checkpointed(HoldfastStore store, Map<String, ByteBuffer> kept) {
    try (HoldfastCheckpoint checkpoint = store.checkpoint()) {
      final Run[] runs = checkpoint.runs();
      for (int i = 0; i < runs.length; ++i) {
        final ByteBuffer to = ByteBuffer.allocateDirect((int) runs[i].bytes());
        checkpoint.read(i, to);
        kept.put(runs[i].origin() + "/" + runs[i].generation(), to);
      }
      return checkpoint.privatePart();
    }
  }

  /** What close() did under a call ended the JVM once. */
  @Test
  void aStoreIsClosedBesideCallsOfOtherThreads() throws Exception {
    for (int round = 0; round < 200; ++round) {
      final HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered());
      final AtomicLong calls = new AtomicLong();
      final AtomicReference<Throwable> wrong = new AtomicReference<>();
      final List<Thread> threads = new ArrayList<>();
      for (int number = 0; number < 4; ++number) {
        final byte[] key = bytes("key" + number);
        final Thread thread =
            new Thread(
                () -> {
                  try {
                    for (; ; calls.incrementAndGet()) {
                      store.put(key, key);
                      if (!Arrays.equals(store.get(key), key)) {
                        throw new IllegalStateException("another value");
                      }
                      try (HoldfastIterator records = store.iterator()) {
                        records.first(key);
                        if (!records.valid()) throw new IllegalStateException("no record");
                      }
                    }
                  } catch (HoldfastException exception) {
                    if (exception.code() != HoldfastException.CLOSED) wrong.set(exception);
                  } catch (Throwable failure) {
                    wrong.set(failure);
                  }
                });
        threads.add(thread);
        thread.start();
      }
      while (calls.get() < 20) Thread.onSpinWait();
      // Iterators come and go: it refuses while there is one.
      for (boolean closed = false; !closed; ) {
        try {
          store.close();
          closed = true;
        } catch (HoldfastException exception) {
          assertEquals(HoldfastException.BUSY, exception.code());
          assertTrue(store.isOpen());
        }
      }
      for (Thread thread : threads) thread.join();
      assertNull(wrong.get());
      fails(HoldfastException.CLOSED, "closed", store::count);
    }
  }

  private interface User {
    void use() throws Exception;
  }

  /** `what` is closed by this thread while another one uses it, which is told by an exception. */
  private static void closedInUse(AutoCloseable what, User user) throws Exception {
    final AtomicLong calls = new AtomicLong();
    final AtomicReference<Throwable> ended = new AtomicReference<>();
    final Thread thread =
        new Thread(
            () -> {
              try {
                for (; ; calls.incrementAndGet()) user.use();
              } catch (Throwable failure) {
                ended.set(failure);
              }
            });
    thread.start();
    while (calls.get() < 3 && thread.isAlive()) Thread.onSpinWait();
    what.close();
    thread.join();
    // The latter: behind the last record that it had.
    assertTrue(
        ended.get() instanceof HoldfastException exception
                && exception.code() == HoldfastException.CLOSED
            || ended.get() instanceof IllegalStateException,
        () -> String.valueOf(ended.get()));
  }

  /** It ended the JVM, or the other thread waited for ever. */
  @Test
  void whatIsClosedUnderAnotherThreadIsRefusedThere() throws Exception {
    try (HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered())) {
      for (int i = 0; i < 2000; ++i) store.put(bytes("key" + i), new byte[200]);
      for (int round = 0; round < 200; ++round) {
        final HoldfastIterator records = store.iterator();
        closedInUse(
            records,
            () -> {
              for (records.first(bytes("")); records.valid(); records.next()) records.value();
            });
        final HoldfastSnapshot snapshot = store.snapshot();
        closedInUse(snapshot, () -> snapshot.get(bytes("key7")));
        final HoldfastCheckpoint checkpoint = store.checkpoint();
        final ByteBuffer run = ByteBuffer.allocateDirect((int) checkpoint.runs()[0].bytes());
        closedInUse(
            checkpoint,
            () -> {
              checkpoint.privatePart();
              checkpoint.read(0, run);
            });
      }
    }
  }

  /** A thread that had not called any store before waited for the close of another store, and for what that waited for. */
  @Test
  void aStoreThatIsClosedHoldsUpNoOther() throws Exception {
    try (HoldfastStore other = HoldfastStore.open("dram", new HoldfastOptions())) {
      final HoldfastStore store = HoldfastStore.open("dram", new HoldfastOptions());
      long took = 0;
      for (int records = 0; took < 500_000_000; ) {
        for (final int end = records + 100_000; records < end; ++records) {
          store.put(bytes("key" + records), new byte[500]);
        }
        final long begin = System.nanoTime();
        store.verify();
        took = System.nanoTime() - begin;
      }
      final AtomicLong verified = new AtomicLong(), called = new AtomicLong();
      final Thread verifies =
          new Thread(
              () -> {
                store.verify();
                verified.set(System.nanoTime());
              });
      final Thread closes = new Thread(store::close);
      final Thread calls =
          new Thread(
              () -> {
                other.count();
                called.set(System.nanoTime());
              });
      verifies.start();
      Thread.sleep(50);
      closes.start();
      Thread.sleep(50);
      calls.start();
      for (Thread thread : List.of(verifies, closes, calls)) thread.join();
      assertTrue(called.get() < verified.get(), "the call waited for the close");
      assertFalse(store.isOpen());
    }
  }

  @Test
  void aStoreIsNotClosedUnderAnImport() {
    final Map<String, ByteBuffer> kept = new HashMap<>();
    final byte[] part;
    try (HoldfastStore store = open("original")) {
      store.put(bytes("k"), bytes("v"));
      part = checkpointed(store, kept);
    }
    try (HoldfastStore store = open("imported")) {
      final AtomicLong refused = new AtomicLong();
      store.importCheckpoint(
          part,
          (origin, generation, to) -> {
            fails(HoldfastException.BUSY, "an import", store::close);
            assertNull(store.get(bytes("k")));
            refused.incrementAndGet();
            to.put(kept.get(origin + "/" + generation).duplicate());
          });
      assertTrue(refused.get() > 0);
      assertEquals("v", text(store.get(bytes("k"))));
    }
  }

  /** It stood at records of zeros behind a group that could not be fetched. */
  @Test
  void anIteratorThatFailedIsAtNoRecord() {
    try (HoldfastStore store = HoldfastStore.open("dram", Scratch.ordered())) {
      for (int i = 0; i < 3; ++i) store.put(bytes("k" + i), bytes("v" + i));
      store.put(bytes("k5"), new byte[1_000_000]); // Larger ones take other memory.
      store.put(bytes("k6"), bytes("behind"));
      try (HoldfastIterator records = store.iterator()) {
        records.first(bytes(""));
        for (int i = 0; i < 2; ++i) records.next();
        assertEquals("k2", text(records.key()));
        final List<ByteBuffer> all = new ArrayList<>(); // So that the JVM has no memory for k5.
        for (int size : new int[] {32 << 20, 256 << 10}) {
          assertThrows(
              OutOfMemoryError.class,
              () -> {
                for (; ; ) all.add(ByteBuffer.allocateDirect(size));
              });
        }
        assertThrows(OutOfMemoryError.class, records::next);
        assertFalse(records.valid());
        assertThrows(IllegalStateException.class, records::key);
        records.next();
        assertFalse(records.valid());
        assertThrows(OutOfMemoryError.class, () -> records.seek(bytes("k3")));
        assertFalse(records.valid());
        records.seek(bytes("k6"));
        assertEquals("behind", text(records.value()));
        assertFalse(all.isEmpty());
      }
    }
  }

  /** Each of these ended the JVM, wrote where it must not, or was taken for another thing. */
  @Test
  void whatNativeCodeCannotSeeIsRefused() {
    final Map<String, ByteBuffer> kept = new HashMap<>();
    final byte[] part;
    final Bytes some = new Bytes(256);
    try (HoldfastStore store = open("s")) {
      store.put(bytes("k"), new byte[1000]);
      part = checkpointed(store, kept);
      assertThrows(NullPointerException.class, () -> store.importCheckpoint(part, null));
      try (HoldfastCheckpoint checkpoint = store.checkpoint()) {
        final int count = (int) checkpoint.runs()[0].bytes();
        assertThrows(NullPointerException.class, () -> checkpoint.read(0, (ByteBuffer) null));
        assertThrows(
            IllegalArgumentException.class,
            () -> checkpoint.read(0, ByteBuffer.allocateDirect(count).asReadOnlyBuffer()));
      }
      final long at = some.set(bytes("k"));
      fails(HoldfastException.INVALID_OPTION, "capacity=-1", () -> store.get(at, 1, at, -1));
      fails(
          HoldfastException.INVALID_OPTION,
          "capacity=-1",
          () -> store.getMany(1, at, at, at, -1, at, at));
      fails(
          HoldfastException.INVALID_OPTION,
          "count=-1",
          () -> store.getMany(-1, at, at, at, 1, at, at));
      fails(HoldfastException.INVALID_OPTION, "count=-2", () -> store.putMany(-2, at, at, at, at));
      fails(
          HoldfastException.INVALID_OPTION,
          "offset=-1",
          () -> store.expire(bytes("s:"), -1, 8, true, 1));
      fails(
          HoldfastException.INVALID_OPTION,
          "ttl=-1",
          () -> store.expire(bytes("s:"), 0, 8, true, -1));
      // As a number without a sign this is the end of time: everything would expire.
      fails(HoldfastException.INVALID_OPTION, "now=-1", () -> store.setClock(-1));
    }
    final HoldfastOptions none = new HoldfastOptions();
    assertThrows(
        NullPointerException.class,
        () -> HoldfastStore.restore(scratch.path("other"), part, null, none));
    assertThrows(
        NullPointerException.class, () -> HoldfastStore.restoreOpen("dram", part, null, none));
    fails(
        HoldfastException.INVALID_OPTION,
        "NUL",
        () -> HoldfastStore.open(scratch.path("cut") + "\0short", none));
    fails(
        HoldfastException.INVALID_OPTION,
        "surrogate",
        () -> HoldfastStore.open("/tmp/half\ud800", none));
    assertFalse(new File(scratch.path("cut")).exists());
    some.keep();
  }

  @Test
  void recordsExpire() {
    try (HoldfastStore store = open("s")) {
      store.expire(bytes("s:"), 0, 8, true, 500);
      store.put(bytes("s:1"), ByteBuffer.allocate(8).putLong(1000).array());
      store.setClock(1499);
      assertEquals(8, store.get(bytes("s:1")).length);
      store.setClock(1500);
      assertNull(store.get(bytes("s:1")));
      fails(HoldfastException.INVALID_OPTION, "1499", () -> store.setClock(1499));
      store.reclaim();
    }
  }

  @Test
  void prefixesEndWhereTheyShould() {
    assertArrayEquals(bytes("b"), KeyRanges.behind(bytes("a")));
    assertArrayEquals(new byte[] {2}, KeyRanges.behind(new byte[] {1, -1, -1}));
    assertArrayEquals(new byte[] {}, KeyRanges.behind(new byte[] {-1, -1}));
    assertArrayEquals(new byte[] {(byte) 0x80}, KeyRanges.behind(new byte[] {0x7f}));
    assertArrayEquals(new byte[] {}, KeyRanges.behind(new byte[] {}));
  }
}
