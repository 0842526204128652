package org.holdfast;

import java.util.Arrays;

/** hf_key_range for native code: the keys that begin with one of several prefixes. */
final class KeyRanges {
  private static final int RANGE_BYTES = 32;

  private final Bytes ranges;
  // The keys that the ranges point to; kept as long as they.
  private final Bytes keys;

  private KeyRanges(Bytes ranges, Bytes keys) {
    this.ranges = ranges;
    this.keys = keys;
  }

  static KeyRanges ofPrefixes(byte[]... prefixes) {
    final Bytes keys = new Bytes(2 * Arrays.stream(prefixes).mapToInt(key -> key.length).sum());
    final Bytes ranges = new Bytes(prefixes.length * RANGE_BYTES);
    int used = 0;
    for (int i = 0; i < prefixes.length; ++i) {
      for (int end = 0; end < 2; ++end) {
        final byte[] key = end == 0 ? prefixes[i] : behind(prefixes[i]);
        keys.buffer().put(used, key);
        ranges.buffer().putLong(i * RANGE_BYTES + end * 16, keys.address() + used);
        ranges.buffer().putLong(i * RANGE_BYTES + end * 16 + 8, key.length);
        used += key.length;
      }
    }
    return new KeyRanges(ranges, keys);
  }

  long address() {
    return ranges.address();
  }

  void keep() {
    ranges.keep();
    keys.keep();
  }

  /** The least key above all that begin with the prefix; empty: there is none. */
  static byte[] behind(byte[] prefix) {
    int last = prefix.length - 1;
    while (last >= 0 && prefix[last] == (byte) 0xff) --last;
    final byte[] key = Arrays.copyOf(prefix, last + 1);
    if (last >= 0) ++key[last];
    return key;
  }
}
