#include <holdfast/kv/displaced.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

namespace {

// The only entry of the place that `look` calls its argument for; none where there are several.
template <class Look>
Line lone_line(Look&& look) {
  Line lone;
  bool several = false;
  look([&](Line line) {  // It may come more than once.
    several = several || (lone && line != lone) || !line;
    lone = line;
    return false;
  });
  return several ? kNoLine : lone;
}

}  // namespace

// ---- Writers ----

Seen Displaced::to_displace(const Place& place) const {
  const OffsetMap& map = index_.map();
  const Line line = lone_line([&](auto&& count) { (void)map.look(place, count); });
  if (!line || medium_.region().resident({offset_of(line), kCacheLineBytes})) return {};
  return map.look(place, [line](Line other) { return other == line; });
}

bool Displaced::still_alone(const OffsetMap::Home& home, const Seen& seen) const {
  return home.unchanged(seen) &&
         HF_MUTANT("K76", lone_line([&](auto&& count) { (void)home.find(count); }) == seen.line(),
                   true) &&
         HF_MUTANT("K72", !table_.run_of(offset_of(seen.line())).is_moving(), true);
}

void Displaced::add(const Place& place, Line line) {
  const std::uint64_t key = key_of(place);
  Shard& own = shard(key);
  const Lock lock(own.mutex);
  own.records.emplace(key, Record{place.hash, line});
  count_.fetch_add(1, std::memory_order_release);
}

void Displaced::remove(const Place& place, Line line) {
  const std::uint64_t key = key_of(place);
  Shard& own = shard(key);
  const Lock lock(own.mutex);
  const auto [begin, end] = own.records.equal_range(key);
  const auto found =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second.line == line; });
  if (found == end) return;
  own.records.erase(found);
  own.settled.fetch_add(1, std::memory_order_release);
  count_.fetch_sub(1, std::memory_order_release);
}

bool Displaced::any(const Place& place) const {
  if (count() == 0) return false;
  const std::uint64_t key = key_of(place);
  const Shard& own = shard(key);
  const Lock lock(own.mutex);
  return own.records.contains(key);
}

bool Displaced::holds(const Place& place, Line line) const {
  const std::uint64_t key = key_of(place);
  const Shard& own = shard(key);
  const Lock lock(own.mutex);
  const auto [begin, end] = own.records.equal_range(key);
  return std::any_of(begin, end, [&](const auto& entry) { return entry.second.line == line; });
}

std::vector<Line> Displaced::lines_at(const Place& place) const {
  std::vector<Line> lines;
  const std::uint64_t key = key_of(place);
  const Shard& own = shard(key);
  const Lock lock(own.mutex);
  const auto [begin, end] = own.records.equal_range(key);
  for (auto entry = begin; entry != end; ++entry)
    lines.push_back(entry->second.line);
  return lines;
}

std::vector<Line> Displaced::newest_first(std::vector<Line> lines) const {
  if (lines.size() > 1) {
    std::sort(lines.begin(), lines.end(), [&](Line a, Line b) {
      const bool newer = records_.at(a).sequence() > records_.at(b).sequence();
      return HF_MUTANT("K73", newer, !newer && a != b);
    });
  }
  return lines;
}

Status Displaced::settle(Session& own, std::uint64_t hash) {
  {
    const auto guard = epochs_.enter(own.participant);
    const Place place = index_.place(hash);
    if (!any(place)) return {};
    std::vector<Extent> ranges;
    for (const Line line : lines_at(place))
      ranges.push_back({offset_of(line), kCacheLineBytes});
    HF_RETURN_IF_ERROR(medium_.fetch(ranges));
  }
  return settle_fetched(own, hash);
}

