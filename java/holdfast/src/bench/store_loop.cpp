// store_loop.cpp: the loops of JniLoop.java in C++, beside which a call through JNI is judged.
//
//   store_loop STORE RECORDS   prints nanoseconds of the CPU for a put of a new key, an overwrite, a get,
//                              and a get of two keys in turn
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include <holdfast/kv/store.hpp>

namespace {

using holdfast::kv::Store;

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;

double thread_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Body>
double nanoseconds_of(std::uint64_t count, Body&& body) {
  const double begin = thread_nanoseconds();
  for (std::uint64_t i = 0; i < count; ++i)
    body(i);
  return (thread_nanoseconds() - begin) / static_cast<double>(count);
}

}  // namespace

int main(int, char** words) {
  auto store = Store<>::open(words[1]).value();
  const std::uint64_t count = std::strtoull(words[2], nullptr, 10);
  char key[16] = {};
  std::byte value[200] = {};
  const std::string_view key_text(key, sizeof key);
  const auto put = [&](std::uint64_t i) {
    std::memcpy(key, &i, 8);
    std::memcpy(value, &i, 8);
    store.put(key_text, {reinterpret_cast<const char*>(value), sizeof value}).value();
  };
  const double insert = nanoseconds_of(count, put);
  const double overwrite =
      nanoseconds_of(count, [&](std::uint64_t i) { put((i * kMix >> 1) % count); });
  std::uint64_t wrong = 0;
  const auto get = [&](std::uint64_t i) {
    const std::uint64_t number = ((i * kMix + 1) >> 1) % count;
    std::uint64_t seen = 0;
    std::memcpy(key, &number, 8);
    wrong += store.get(key_text, std::span(value)).value() != sizeof value;
    std::memcpy(&seen, value, 8);
    wrong += seen != number;
  };
  const double gets = nanoseconds_of(count, get);
  const double same = nanoseconds_of(count, [&](std::uint64_t i) { get(i & 1); });
  if (wrong != 0) return std::fprintf(stderr, "%llu wrong values\n", (unsigned long long)wrong), 1;
  store.close().value();
  std::printf("%.1f %.1f %.1f %.1f\n", insert, overwrite, gets, same);
}
