// A user of typed_store.hpp: fixed types, compiled to plain moves.
#include <cstdint>
#include <cstdio>

#include <holdfast/kv/typed_store.hpp>

struct Person {
  std::uint64_t age;
  std::uint64_t weight_g;
};

int main(int, char** argv) {
  auto store = holdfast::kv::Store<std::uint64_t, Person>::open(argv[1]);
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message().c_str()), 1;
  if (!store->put(1815, {36, 50'000})) return 1;
  Person ada{};
  if (!store->get(1815, ada)) return 1;
  std::printf("ada is %d\n", static_cast<int>(ada.age));
  return store->close() ? 0 : 1;
}
