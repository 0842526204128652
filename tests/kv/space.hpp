// space.hpp: keys that live for a moment over keys that never change. Without an end to tombstones,
// and to the dead records that they erase, the medium would grow for ever.
#pragma once

#include <cstring>

#include "support.hpp"

namespace holdfast::kv {

struct ColdAndShortLived {
  std::uint64_t cold = 0;         // Put once, in the beginning.
  std::uint64_t short_lived = 0;  // Distinct; each is erased when 100 younger ones are there.
};

inline std::string key_of(char kind, std::uint64_t number) {
  std::string key(16, kind);
  std::memcpy(key.data() + 8, &number, sizeof number);
  return key;
}

// Returns the numbers at the moment when most blocks were in use.
inline StoreStats run(Store<>& store, const ColdAndShortLived& load) {
  StoreStats peak;
  const std::string value(100, 'v');
  for (std::uint64_t i = 0; i < load.cold; ++i) {
    store.put(key_of('c', i), value).value();
    // Some short-lived ones between them, so that no block is all cold.
    if (i % 4 == 0) {
      store.put(key_of('t', i), value).value();
      store.erase(key_of('t', i)).value();
    }
  }
  constexpr std::uint64_t kAlive = 100;
  for (std::uint64_t i = 0; i < load.short_lived; ++i) {
    store.put(key_of('s', i), value).value();
    if (i >= kAlive && !store.erase(key_of('s', i - kAlive)).value())
      ADD_FAILURE() << "lost " << i - kAlive;
    if (i % 10'000 == 0) {
      const auto stats = store.stats();
      if (stats.used_bytes > peak.used_bytes) peak = stats;
    }
  }
  for (std::uint64_t i = load.short_lived - std::min(load.short_lived, kAlive);
       i < load.short_lived; ++i) {
    if (!store.erase(key_of('s', i)).value()) ADD_FAILURE() << "lost " << i;
  }
  return peak;
}

inline void expect_cold(Store<>& store, const ColdAndShortLived& load) {
  EXPECT_EQ(store.count(), load.cold);
  const std::string value(100, 'v');
  for (std::uint64_t i = 0; i < load.cold; ++i)
    ASSERT_EQ(get(store, key_of('c', i)), value) << i;
}

}  // namespace holdfast::kv
