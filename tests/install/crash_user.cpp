// A user of the crash checker: a structure of one's own, two words that must change together, under
// every crash. It is kept twice, with a selector; without the fence between data and selector the
// checker finds what a crash leaves.
#include <cstdio>
#include <string>
#include <utility>

#include <holdfast/crash/checker.hpp>

using holdfast::Region;
using holdfast::Result;
namespace crash = holdfast::crash;
using Pair = std::pair<std::uint64_t, std::uint64_t>;

std::uint64_t* word(Region& region, std::uint64_t at) {
  return reinterpret_cast<std::uint64_t*>(region.data() + at);
}
std::uint64_t load(Region& region, std::uint64_t at) {
  return holdfast::Persist::load(
      word(region, at));  // So that the checker sees what recovery reads.
}
constexpr std::uint64_t kSelector = 0, kCopies = 64;  // A line each: selector, first copy, second.

Pair read(Region& region) {
  const auto at = kCopies + load(region, kSelector) * 64;
  return {load(region, at), load(region, at + 8)};
}

void update(Region& region, std::uint64_t value, bool fence_data) {
  const auto& persist = region.persist();
  const auto other = 1 - load(region, kSelector);
  const auto at = kCopies + other * 64;
  persist.store(word(region, at), value);
  persist.store(word(region, at + 8), value);
  persist.write_back(word(region, at), 16);
  if (fence_data) persist.fence();
  persist.store(word(region, kSelector), other);
  persist.persist(word(region, kSelector), 8);
}

crash::Report checked(bool fence_data) {
  crash::Protocol<Pair> protocol;
  protocol.initial = {0, 0};
  protocol.workload = [=](Region& region, crash::Workload& run) {
    for (std::uint64_t id = 1; id <= 3; ++id)
      run.perform(id, [&] { update(region, id, fence_data); });
  };
  protocol.recover = [](Region& region) -> Result<Pair> { return read(region); };
  protocol.check = [](const crash::Past<Pair>& past, const Pair& seen) -> std::string {
    std::uint64_t acknowledged = past.base.first, begun = acknowledged;
    for (const auto& operation : past.operations) {
      begun = operation.id;
      if (operation.acknowledged()) acknowledged = operation.id;
    }
    if (seen.first != seen.second) return "the two words differ";
    return seen.first >= acknowledged && seen.first <= begun ? ""
                                                             : "an acknowledged update is lost";
  };
  return crash::check(protocol, {.model = crash::kLine});
}

int main() {
  const auto right = checked(true), wrong = checked(false);
  if (!right.ok() || right.images_in_all() < 10) return 1;
  if (wrong.ok()) return 1;
  std::printf("sound, and a missing fence is found\n");
}
