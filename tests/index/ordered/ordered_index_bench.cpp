// The cost goals of the ordered index, printed beside a std::set, or an absl::btree_set where its
// header is found, under one mutex. Not a test: run it on a quiet machine.
//
//   ordered_index_bench [keys = 10000000]
//
// Keys are 16 random bytes. Every figure is checked: counts, and the sum of what a scan reads.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#ifdef HOLDFAST_HAS_ABSEIL
#include <absl/container/btree_set.h>
template <class K>
using PeerSet = absl::btree_set<K>;
constexpr const char* kPeer = "absl::btree_set";
#else
#include <set>
template <class K>
using PeerSet = std::set<K>;
constexpr const char* kPeer = "std::set";
#endif

#include <holdfast/index/ordered/cursor.hpp>
#include <holdfast/index/ordered/ordered_index.hpp>

namespace {

using namespace holdfast;
using namespace holdfast::index::ordered;
using Clock = std::chrono::steady_clock;

struct Key {
  std::array<unsigned char, 16> bytes;

  std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), 16}; }
  bool operator<(const Key& other) const {
    return std::memcmp(bytes.data(), other.bytes.data(), 16) < 0;
  }
};

std::vector<Key> random_keys(std::uint64_t n) {
  std::vector<Key> keys(n);
  std::uint64_t state = 88172645463325252;
  for (Key& key : keys) {
    for (int word = 0; word < 2; ++word) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      std::memcpy(key.bytes.data() + 8 * word, &state, 8);
    }
  }
  return keys;
}

void expect(bool right, const char* what) {
  if (!right) std::printf("WRONG ANSWER: %s\n", what), std::exit(1);
}

// ns per key; body(begin, end) on each thread.
template <class Body>
double timed(const char* name, std::uint64_t n, unsigned threads, Body body) {
  const auto begin = Clock::now();
  std::vector<std::thread> running;
  for (unsigned at = 0; at < threads; ++at)
    running.emplace_back([&, at] { body(n * at / threads, n * (at + 1) / threads); });
  for (auto& thread : running)
    thread.join();
  const double ns = std::chrono::duration<double>(Clock::now() - begin).count() * 1e9;
  std::printf("%-44s %u threads  %8.1f ns per key\n", name, threads, ns / static_cast<double>(n));
  std::fflush(stdout);
  return ns / static_cast<double>(n);
}

template <class K, class Convert>
double peer(const char* name, const std::vector<Key>& keys, unsigned threads, Convert convert) {
  PeerSet<K> set;
  std::mutex mutex;
  const double ns = timed(name, keys.size(), threads, [&](std::uint64_t at, std::uint64_t end) {
    for (; at < end; ++at) {
      const std::lock_guard lock(mutex);
      set.insert(convert(keys[at]));
    }
  });
  expect(set.size() == keys.size(), name);
  return ns;
}

void run(const std::vector<Key>& keys, unsigned threads) {
  const std::string of_strings = std::string(kPeer) + "<std::string>, mutex: insert";
  const std::string of_arrays = std::string(kPeer) + "<16 bytes>, mutex: insert";
  const double strings = peer<std::string>(of_strings.c_str(), keys, threads,
                                           [](const Key& key) { return std::string(key.view()); });
  const double arrays =
      peer<Key>(of_arrays.c_str(), keys, threads, [](const Key& key) { return key; });

  EpochDomain domain;
  double single, many;
  {
    auto index = OrderedIndex::create(domain).value();
    single = timed("insert", keys.size(), threads, [&](std::uint64_t at, std::uint64_t end) {
      auto participant = domain.join();
      for (; at < end; ++at) {
        const auto guard = domain.enter(participant);
        expect(index->insert(keys[at].view()).value(), "insert");
      }
    });
    expect(index->count() == keys.size(), "count");
    std::printf("%.2f bytes per key\n",
                static_cast<double>(index->bytes()) / static_cast<double>(keys.size()));
    auto participant = domain.join();
    timed("scan", keys.size(), 1, [&](std::uint64_t, std::uint64_t end) {
      const auto guard = domain.enter(participant);
      Cursor cursor(*index);
      std::uint64_t seen = 0;
      for (cursor.first(); cursor; cursor.next())
        ++seen;
      expect(seen == end, "scan");
    });
  }
  {
    auto index = OrderedIndex::create(domain).value();
    many = timed(
        "insert_many of 64", keys.size(), threads, [&](std::uint64_t begin, std::uint64_t end) {
          auto participant = domain.join();
          std::array<std::string_view, 64> group;
          while (begin < end) {
            const auto size = std::min<std::uint64_t>(group.size(), end - begin);
            for (std::uint64_t at = 0; at < size; ++at)
              group[at] = keys[begin + at].view();
            const auto guard = domain.enter(participant);
            expect(index->insert_many({group.data(), size}).value() == size, "insert_many");
            begin += size;
          }
        });
  }
  std::printf(
      "%u threads: %.2f x the peer of strings, %.2f x of arrays; insert_many %.2f x insert\n\n",
      threads, strings / single, arrays / single, single / many);
}

}  // namespace

int main(int argc, char** argv) {
  const auto keys = random_keys(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000);
  run(keys, 1);
  run(keys, 2);
}
