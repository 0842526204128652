package org.holdfast.flink;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The values of one state that were used last, in front of the store. A value that is written goes to the store
 * when its place is needed, or by {@link #flush}, and not at all where it is erased before: most of a window's values never
 * leave the cache.
 *
 * <p>Places are in sets of four; the one of a set that was used least recently goes. It begins small, and grows with use to
 * `most` entries, and as far as there is heap for them. Where few of the accesses find their value, it stands aside for a while.
 *
 * <p>Threads: all of the task's, but for {@link #look}, which any thread may call. A lock that is nearly always free keeps them
 * apart. Nobody changes a value that is in it.
 */
final class ValueCache<V> {
  /** The store, for records under keys in the first `count` bytes. */
  interface Backing<V> {
    /** Null: there is none. */
    V read(byte[] key, int count) throws IOException;

    void write(byte[] key, int count, V value) throws IOException;

    void erase(byte[] key, int count);

    /** Whether the value may have a place: one that is large would take that of many. */
    default boolean isSmall(V value) {
      return true;
    }

    /** About what the value takes of the heap. */
    default int heapBytes(V value) {
      return Long.BYTES;
    }
  }

  private static final class Place<V> {
    byte[] key;
    int hash;
    // Null: it is known that there is no value.
    V value;
    // Not as in the store; whether the store may have a record of the key.
    boolean dirty;
    boolean stored;
    // Of the heap, with key and value.
    int bytes;
  }

  private static final int WAYS = 4;
  private static final int FIRST_ENTRIES = 256;
  // How often it looks whether it is of use, what share of the accesses it must serve, how long it stands aside.
  private static final int ACCESSES_PER_LOOK = 1 << 16;
  private static final int LEAST_SHARE = 8;
  private static final int ACCESSES_ASIDE = 1 << 20;
  // Of a place beside the bytes of key and value: itself, and what the JVM has in front of both.
  private static final int PLACE_BYTES = 96;
  // Larger ones go by. So a key that the store refuses is refused at once.
  private static final int LARGEST_KEY_BYTES = 4 << 10;
  // What it takes of the heap's share at a time.
  private static final int BYTES_AT_ONCE = 64 << 10;
  private static final VarHandle LOCK;
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  static {
    try {
      LOCK = MethodHandles.lookup().findVarHandle(ValueCache.class, "locked", int.class);
    } catch (ReflectiveOperationException exception) {
      throw new ExceptionInInitializerError(exception);
    }
  }

  private final Backing<V> backing;
  private final int most;
  private final CacheHeap heap;
  // Of all places; what it has of the heap's share for them.
  private long bytes;
  private long granted;
  // Since it looked last whether it is of use, it got no more of the heap.
  private boolean refused;
  private Place<V>[] places;
  private int evictions;
  private int accesses;
  private int hits;
  private int aside;

  @SuppressWarnings("unused") // LOCK
  private int locked;

  /** `most`: a power of two, or 0: nothing is cached. */
  ValueCache(int most, Backing<V> backing) {
    this(most, CacheHeap.UNLIMITED, backing);
  }

  ValueCache(int most, CacheHeap heap, Backing<V> backing) {
    this.backing = backing;
    this.most = most;
    this.heap = heap;
    places = empty(Math.min(FIRST_ENTRIES, most));
    aside = most == 0 ? Integer.MAX_VALUE : 0;
  }

  @SuppressWarnings("unchecked")
  private static <V> Place<V>[] empty(int entries) {
    return (Place<V>[]) new Place<?>[entries];
  }

  private void lock() {
    while (!LOCK.compareAndSet(this, 0, 1)) Thread.onSpinWait();
  }

  private void unlock() {
    LOCK.setRelease(this, 0);
  }

  // ---- Accesses ----

  /** Null: there is none. */
  V get(byte[] key, int count) throws IOException {
    if (standsAside()) return backing.read(key, count);
    lock();
    try {
      final int hash = hash(key, count), set = set(hash);
      Place<V> place = find(set, hash, key, count);
      if (place != null) return place.value;
      final V value = backing.read(key, count);
      if (value != null && !backing.isSmall(value) || !hasRoom(set, null, count, value)) {
        return value;
      }
      place = take(set, hash, key, count);
      fill(place, value);
      place.stored = value != null;
      return value;
    } finally {
      unlock();
    }
  }

  void put(byte[] key, int count, V value) throws IOException {
    if (standsAside()) {
      backing.write(key, count, value);
      return;
    }
    lock();
    try {
      final int hash = hash(key, count), set = set(hash);
      Place<V> place = find(set, hash, key, count);
      if (!backing.isSmall(value) || !hasRoom(set, place, count, value)) {
        backing.write(key, count, value);
        if (place != null) dropFirst(set);
        return;
      }
      if (place == null) {
        place = take(set, hash, key, count);
        place.stored = true; // It is not known.
      }
      fill(place, value);
      place.dirty = true;
    } finally {
      unlock();
    }
  }

  void erase(byte[] key, int count) throws IOException {
    if (standsAside()) {
      backing.erase(key, count);
      return;
    }
    lock();
    try {
      final int hash = hash(key, count), set = set(hash);
      final Place<V> place = find(set, hash, key, count);
      if (place == null || place.stored) backing.erase(key, count);
      if (place == null) return;
      fill(place, null);
      place.dirty = place.stored = false;
      // It is the next to go: it was found, so it is the first of its set.
      int last = WAYS - 1;
      while (places[set + last] == null) --last;
      System.arraycopy(places, set + 1, places, set, last);
      places[set + last] = place;
    } finally {
      unlock();
    }
  }

  /** What the store has is what was written. */
  void flush() throws IOException {
    lock();
    try {
      for (Place<V> place : places) write(place);
    } finally {
      unlock();
    }
  }

  /** The same, and nothing is cached: the serializers change, or the records behind it. */
  void clear() throws IOException {
    flush();
    drop();
  }

  /** Nothing is cached, and nothing is written: the store goes, too. */
  void drop() {
    lock();
    try {
      Arrays.fill(places, null);
      heap.give(granted);
      bytes = granted = 0;
    } finally {
      unlock();
    }
  }

  /** Calls `visit` with the value, if it is here; it must not keep it. Otherwise what the store has counts. */
  boolean look(byte[] key, Visit<V> visit) throws IOException {
    lock();
    try {
      if (places.length == 0) return false;
      final int hash = hash(key, key.length), set = set(hash);
      for (int way = 0; way < WAYS; ++way) {
        final Place<V> place = places[set + way];
        if (place == null || !is(place, hash, key, key.length)) continue;
        visit.value(place.value);
        return true;
      }
      return false;
    } finally {
      unlock();
    }
  }

  interface Visit<V> {
    /** Null: there is none. */
    void value(V value) throws IOException;
  }

  // ---- Places ----

  private static int hash(byte[] key, int count) {
    long hash = count;
    int at = 0;
    for (; at + 8 <= count; at += 8) {
      hash = (hash ^ (long) LONGS.get(key, at)) * 0x9e3779b97f4a7c15L;
      hash ^= hash >>> 32;
    }
    long rest = 0;
    for (; at < count; ++at) rest = rest << 8 | key[at] & 0xff;
    hash = (hash ^ rest) * 0x9e3779b97f4a7c15L;
    return (int) (hash >>> 32);
  }

  private int set(int hash) {
    return hash & places.length - 1 & -WAYS;
  }

  private static boolean is(Place<?> place, int hash, byte[] key, int count) {
    return place.hash == hash && Arrays.equals(place.key, 0, place.key.length, key, 0, count);
  }

  /** The place of the key, which becomes the first of its set; null: it has none. */
  private Place<V> find(int set, int hash, byte[] key, int count) {
    ++accesses;
    for (int way = 0; way < WAYS; ++way) {
      final Place<V> place = places[set + way];
      if (place == null) return null;
      if (!is(place, hash, key, count)) continue;
      ++hits;
      if (way != 0) toFront(set, way, place);
      return place;
    }
    return null;
  }

  private void toFront(int set, int way, Place<V> place) {
    System.arraycopy(places, set, places, set + 1, way);
    places[set] = place;
  }

  private void dropFirst(int set) {
    bytes -= places[set].bytes;
    System.arraycopy(places, set + 1, places, set, WAYS - 1);
    places[set + WAYS - 1] = null;
  }

  /** A place for a key that has none, the first of its set. */
  private Place<V> take(int set, int hash, byte[] key, int count) throws IOException {
    int way = 0;
    while (way < WAYS - 1 && places[set + way] != null) ++way;
    Place<V> place = places[set + way];
    if (place == null) {
      place = new Place<>();
    } else {
      write(place);
      ++evictions;
    }
    bytes -= place.bytes;
    place.bytes = 0;
    if (place.key == null || place.key.length != count) place.key = new byte[count];
    System.arraycopy(key, 0, place.key, 0, count);
    place.hash = hash;
    place.value = null;
    place.dirty = place.stored = false;
    toFront(set, way, place);
    return place;
  }

  private void write(Place<V> place) throws IOException {
    if (place == null || !place.dirty) return;
    backing.write(place.key, place.key.length, place.value);
    place.dirty = false;
    place.stored = true;
  }

  // ---- Heap ----

  private int heapBytes(int keyCount, V value) {
    return PLACE_BYTES + keyCount + (value == null ? 0 : backing.heapBytes(value));
  }

  private void fill(Place<V> place, V value) {
    place.value = value;
    bytes -= place.bytes;
    place.bytes = heapBytes(place.key.length, value);
    bytes += place.bytes;
  }

  /** Whether `place`, or a new one where it is null, may have key and value; the last of its set goes for it. */
  private boolean hasRoom(int set, Place<V> place, int keyCount, V value) throws IOException {
    if (keyCount > LARGEST_KEY_BYTES) return false;
    final int wanted = heapBytes(keyCount, value);
    final int more = wanted - (place == null ? 0 : place.bytes);
    if (isGranted(more)) return true;
    int last = WAYS - 1;
    while (last >= 0 && places[set + last] == null) --last;
    if (last < 0 || places[set + last] == place) return false;
    write(places[set + last]);
    bytes -= places[set + last].bytes;
    places[set + last] = null;
    return isGranted(more);
  }

  private boolean isGranted(int more) {
    while (bytes + more > granted) {
      if (!heap.take(BYTES_AT_ONCE)) {
        refused = true;
        return false;
      }
      granted += BYTES_AT_ONCE;
    }
    return true;
  }

  // ---- Size ----

  private boolean standsAside() throws IOException {
    if (aside > 0) {
      if (most != 0) --aside;
      return true;
    }
    if (evictions > places.length && places.length < most) grow();
    if (accesses >= ACCESSES_PER_LOOK) {
      final boolean mayGrow = places.length < most && !refused;
      final boolean ofUse = hits >= accesses / LEAST_SHARE || mayGrow;
      accesses = hits = 0;
      refused = false;
      if (!ofUse) {
        clear();
        aside = ACCESSES_ASIDE;
        return true;
      }
    }
    return false;
  }

  /** Each set becomes two, and its places stay in their order. */
  private void grow() {
    lock();
    try {
      final Place<V>[] before = places;
      places = empty(2 * before.length);
      evictions = 0;
      for (Place<V> place : before) {
        if (place == null) continue;
        int at = set(place.hash);
        while (places[at] != null) ++at;
        places[at] = place;
      }
    } finally {
      unlock();
    }
  }
}
