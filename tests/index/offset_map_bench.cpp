// The cost goals of the offset map, printed. Not a test: run it on a quiet machine.
//
//   offset_map_bench [records = 10000000] [partitions = 0] [seed = 1]
//
// "floor" is one random read of a cache line of a 128 MiB table on huge pages, one after the other
// without dependence. Each loop carries a checksum out and is checked against what it must be.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <holdfast/index/offset_map.hpp>

namespace {

using namespace holdfast;
using namespace holdfast::index;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A bijection: keys 1..n have distinct hashes, so a line identifies its key.
std::uint64_t hash_of(std::uint64_t key) {
  key = (key ^ key >> 32) * 0xd6e8feb86659fd93;
  key = (key ^ key >> 32) * 0xd6e8feb86659fd93;
  return key ^ key >> 32;
}
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  }
  // 1 to n, n below 2^32.
  std::uint64_t key(std::uint64_t n) {
    return (((*this)() * 0x2545F4914F6CDD1D >> 32) * n >> 32) + 1;
  }
};

std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/smaps_rollup");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Anonymous:", 0) == 0)
      return std::strtoull(line.c_str() + 10, nullptr, 10) * KiB;
  }
  return 0;
}

// Median of five, in ns per operation. `body(operations)` returns false if its answer is wrong.
template <class Body>
double measure(const char* name, std::uint64_t operations, Body&& body) {
  std::vector<double> times;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const auto begin = Clock::now();
    const bool right = body(operations);
    times.push_back(seconds_since(begin) * 1e9 / static_cast<double>(operations));
    if (!right) std::printf("WRONG ANSWER: %s\n", name), std::exit(1);
  }
  std::sort(times.begin(), times.end());
  std::printf("%-58s %7.1f ns  (%.1f to %.1f)\n", name, times[2], times.front(), times.back());
  std::fflush(stdout);
  return times[2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t records = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const auto partitions =
      static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0);
  Random random{argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1};
  const std::uint64_t operations = std::min<std::uint64_t>(records, 4'000'000);

  const std::uint64_t floor_lines = 128 * MiB / 64;
  void* memory =
      ::mmap(nullptr, 130 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* lines =
      reinterpret_cast<Bucket*>(round_up(reinterpret_cast<std::uintptr_t>(memory), 2 * MiB));
  ::madvise(lines, 128 * MiB, MADV_HUGEPAGE);
  std::memset(static_cast<void*>(lines), 1, 128 * MiB);
  const auto floor_loop = [&](std::uint64_t n) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t hash = hash_of(random.key(records));
      sum += lines[hash % floor_lines].words[hash >> 61].load(std::memory_order_relaxed);
    }
    return sum == n * 0x0101010101010101;
  };
  double floor = measure("floor: random line", operations, floor_loop);

  EpochDomain domain;
  auto participant = domain.join();
  const std::uint64_t before = resident_bytes();
  auto map =
      OffsetMap::create(domain, {.expected_records = records, .partitions = partitions}).value();
  std::printf("%u partitions, empty: %.1f KiB resident, %.1f KiB mapped, fences %s\n",
              map->partitions(), static_cast<double>(resident_bytes() - before) / 1024,
              static_cast<double>(map->dram_bytes()) / 1024,
              domain.asymmetric() ? "asymmetric" : "symmetric");

  // Filling from nothing. The growth cycle is sampled from a tenth of the records on.
  double bytes_sum = 0, bytes_max = 0, load_min = 1, load_max = 0, longest_us = 0;
  std::uint64_t samples = 0;
  const std::uint64_t rehashes_before = map->rehashes();
  double grow_us = 0;
  const auto begin = Clock::now();
  for (std::uint64_t key = 1; key <= records; ++key) {
    const std::uint64_t hash = hash_of(key);
    {
      const auto guard = domain.enter(participant);
      for (;;) {
        auto home = map->latch(hash);
        if (home.insert(Line{key})) break;
        home.release();
        const auto start = Clock::now();
        map->grow(hash).value();
        const double took = seconds_since(start) * 1e6;
        longest_us = std::max(longest_us, took), grow_us += took;
      }
    }
    if (key >= records / 10 && key % (records / 200 + 1) == 0) {
      const double n = static_cast<double>(key),
                   per_key = static_cast<double>(map->dram_bytes()) / n;
      const double load = n / static_cast<double>(map->slots());
      if (key >= records / 2)
        bytes_sum += per_key, ++samples, bytes_max = std::max(bytes_max, per_key);
      load_min = std::min(load_min, load), load_max = std::max(load_max, load);
    }
  }
  const double filled = seconds_since(begin);
  const auto rehashes = static_cast<double>(map->rehashes() - rehashes_before);
  std::printf("fill: %.1f ns per insert, %.0f rehashes of %.1f us (longest %.0f us)\n",
              filled * 1e9 / static_cast<double>(records), rehashes, grow_us / rehashes,
              longest_us);
  std::printf(
      "bytes per key: %.2f at the end (%.2f resident), %.2f mean and %.2f worst over the second "
      "half; load %.3f to %.3f\n",
      static_cast<double>(map->dram_bytes()) / static_cast<double>(records),
      static_cast<double>(resident_bytes() - before) / static_cast<double>(records),
      bytes_sum / static_cast<double>(samples), bytes_max, load_min, load_max);

  const auto find_loop = [&](std::uint64_t n) {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t key = random.key(records);
      const auto guard = domain.enter(participant);
      wrong += map->find(hash_of(key), [&](Line line) { return line.number == key; }).number != key;
    }
    return wrong == 0;
  };
  // Interleaved, so that both see the same machine.
  double find = 0;
  for (int round = 0; round < 3; ++round) {
    floor = measure("floor: random line", operations, floor_loop);
    find = measure("find, hit", operations, find_loop);
    std::printf("%-58s %7.2f x floor\n", "", find / floor);
  }
  measure(
      "find, hit, any candidate is right (no use of the line)", operations, [&](std::uint64_t n) {
        std::uint64_t found = 0;
        for (std::uint64_t i = 0; i < n; ++i)
          found +=
              static_cast<bool>(map->find(hash_of(random.key(records)), [](Line) { return true; }));
        return found == n;
      });
  measure("find, absent", operations, [&](std::uint64_t n) {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t key = records + random.key(records);
      wrong +=
          static_cast<bool>(map->find(hash_of(key), [&](Line line) { return line.number == key; }));
    }
    return wrong == 0;
  });
  measure("latch, find, replace, release", operations, [&](std::uint64_t n) {
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t key = random.key(records);
      const auto guard = domain.enter(participant);
      auto home = map->latch(hash_of(key));
      const Entry entry = home.find([&](Line line) { return line.number == key; });
      if (entry) home.replace(entry, Line{key});
      wrong += !entry;
    }
    return wrong == 0;
  });
  measure("16 latched at once, find, replace; per key", operations / 16 * 16, [&](std::uint64_t n) {
    std::uint64_t wrong = 0, keys[16], hashes[16];
    OffsetMap::LatchedMany many;
    for (std::uint64_t i = 0; i < n; i += 16) {
      for (int k = 0; k < 16; ++k) {
        keys[k] = random.key(records), hashes[k] = hash_of(keys[k]);
        map->prefetch_for_write(hashes[k]);
      }
      const auto guard = domain.enter(participant);
      many.acquire(*map, hashes);
      for (std::size_t k = 0; k < 16; ++k) {
        const Entry entry = many[k].find([&](Line line) { return line.number == keys[k]; });
        if (entry) many[k].replace(entry, Line{keys[k]});
        wrong += !entry;
      }
      many.release();
    }
    return wrong == 0;
  });
  // Warm: a few hundred keys, so that misses do not count.
  measure("warm: latch, find, insert, release + latch, find, remove", operations,
          [&](std::uint64_t n) {
            std::uint64_t inserted = 0;
            for (std::uint64_t i = 0; i < n; ++i) {
              const std::uint64_t key = records + 1 + i % 256, hash = hash_of(key);
              const auto is = [&](Line line) { return line.number == key; };
              const auto guard = domain.enter(participant);
              {
                auto home = map->latch(hash);
                if (!home.find(is)) inserted += home.insert(Line{key});
              }
              auto home = map->latch(hash);
              if (const Entry entry = home.find(is)) home.remove(entry);
            }
            return inserted > n / 10 * 9;
          });

  // What a clean close and the next open do.
  std::vector<std::uint64_t> image(records);
  std::vector<std::uint64_t> counts(map->partitions());
  auto start = Clock::now();
  std::uint64_t at = 0;
  for (std::uint32_t p = 0; p < map->partitions(); ++p)
    at += counts[p] = map->serialize(p, std::span(image).subspan(at));
  std::printf("serialize: %.3f s\n", seconds_since(start));
  const std::uint32_t same = map->partitions();
  map.reset();
  start = Clock::now();
  auto loaded = OffsetMap::create(domain, {.partitions = same}).value();
  at = 0;
  for (std::uint32_t p = 0; p < same; ++p) {
    loaded->deserialize(p, std::span(image).subspan(at, counts[p]), kLineLimit).value();
    at += counts[p];
  }
  std::printf("load: %.3f s for %llu entries, %.2f bytes per key\n", seconds_since(start),
              static_cast<unsigned long long>(loaded->size()),
              static_cast<double>(loaded->dram_bytes()) / static_cast<double>(records));
  return loaded->size() == records ? 0 : 1;
}
