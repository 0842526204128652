// interleave_guide.cpp: a table of counters on the medium. A batch of updates runs as coroutines:
// their cache misses overlap, and they share fences. docs/guide_interleave.md.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/blocks/interleave/fiber.hpp>
#include <holdfast/memory/region.hpp>

using holdfast::Errc;
using holdfast::Error;
using holdfast::Granularity;
using holdfast::Persist;
using holdfast::Region;
using holdfast::RegionOptions;
using holdfast::Status;
using namespace holdfast::blocks;

// One line for each counter. The word is 8 bytes and aligned, so a crash never tears it.
struct Counter {
  alignas(64) std::uint64_t value;
};

struct Table {
  Counter* counters;
  std::uint64_t count;
  std::unique_ptr<NodeLatches> latches = std::make_unique<NodeLatches>();  // In DRAM.
};

Fiber<std::uint64_t> increment(Member& member, Table& table, std::uint64_t number) {
  Counter& counter = table.counters[number];
  co_await touched(member, &counter);  // Others run until the line has arrived.
  while (!member.latch(table.latches->of(number)))
    co_await blocked();  // Another operation of the batch works on it.
  co_await switched();   // All take their latches, then all write.
  const auto value = Persist::load(&counter.value) + 1;
  member.store(&counter.value, value);
  member.write_back(&counter, sizeof counter);
  co_return value;  // Acknowledged after the group's next fence.
}

Status run(const std::string& spec) {
  RegionOptions size;
  size.size_bytes = size.unit_bytes = 1 * holdfast::MiB;
  HF_ASSIGN_OR_RETURN(auto region, Region::open(spec, size));
  if (region.granularity() == Granularity::kPage)  // A plain file cannot be stored to.
    return Error{Errc::kUnsupported, "counters need a region of granularity line, byte or none"};
  Table table{reinterpret_cast<Counter*>(region.data()), region.size_bytes() / sizeof(Counter)};

  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < 10'000; ++i)
    numbers.push_back(i * 7919 % table.count);
  std::uint64_t acknowledged = 0;
  interleave<Fiber<std::uint64_t>>(
      region.persist(), {.group = 32}, numbers.size(),
      [&](std::size_t i, Member& member) { return increment(member, table, numbers[i]); },
      [&](std::size_t, auto&) { ++acknowledged; });  // Durable: this one may be reported.

  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < table.count; ++i)
    sum += table.counters[i].value;
  std::printf("%llu acknowledged, the counters sum up to %llu\n",
              static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(sum));
  return {};
}

int main(int count, char** arguments) {
  const auto status = run(count > 1 ? arguments[1] : "/dev/shm/guide.counters?granularity=line");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message().c_str());
  return status ? 0 : 1;
}
