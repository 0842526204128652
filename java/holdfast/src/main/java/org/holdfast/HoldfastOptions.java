package org.holdfast;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How a store is created and opened, by the names that holdfast.h lists: {@code new HoldfastOptions().set("order",
 * "true")}. Names and values are checked when a store is opened.
 */
public final class HoldfastOptions {
  private final Map<String, String> values = new LinkedHashMap<>();

  public HoldfastOptions set(String name, String value) {
    values.put(name, value);
    return this;
  }

  /** Native options for the time of one call. */
  @FunctionalInterface
  interface Call {
    long with(long options);
  }

  long use(Call call) {
    final long options = Native.checked(Native.optionsNew());
    try {
      final Bytes name = new Bytes(0), value = new Bytes(0);
      for (Map.Entry<String, String> entry : values.entrySet()) {
        Native.checked(
            Native.optionsSet(
                options, name.setText(entry.getKey()), value.setText(entry.getValue())));
        name.keep();
        value.keep();
      }
      return Native.checked(call.with(options));
    } finally {
      Native.optionsFree(options);
    }
  }
}
