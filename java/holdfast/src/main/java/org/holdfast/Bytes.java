package org.holdfast;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Memory outside of the heap with a fixed address, which native code reads and writes. It grows on demand, and then has
 * another address. For one thread.
 *
 * <p>The memory goes with this object. Code that passes an address on, and does not use the object afterwards, calls
 * {@link #keep} after the call. Else the collector may take the memory while native code is in it.
 */
public final class Bytes {
  private static final int LEAST = 256;
  private static final int MOST = Integer.MAX_VALUE - 8;
  private static final int MOST_OF_A_KEY = 64 << 10;

  private ByteBuffer buffer;
  private long address;

  public Bytes(int capacity) {
    allocate(capacity);
  }

  /** Little-endian; position and limit are the user's. */
  public ByteBuffer buffer() {
    return buffer;
  }

  public long address() {
    return address;
  }

  public int capacity() {
    return buffer.capacity();
  }

  /** At least so many bytes. What was in it is lost where it had to grow. */
  public Bytes ensure(long capacity) {
    if (capacity > MOST) {
      throw new HoldfastException(
          HoldfastException.TOO_LARGE,
          "HF_TOO_LARGE: " + capacity + " bytes; a buffer of Java has at most " + MOST);
    }
    if (capacity > buffer.capacity()) {
      allocate((int) Math.max(capacity, Math.min(MOST, 2L * buffer.capacity())));
    }
    return this;
  }

  /** Copies `count` bytes of the array to the begin, and returns their address. */
  public long set(byte[] bytes, int from, int count) {
    ensure(count);
    buffer.put(0, bytes, from, count);
    return address;
  }

  public long set(byte[] bytes) {
    return set(bytes, 0, bytes.length);
  }

  /** The same for a key, or a prefix or bound of keys. One that is too long is refused here: what grows stays grown. */
  long setKey(byte[] key) {
    if (key.length > MOST_OF_A_KEY) {
      throw new HoldfastException(
          HoldfastException.TOO_LARGE,
          "HF_TOO_LARGE: a key or prefix of " + key.length + " bytes; at most " + MOST_OF_A_KEY + " are allowed");
    }
    return set(key);
  }

  /** This object is there until here. */
  public void keep() {
    Reference.reachabilityFence(this);
  }

  /** The first `count` bytes. */
  public byte[] get(int count) {
    final byte[] bytes = new byte[count];
    buffer.get(0, bytes);
    return bytes;
  }

  /** UTF-8 with a zero behind it, for native code. */
  long setText(String text) {
    final ByteBuffer bytes;
    try {
      bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
    } catch (CharacterCodingException exception) {
      throw HoldfastException.invalid("'" + text + "' has half of a surrogate pair");
    }
    final int count = bytes.remaining();
    for (int at = 0; at < count; ++at) {
      if (bytes.get(at) == 0) {
        throw HoldfastException.invalid("a text with a NUL, which ends it: '" + text.substring(0, text.indexOf(0)) + "…'");
      }
    }
    ensure(count + 1L);
    buffer.put(0, bytes, 0, count);
    buffer.put(count, (byte) 0);
    return address;
  }

  private void allocate(int capacity) {
    buffer = ByteBuffer.allocateDirect(Math.max(capacity, LEAST)).order(ByteOrder.LITTLE_ENDIAN);
    address = Native.addressOf(buffer);
  }
}
