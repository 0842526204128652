// The cost goals of the ordered index, printed beside a std::set, or an absl::btree_set where its
// header is found, under one mutex; and, with one thread, beside an adaptive radix tree. Not a
// test: run it on a quiet machine.
//
//   ordered_index_bench [keys = 10000000] [random | numbered]
//
// Keys are 16 random bytes, or numbered: "user" and twelve digits, in an order drawn at random.
// Every figure is checked: counts, and the bytes of what a scan reads.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
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

#include "radix_tree.hpp"

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

std::vector<Key> numbered_keys(std::uint64_t n) {
  std::vector<Key> keys(n);
  for (std::uint64_t at = 0; at < n; ++at) {
    std::memcpy(keys[at].bytes.data(), "user", 4);
    std::uint64_t rest = at;
    for (std::size_t digit = 16; digit-- > 4; rest /= 10)
      keys[at].bytes[digit] = static_cast<unsigned char>('0' + rest % 10);
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
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

// What each verb takes, ns per key.
struct Times {
  double insert = 0, find = 0, erase = 0;
};

// A set of keys under one mutex, with `threads`.
template <class K, class Convert>
Times peer(const char* of, const std::vector<Key>& keys, unsigned threads, Convert convert) {
  PeerSet<K> set;
  std::mutex mutex;
  const auto each = [&](const char* verb, auto change) {
    const auto name = std::string(kPeer) + "<" + of + ">, mutex: " + verb;
    return timed(name.c_str(), keys.size(), threads, [&](std::uint64_t at, std::uint64_t end) {
      for (; at < end; ++at) {
        const std::lock_guard lock(mutex);
        expect(change(convert(keys[at])), verb);
      }
    });
  };
  Times times;
  times.insert = each("insert", [&](K key) { return set.insert(std::move(key)).second; });
  times.find = each("find", [&](const K& key) { return set.count(key) == 1; });
  times.erase = each("erase", [&](const K& key) { return set.erase(key) == 1; });
  expect(set.empty(), of);
  return times;
}

// Scans of 100 keys, each from one of the keys on: scan_100(key) says the sum of the last bytes.
constexpr std::size_t kScanned = 100;
template <class Scan>
std::uint64_t short_scans(const char* name, const std::vector<Key>& keys, Scan scan_100) {
  const auto scans = std::min<std::uint64_t>(keys.size(), 20'000);
  std::uint64_t sum = 0;
  timed(name, scans * kScanned, 1, [&](std::uint64_t, std::uint64_t) {
    for (std::uint64_t at = 0; at < scans; ++at)
      sum += scan_100(keys[at * 7919 % keys.size()].view());
  });
  return sum;
}
std::uint64_t last_byte(std::string_view key) { return static_cast<unsigned char>(key.back()); }

// The radix tree's figures, and what its short scans read.
std::uint64_t radix_tree(const std::vector<Key>& keys) {
  RadixTree tree;
  timed("radix tree: insert", keys.size(), 1, [&](std::uint64_t at, std::uint64_t end) {
    for (; at < end; ++at)
      expect(tree.insert(keys[at].view()), "radix tree: insert");
  });
  expect(!tree.insert(keys[0].view()) && tree.count() == keys.size(), "radix tree: count");
  std::printf("radix tree: %.2f bytes per key\n",
              static_cast<double>(tree.bytes()) / static_cast<double>(keys.size()));
  timed("radix tree: scan of all", keys.size(), 1, [&](std::uint64_t, std::uint64_t end) {
    std::string_view last;
    expect(tree.scan({}, end + 1,
                     [&](std::string_view key) {
                       expect(last < key, "radix tree: order");
                       last = key;
                     }) == end,
           "radix tree: scan");
  });
  return short_scans("radix tree: scans of 100", keys, [&](std::string_view from) {
    std::uint64_t sum = 0;
    tree.scan(from, kScanned, [&](std::string_view key) { sum += last_byte(key); });
    return sum;
  });
}

std::uint64_t index_short_scans(const OrderedIndex& index, EpochDomain& domain,
                                const std::vector<Key>& keys) {
  auto participant = domain.join();
  return short_scans("scans of 100", keys, [&](std::string_view from) {
    const auto guard = domain.enter(participant);
    Cursor cursor(index);
    std::uint64_t sum = 0;
    cursor.seek(from);
    for (std::size_t left = kScanned; cursor && left > 0; cursor.next(), --left)
      sum += last_byte(cursor.key());
    return sum;
  });
}

// The ordered index, filled key by key, read in order, and emptied.
Times one_by_one(const std::vector<Key>& keys, unsigned threads) {
  EpochDomain domain;
  auto index = OrderedIndex::create(domain).value();
  const auto each = [&](const char* verb, auto change) {
    return timed(verb, keys.size(), threads, [&](std::uint64_t at, std::uint64_t end) {
      auto participant = domain.join();
      for (; at < end; ++at) {
        const auto guard = domain.enter(participant);
        expect(change(keys[at].view()), verb);
      }
    });
  };
  Times times;
  times.insert = each("insert", [&](std::string_view key) { return index->insert(key).value(); });
  expect(index->count() == keys.size(), "count");
  std::printf("%.2f bytes per key\n",
              static_cast<double>(index->bytes()) / static_cast<double>(keys.size()));
  times.find = each("find", [&](std::string_view key) { return index->contains(key); });
  auto participant = domain.join();
  timed("scan of all", keys.size(), 1, [&](std::uint64_t, std::uint64_t end) {
    const auto guard = domain.enter(participant);
    Cursor cursor(*index);
    std::uint64_t seen = 0;
    for (cursor.first(); cursor; cursor.next())
      ++seen;
    expect(seen == end, "scan");
  });
  if (threads == 1)
    expect(index_short_scans(*index, domain, keys) == radix_tree(keys), "short scans");
  times.erase = each("erase", [&](std::string_view key) { return index->erase(key); });
  expect(index->count() == 0, "count");
  return times;
}

double in_groups(const std::vector<Key>& keys, unsigned threads) {
  EpochDomain domain;
  auto index = OrderedIndex::create(domain).value();
  return timed("insert_many of 64", keys.size(), threads,
               [&](std::uint64_t begin, std::uint64_t end) {
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

void run(const std::vector<Key>& keys, unsigned threads) {
  const auto strings = peer<std::string>("std::string", keys, threads,
                                         [](const Key& key) { return std::string(key.view()); });
  const auto arrays = peer<Key>("16 bytes", keys, threads, [](const Key& key) { return key; });
  const auto ours = one_by_one(keys, threads);
  const double many = in_groups(keys, threads);
  std::printf(
      "%u threads: insert, find and erase %.2f, %.2f, %.2f x as fast as the peer of strings,\n"
      "  %.2f, %.2f, %.2f x as that of arrays; insert_many %.2f x insert\n\n",
      threads, strings.insert / ours.insert, strings.find / ours.find, strings.erase / ours.erase,
      arrays.insert / ours.insert, arrays.find / ours.find, arrays.erase / ours.erase,
      ours.insert / many);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const auto kind = argc > 2 ? std::string(argv[2]) : "random";
  if (count == 0 || (kind != "random" && kind != "numbered")) {
    std::fprintf(stderr, "ordered_index_bench [KEYS] [random | numbered]\n");
    return 2;
  }
  const auto keys = kind == "random" ? random_keys(count) : numbered_keys(count);
  run(keys, 1);
  run(keys, 2);
}
