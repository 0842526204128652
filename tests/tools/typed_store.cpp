// typed_store DIRECTORY: makes a store of fixed key and value types, which the command knows
// nothing of.
#include <cstdint>
#include <cstdio>

#include <holdfast/kv/typed_store.hpp>

namespace {
struct Entry {
  std::uint64_t number;
  std::uint64_t square;
};
}  // namespace

int main(int, char** argv) {
  auto store = holdfast::kv::Store<std::uint64_t, Entry>::open(argv[1]);
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message().c_str()), 1;
  for (std::uint64_t key = 0; key < 100; ++key) {
    if (!store->put(key, {key, key * key})) return 1;
  }
  return store->close() ? 0 : 1;
}
