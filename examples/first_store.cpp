// A durable store in 25 lines. Run it twice; or kill it, and run it again.
#include <cstdio>
#include <string>

#include <holdfast/kv/store.hpp>

int main() {
  auto store = holdfast::kv::Store<>::open("./first.store");
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message().c_str());
    return 1;
  }
  std::string runs = "0";
  const auto found = store->get("runs", runs);
  if (!found && found.code() != holdfast::Errc::kNotFound) return 1;

  runs = std::to_string(std::stoi(runs) + 1);
  const auto put = store->put("runs", runs);  // Once it returns, the record survives kill -9 …
  const auto synced = store->sync();          // … and now power loss too, where the medium can.
  if (!put || !synced) return 1;

  std::printf("run number %s\n", runs.c_str());
  return store->close() ? 0 : 1;
}