// The newest first: a record is dead where the index has its key, be it since this began.
Status Displaced::settle_fetched(Session& own, std::uint64_t hash) {
  for (;;) {
    {
      const auto guard = epochs_.enter(own.participant);
      Place place = index_.place(hash);
      if (!any(place)) return {};
      auto home = index_.latch(place, own);
      bool full = false;
      for (const Line line : newest_first(lines_at(place))) {
        const RecordView record = records_.at(line);
        const bool known = records_.fits(record, line) &&
                           static_cast<bool>(home.find(index_.matches(record.key_bytes())));
        if (HF_MUTANT("K74", known, true)) {
          own.notes.add(table_, line, record.padded_bytes());
        } else if (!home.insert(line)) {
          full = true;
          break;
        }
        remove(place, line);
      }
      if (!full) return {};
    }
    HF_RETURN_IF_ERROR(index_.map().grow(hash));
  }
}

// ---- Readers ----

// A record that is settled meanwhile was in the index before it went from here: if one went since
// the index was asked, it is asked again.
Live Displaced::find(std::uint64_t hash, Bytes key, const EpochDomain::Guard& guard) const {
  for (;;) {
    const Place place = index_.place(hash);
    const Shard& own = shard(key_of(place));
    const std::uint64_t settled = own.settled.load(std::memory_order_acquire);
    if (const Live live = index_.find(place, key, guard); live.line) return live;
    for (const Line line : newest_first(lines_at(place))) {
      if (records_.has_key(line, key)) return index_.judge(line);
    }
    if (own.settled.load(std::memory_order_acquire) == settled) return index_.judge(kNoLine);
  }
}

// ---- The whole ----

std::vector<Displaced::Record> Displaced::all() const {
  std::vector<Record> found;
  for (const Shard& own : shards_) {
    const Lock lock(own.mutex);
    for (const auto& [key, record] : own.records)
      found.push_back(record);
  }
  std::sort(found.begin(), found.end(),
            [](const Record& a, const Record& b) { return a.line < b.line; });
  return found;
}

// In groups whose reads are under way together. Neighbours share pages, so a page that several of
// them lie on is read once.
Status Displaced::settle(Session& own, std::span<const Record> records) {
  constexpr std::size_t kGroup = 256;
  std::vector<Extent> ranges;
  while (!records.empty()) {
    const auto group = records.first(std::min(kGroup, records.size()));
    records = records.subspan(group.size());
    ranges.clear();
    {
      // Runs in which something stands here are not freed, nor before this guard ends.
      const auto guard = epochs_.enter(own.participant);
      for (const Record& record : group) {
        const std::uint64_t page = round_down(offset_of(record.line), kPageBytes);
        if (!holds(index_.place(record.hash), record.line)) continue;  // Settled meanwhile.
        if (ranges.empty() || ranges.back().offset_bytes != page)
          ranges.push_back({page, kPageBytes});
      }
      HF_RETURN_IF_ERROR(medium_.fetch(ranges));
    }
    for (const Record& record : group)
      HF_RETURN_IF_ERROR(settle_fetched(own, record.hash));
  }
  return {};
}

// From one end of the medium to the other, and then again: what one round leaves lies farther apart
// than what a full table holds.
Status Displaced::settle_some(Session& own, std::size_t limit) {
  const Lock lock(round_mutex_);
  if (round_.empty()) {
    round_ = all();
    std::reverse(round_.begin(), round_.end());
  }
  std::vector<Record> next;
  for (; next.size() < limit && !round_.empty(); round_.pop_back())
    next.push_back(round_.back());
  return settle(own, next);
}

// What is displaced meanwhile is not waited for: while others write there would be no end.
Status Displaced::settle_all(Session& own) {
  return count() == 0 ? ok_status() : settle(own, all());
}

Status Displaced::settle_runs(Session& own, std::span<const std::uint64_t> heads) {
  if (count() == 0) return {};
  std::vector<Record> found = all();
  std::erase_if(found, [&](const Record& record) {
    const std::uint64_t head = table_.run_of(offset_of(record.line)).head;
    return std::find(heads.begin(), heads.end(), head) == heads.end();
  });
  return settle(own, found);
}

}  // namespace holdfast::kv
