#include <holdfast/index/offset_map.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <optional>
#include <string>

#include <holdfast/base/check.hpp>
#include <holdfast/base/meminfo.hpp>

namespace holdfast::index {
namespace {

// Growth of a table. Smaller steps waste less memory and rebuild more often.
constexpr double kGrowth = 1.25;
// Below it tables double.
constexpr std::uint32_t kSmallBuckets = 8;
// Greatest distance of a guest, and buckets behind the last home. So far that nearly all growth is
// by turns: guests that far away are rare. Without turns, reach 24 gave mean loads of 0.77 to 0.81.
constexpr std::uint32_t kReach = 48;
constexpr std::uint32_t kExtra = 2;
// Where more keys share a tag than a neighbourhood of kReach holds, the reach doubles instead of
// the table, up to here (six guests per bucket): slower, but never a refusal before memory ends.
constexpr std::uint32_t kReachLimit = 1u << 21;
// What is loaded may be made up: then the cost of placing it is bounded, too.
constexpr std::uint32_t kReachLimitOfLoad = 2 * kReach;
// Mean load at which a table grows in its turn: below what kReach reaches by luck.
constexpr double kTurnLoad = 0.86;
// Of a table made for a known number of entries, at most.
constexpr double kReservedLoad = 0.82;
// That a table of more than a few buckets reaches before a key finds no place.
constexpr double kGreatestLoad = 0.92;
// What an entry may take in memory: 8 bytes at kReservedLoad, after a step of growth.
constexpr std::uint64_t kBytesPerEntryMost = 13;

Geometry standard_geometry(std::uint32_t buckets) {
  return {buckets, std::min(kExtra, buckets / 2), std::min(kReach, buckets - 1)};
}

std::uint32_t reversed(std::uint32_t value) {
  std::uint32_t result = 0;
  for (unsigned bit = 0; bit < 32; ++bit)
    result |= ((value >> bit) & 1) << (31 - bit);
  return result;
}

// Calls `visit(payload)` for the published entries.
template <class Visit>
void for_each_entry(const Table& table, Visit&& visit) {
  for (std::uint32_t bucket = 0; bucket < table.geometry.total(); ++bucket) {
    for (const auto& word : table.buckets()[bucket].words) {
      const std::uint64_t entry = payload_of(word.load(std::memory_order_acquire));
      if (line_of(entry) != 0) visit(entry);
    }
  }
}

std::uint64_t count_entries(const Table& table) {
  std::uint64_t entries = 0;
  for_each_entry(table, [&](std::uint64_t) { ++entries; });
  return entries;
}

// Puts all entries of `source` into an empty table that nobody else sees: first those that fit at
// home, so that later ones displace as few as possible. False if one finds no place.
template <class Source>
bool fill(Table& table, Source&& source) {
  const std::uint32_t total = table.geometry.total();
  std::vector<std::uint8_t> at_home(total), guests(total);
  std::vector<std::uint64_t> displaced;
  Bucket* const buckets = table.buckets();
  source([&](std::uint64_t entry) {
    const std::uint32_t home = Table::home(tag_of(entry), table.geometry.buckets);
    if (at_home[home] < kEntriesPerBucket) {
      buckets[home].words[at_home[home]++].store(entry, std::memory_order_relaxed);
    } else {
      displaced.push_back(entry);
    }
  });
  for (const std::uint64_t entry : displaced) {
    const std::uint32_t home = Table::home(tag_of(entry), table.geometry.buckets);
    const std::uint32_t reach = table.reach_of(home);
    std::uint32_t distance = 1;
    for (; distance <= reach; ++distance) {
      const std::uint32_t bucket = home + distance;
      const unsigned last = kEntriesPerBucket - 1 - guests[bucket];  // Guests lie at the end.
      if (last < std::max<unsigned>(at_home[bucket], kFirstDistanceEntry)) continue;
      buckets[bucket].words[last].store(entry, std::memory_order_relaxed);
      ++guests[bucket];
      break;
    }
    if (distance > reach) return false;
    // The word may hold a guest, or get one later in this loop, hence read and write.
    auto& bit = buckets[home].words[kFirstDistanceEntry - 1 + std::min(distance, kLastDistance)];
    bit.store(bit.load(std::memory_order_relaxed) | kControl, std::memory_order_relaxed);
  }
  return true;
}

// At least so many buckets behind the home of this number may hold its guests. Known without the
// table's header, which would be a cache miss more.
std::uint32_t certain_reach(std::uint32_t buckets, std::uint32_t home) {
  const Geometry least = standard_geometry(buckets);
  return std::min(least.total() - 1 - home, least.reach);
}

// Takes an entry behind a home that is latched and full, or none. A `word` with a line is visible
// when the bit of its distance is, too. `reach_of()` is asked beyond `reach`, which is not greater.
template <class ReachOf>
Entry take_behind(Bucket* home, std::uint64_t word, std::uint32_t reach, ReachOf&& reach_of) {
  HF_DCHECK(reach <= reach_of());
  for (std::uint32_t distance = 1;; ++distance) {
    if (distance > reach && distance > (reach = reach_of())) return {};
    // From the last entry on: keys at home in that bucket take the first ones.
    for (unsigned left = probe(home[distance], 0).candidates; left >> kFirstDistanceEntry != 0;) {
      const auto entry = static_cast<unsigned>(std::bit_width(left)) - 1;
      left ^= 1u << entry;
      auto& guest = home[distance].words[entry];
      // Fails and tries again if only the control bit changed, which is the other home's.
      std::uint64_t seen = guest.load(std::memory_order_relaxed);
      while (payload_of(seen) == 0) {
        if (!guest.compare_exchange_weak(seen, seen | word, std::memory_order_release,
                                         std::memory_order_relaxed))
          continue;
        // The latch's holder alone sets this bit and takes it away.
        auto& bit = home->words[kFirstDistanceEntry - 1 + std::min(distance, kLastDistance)];
        if ((bit.load(std::memory_order_relaxed) & kControl) == 0)
          bit.fetch_or(kControl, std::memory_order_release);
        return {&guest, distance};
      }
    }
  }
}

}  // namespace

Status OffsetMapOptions::validate() const {
  if (partitions != 0 &&
      (!std::has_single_bit(partitions) || partitions < OffsetMap::kMinPartitions ||
       partitions > OffsetMap::kMaxPartitions)) {
    return Error{Errc::kInvalidOption,
                 "partitions is " + std::to_string(partitions) +
                     "; allowed are 0 and powers of two from 1024 to 1048576"};
  }
  return {};
}

OffsetMap::OffsetMap(EpochDomain& domain, std::uint32_t partitions)
    : domain_(domain),
      partitions_(partitions),
      partition_shift_(64 - static_cast<unsigned>(std::countr_zero(partitions))),
      tables_(new(std::nothrow) std::atomic<std::uint64_t>[partitions]()),
      headers_(new(std::nothrow) Partition[partitions]) {
  set_next_turn();
}

Result<std::unique_ptr<OffsetMap>> OffsetMap::create(EpochDomain& domain,
                                                     const OffsetMapOptions& options) {
  HF_RETURN_IF_ERROR(options.validate());
  std::uint32_t partitions = options.partitions;
  if (partitions == 0) {
    // About 2,048 records each, so that one growth is short.
    const std::uint64_t wanted =
        std::bit_ceil(std::min<std::uint64_t>(options.expected_records, GiB * 2) / 2048 * 3 / 4);
    partitions = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(wanted, kMinPartitions, kMaxPartitions));
  }
  std::unique_ptr<OffsetMap> map(new OffsetMap(domain, partitions));
  const auto no_memory = [&] {
    return Error{Errc::kNoSpace,
                 "no memory for an index of " + std::to_string(partitions) + " partitions"};
  };
  if (map->tables_ == nullptr || map->headers_ == nullptr) return no_memory();
  const std::uint64_t each = options.reserve ? options.expected_records / partitions : 0;
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    const Lock lock(map->headers_[partition].rebuilding);
    Table* table = map->arena_.allocate(map->geometry_for(each, partition), partition,
                                        TableArena::Stream::kInTurn);
    if (table == nullptr) return no_memory();
    map->publish(partition, table);
  }
  return map;
}

OffsetMap::~OffsetMap() {
  domain_.synchronize();
  domain_.collect();  // Tables that were retired go back before the arena ends.
  if (tables_ == nullptr) return;
  std::uint64_t current_bytes = 0;  // They go with the arena, all at once.
  for (std::uint32_t partition = 0; partition < partitions_; ++partition)
    current_bytes +=
        tables_[partition].load(std::memory_order_acquire) == 0 ? 0 : table(partition).bytes;
  HF_CHECK(arena_.live_bytes() == current_bytes);
}

// ---- Geometry ----

// The smallest size not below `at_least` of this partition's own series. Series of neighbouring
// partitions are shifted against each other by parts of a step, so that they do not grow together.
std::uint32_t OffsetMap::staggered_buckets(std::uint32_t at_least, std::uint32_t partition) const {
  if (at_least <= kSmallBuckets) return std::bit_ceil(at_least);
  const double shift = reversed(partition) / 4294967296.0;
  double step = std::floor(std::log(at_least / double{kSmallBuckets}) / std::log(kGrowth) - shift);
  for (;; ++step) {
    const double buckets = kSmallBuckets * std::pow(kGrowth, step + shift);
    if (buckets > kMaxBuckets) return kMaxBuckets + 1;
    if (buckets >= at_least) return static_cast<std::uint32_t>(buckets);
  }
}

Geometry OffsetMap::geometry_for(std::uint64_t entries, std::uint32_t partition) const {
  const double buckets =
      std::ceil(static_cast<double>(entries) / kEntriesPerBucket / kReservedLoad);
  return standard_geometry(staggered_buckets(
      static_cast<std::uint32_t>(std::clamp<double>(buckets, 1, kMaxBuckets)), partition));
}

// What to try when `entries` entries do not fit.
Geometry OffsetMap::larger(const Geometry& geometry, std::uint64_t entries,
                           std::uint32_t partition) const {
  const bool sparse = entries * 2 < std::uint64_t{geometry.buckets} * kEntriesPerBucket;
  if (geometry.buckets >= kSmallBuckets && sparse) {
    // Not too many keys but too many with one tag: more homes would not help.
    return {geometry.buckets, geometry.reach * 2, geometry.reach * 2};
  }
  Geometry next = standard_geometry(staggered_buckets(geometry.buckets + 1, partition));
  if (geometry.reach > kReach) next.reach = next.extra = geometry.reach;
  return next;
}

// ---- Rebuilding ----

template <class Source>
Result<Table*> OffsetMap::build(std::uint32_t partition, Geometry geometry, std::uint64_t entries,
                                ReachLimit limit, TableArena::Stream stream, Source&& source) {
  for (;; geometry = larger(geometry, entries, partition)) {
    if (geometry.buckets > kMaxBuckets || geometry.reach > limit.buckets) {
      return Error{limit.beyond, "index partition " + std::to_string(partition) +
                                     ": too many keys share 45 bits of hash"};
    }
    std::unique_ptr<Table, void (*)(void*)> table(arena_.allocate(geometry, partition, stream),
                                                  &TableArena::free);
    if (table == nullptr) return Error{Errc::kNoSpace, "no memory for the index to grow"};
    if (fill(*table, source)) return table.release();
  }
}

// Takes all latches, lowest first, and so waits for all writers. A thread that waits for one of
// them looks the table up again, so they are never given back, except by thaw().
void OffsetMap::freeze(Table& table) {
  for (std::uint32_t bucket = 0; bucket < table.geometry.buckets; ++bucket) {
    // Misses of compare-and-swaps do not overlap by themselves. Beyond the end it is a hint only.
    holdfast::prefetch_for_write(table.buckets() + bucket + 16);
    auto& latch = table.buckets()[bucket].words[kLatchEntry];
    for (SpinWait wait;; wait()) {
      std::uint64_t seen = latch.load(std::memory_order_relaxed);
      if ((seen & kControl) == 0 &&
          latch.compare_exchange_strong(seen, seen | kControl, std::memory_order_acquire))
        break;
    }
  }
}

void OffsetMap::thaw(Table& table) {
  for (std::uint32_t bucket = 0; bucket < table.geometry.buckets; ++bucket) {
    auto& latch = table.buckets()[bucket].words[kLatchEntry];
    latch.store(latch.load(std::memory_order_relaxed) & ~kControl, std::memory_order_release);
  }
}

void OffsetMap::publish(std::uint32_t partition, Table* table) {
  tables_[partition].store(word_of(table), std::memory_order_release);
}

OffsetMap::Tally& OffsetMap::new_tally() {
  const Lock lock(tallies_latch_);
  return *tallies_.emplace_back(std::make_unique<Tally>());
}

// Entries that came and went with a whole table.
void OffsetMap::count_whole_table(std::uint64_t before, std::uint64_t now) {
  const std::uint64_t sum = shared_entries_.fetch_add(now - before, std::memory_order_relaxed);
  reported_entries_.fetch_add(
      static_cast<std::int64_t>((sum + now - before) / kReported * kReported -
                                sum / kReported * kReported),
      std::memory_order_relaxed);
}

// Replaces the partition's table by one of the geometry that choose(table) names, which is asked
// when no other rebuild of it can run any more, or not at all. Tells whether it did. Errors:
// kNoSpace.
template <class Choose>
Result<bool> OffsetMap::rebuild(std::uint32_t number, TableArena::Stream stream, Choose&& choose) {
  const Lock lock(headers_[number].rebuilding);
  Table& old = table(number);
  const std::optional<Geometry> wanted = choose(old);
  if (!wanted) return false;
  freeze(old);
  const auto undo = [this](Table* table) { thaw(*table); };
  std::unique_ptr<Table, decltype(undo)> frozen(&old, undo);  // Thaws it if memory is lacking, too.
  const std::uint64_t entries = count_entries(old);
  auto built = build(number, *wanted, entries, {kReachLimit, Errc::kNoSpace}, stream,
                     [&](auto&& visit) { for_each_entry(old, visit); });
  if (!built) return std::move(built).error();
  publish(number, *built);
  static_cast<void>(frozen.release());
  rehashes_.fetch_add(1, std::memory_order_relaxed);
  domain_.retire(&old, &TableArena::free);
  return true;
}

// A few tables are moved for each one that grew, so that no call takes long.
void OffsetMap::tidy() {
  for (int moves = 0; moves < 2; ++moves) {
    const auto next = arena_.next_to_move();
    if (!next) return;
    move(*next);
  }
}

void OffsetMap::move(TableArena::Move what) {
  const Lock lock(headers_[what.partition].rebuilding);
  Table& old = table(what.partition);
  if (&old != what.table) return;
  Table* copy = arena_.allocate(old.geometry, what.partition, TableArena::Stream::kStray);
  if (copy == nullptr) return;  // Then it stays where it is.
  freeze(old);
  for (std::uint32_t bucket = 0; bucket < old.geometry.total(); ++bucket) {
    for (unsigned i = 0; i < kEntriesPerBucket; ++i) {
      const std::uint64_t word = old.buckets()[bucket].words[i].load(std::memory_order_relaxed);
      copy->buckets()[bucket].words[i].store(i == kLatchEntry ? word & ~kControl : word,
                                             std::memory_order_relaxed);
    }
  }
  publish(what.partition, copy);
  domain_.retire(&old, &TableArena::free);
}

// Tables that grow when a key finds no place do so at random times, and then leave memory fallow at
// random places. So ordinarily they grow before, by turns: partition after partition in the order
// of their series of sizes, when the whole map has the entries for which the partition's size gives
// the mean load kTurnLoad. Then tables are freed in the order in which they were made, and so are
// slabs. Turn t grows the partition whose size is kSmallBuckets * kGrowth^(t / partitions).
void OffsetMap::set_next_turn() {
  const double size = kSmallBuckets * std::pow(kGrowth, static_cast<double>(turn_) / partitions_);
  const double entries = size * partitions_ * kEntriesPerBucket * kTurnLoad;
  next_turn_at_.store(static_cast<std::int64_t>(std::min(entries, 1e18)),
                      std::memory_order_relaxed);
}

void OffsetMap::take_turns() {
  if (!turns_.try_lock()) return;  // Another thread is at it.
  {
    const Lock lock(turns_, kAdoptLock);
    const unsigned bits = 64 - partition_shift_;
    for (int grown = 0; grown < 2 && wants_growth();) {
      const auto number = reversed(static_cast<std::uint32_t>(turn_ % partitions_)) >> (32 - bits);
      const auto buckets = static_cast<std::uint32_t>(
          kSmallBuckets * std::pow(kGrowth, static_cast<double>(turn_) / partitions_));
      ++turn_;
      set_next_turn();
      // Passed over if it grew before its turn. Without memory it grows when a key finds no place.
      const auto choose = [&](const Table& old) {
        return old.geometry.buckets <= buckets
                   ? std::optional(larger(old.geometry, count_entries(old), number))
                   : std::nullopt;
      };
      grown += rebuild(number, TableArena::Stream::kInTurn, choose).value_or(false);
    }
  }
  tidy();
}

Status OffsetMap::grow(std::uint64_t hash) {
  const std::uint32_t number = partition(hash);
  const auto choose = [&](const Table& old) {
    return has_room(hash) ? std::nullopt
                          : std::optional(larger(old.geometry, count_entries(old), number));
  };
  HF_RETURN_IF_ERROR(rebuild(number, TableArena::Stream::kStray, choose));
  tidy();
  return {};
}

Status OffsetMap::grow(std::span<const std::uint64_t> hashes) {
  std::vector<std::uint32_t> wanted;
  wanted.reserve(hashes.size());
  for (const std::uint64_t hash : hashes)
    wanted.push_back(partition(hash));
  std::sort(wanted.begin(), wanted.end());
  for (auto first = wanted.begin(); first != wanted.end();) {
    const std::uint32_t number = *first;
    const auto last = std::upper_bound(first, wanted.end(), number);
    const auto more = static_cast<std::uint64_t>(last - first);
    first = last;
    const auto choose = [&](const Table& old) -> std::optional<Geometry> {
      Geometry fit = geometry_for(count_entries(old) + more, number);
      if (fit.buckets <= old.geometry.buckets) return std::nullopt;
      if (old.geometry.reach > fit.reach) fit.reach = fit.extra = old.geometry.reach;
      return fit;
    };
    HF_RETURN_IF_ERROR(rebuild(number, TableArena::Stream::kStray, choose));
  }
  tidy();
  return {};
}

Status OffsetMap::reserve(std::uint64_t entries) {
  // Tables are written as they are made: beyond what there is the system would end the process.
  // What the map has counts, too; where nobody says what there is, nothing is refused.
  const std::uint64_t available = meminfo("MemAvailable");
  if (available != 0 && entries > (available + dram_bytes()) / kBytesPerEntryMost) {
    return Error{Errc::kNoSpace, "an index of " + std::to_string(entries) + " entries, up to " +
                                     std::to_string(kBytesPerEntryMost) + " bytes each; " +
                                     std::to_string(available) + " bytes of memory are available"};
  }
  // Some partitions get more than the mean: by five standard deviations, which a table takes at a
  // higher load than it is made for.
  const double mean = static_cast<double>(entries) / partitions_;
  const double most = (mean + 5 * std::sqrt(mean)) * kReservedLoad / kGreatestLoad;
  const auto each = static_cast<std::uint64_t>(std::max(mean, most));
  for (std::uint32_t number = 0; number < partitions_; ++number) {
    const auto choose = [&](const Table& old) -> std::optional<Geometry> {
      Geometry wanted = geometry_for(each, number);
      if (wanted.buckets <= old.geometry.buckets) return std::nullopt;
      if (old.geometry.reach > wanted.reach) wanted.reach = wanted.extra = old.geometry.reach;
      return wanted;
    };
    HF_RETURN_IF_ERROR(rebuild(number, TableArena::Stream::kInTurn, choose));
    domain_.collect();  // Two tables of a partition at a time, not of all of them.
  }
  tidy();
  return {};
}

// Under the partition's `rebuilding`.
bool OffsetMap::has_room(std::uint64_t hash) const {
  const Place at = place(hash);
  const Table& current = table(partition(hash));
  const std::uint32_t reach =
      current.reach_of(static_cast<std::uint32_t>(at.home - current.buckets()));
  for (std::uint32_t distance = 0; distance <= reach; ++distance) {
    for (unsigned i = distance == 0 ? 0 : kFirstDistanceEntry; i < kEntriesPerBucket; ++i) {
      if (payload_of(at.home[distance].words[i].load(std::memory_order_relaxed)) == 0) return true;
    }
  }
  return false;
}

Status OffsetMap::clear() {
  for (std::uint32_t number = 0; number < partitions_; ++number) {
    const Lock lock(headers_[number].rebuilding);
    Table* fresh = arena_.allocate(geometry_for(0, number), number, TableArena::Stream::kInTurn);
    if (fresh == nullptr) return Error{Errc::kNoSpace, "no memory to clear the index"};
    Table& old = table(number);
    freeze(old);
    headers_[number].erase_horizon.store(0, std::memory_order_relaxed);
    count_whole_table(count_entries(old), 0);
    publish(number, fresh);
    domain_.retire(&old, &TableArena::free);
  }
  return {};
}

std::uint64_t OffsetMap::serialize(std::uint32_t partition, std::span<std::uint64_t> out) const {
  std::uint64_t count = 0;
  for_each_entry(table(partition), [&](std::uint64_t entry) {
    if (count < out.size()) out[count] = entry;
    ++count;
  });
  return count;
}

Status OffsetMap::deserialize(std::uint32_t partition, std::span<const std::uint64_t> entries,
                              std::uint64_t line_limit) {
  const auto corrupt = [&](std::size_t i, const std::string& what) {
    return Error{Errc::kCorrupt, "index partition " + std::to_string(partition) + ", entry " +
                                     std::to_string(i) + ": " + what};
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint64_t entry = entries[i];
    if ((entry & kControl) != 0 || tag_of(entry) == 0) return corrupt(i, "not an entry");
    if (line_of(entry) == 0 || line_of(entry) >= line_limit) {
      return corrupt(i, "line " + std::to_string(line_of(entry)) + " is not within 1 to " +
                            std::to_string(line_limit - 1));
    }
  }
  const Lock lock(headers_[partition].rebuilding);
  if (entries.empty() && count_entries(table(partition)) == 0) return {};  // As it is.
  auto built =
      build(partition, geometry_for(entries.size(), partition), entries.size(),
            {kReachLimitOfLoad, Errc::kCorrupt}, TableArena::Stream::kInTurn, [&](auto&& visit) {
              for (const std::uint64_t entry : entries)
                visit(entry);
            });
  if (!built) return std::move(built).error();
  Table& old = table(partition);
  freeze(old);
  count_whole_table(count_entries(old), entries.size());
  publish(partition, *built);
  domain_.retire(&old, &TableArena::free);
  return {};
}

// ---- The rest ----

void OffsetMap::raise_erase_horizon(std::uint64_t hash, std::uint64_t sequence) {
  auto& horizon = erase_horizon(hash);
  std::uint64_t seen = horizon.load(std::memory_order_relaxed);
  while (seen < sequence &&
         !horizon.compare_exchange_weak(seen, sequence, std::memory_order_acq_rel)) {
  }
}

std::uint64_t OffsetMap::size() const {
  std::uint64_t sum = shared_entries_.load(std::memory_order_relaxed);
  const Lock lock(tallies_latch_);
  for (const auto& tally : tallies_)
    sum += tally->entries_.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t OffsetMap::size(std::uint32_t partition) const {
  return count_entries(table(partition));
}

std::uint64_t OffsetMap::slots() const {
  std::uint64_t sum = 0;
  for (std::uint32_t partition = 0; partition < partitions_; ++partition) {
    sum += std::uint64_t{bucket_count(tables_[partition].load(std::memory_order_relaxed))} *
           kEntriesPerBucket;
  }
  return sum;
}

std::uint64_t OffsetMap::dram_bytes() const {
  return arena_.held_bytes() +
         std::uint64_t{partitions_} * (sizeof(Partition) + sizeof tables_[0]) + sizeof *this;
}

// ---- Writers ----

Entry OffsetMap::Home::claim_behind() {
  return take_behind(bucket_, payload(tag_, 0), certain_reach(bucket_count(word_), number()),
                     [this] { return table().reach_of(number()); });
}

// Nobody has seen the key yet, so its entry needs no claim first.
bool OffsetMap::Home::insert_new(Line line) {
  const std::uint64_t published = payload(tag_, line.number);
  const Vacancy here = AnyProbing::vacancy(*bucket_, tag_);
  const auto reach = [this] { return table().reach_of(number()); };
  const auto has_tag = [this](const Bucket* bucket, std::uint32_t) {
    return probe(*bucket, tag_).candidates != 0;
  };
  if (here.candidates != 0 || detail::visit_behind(bucket_, here.controls, reach, has_tag))
    return false;
  bool taken = false;
  for (unsigned left = here.free; left != 0 && !taken; left &= left - 1)
    taken = take(*bucket_, static_cast<unsigned>(std::countr_zero(left)), published);
  if (!taken &&
      !take_behind(bucket_, published, certain_reach(bucket_count(word_), number()), reach))
    return false;
  map_->count(tally_, true);
  return true;
}

void OffsetMap::Home::remove(Entry entry) {
  const std::uint64_t old = entry.word->load(std::memory_order_relaxed);
  if (line_of(old) != 0) map_->count(tally_, false);
  if (entry.distance == 0) [[likely]] {
    entry.word->store(old & kControl, std::memory_order_release);
  } else {
    entry.word->fetch_and(kControl, std::memory_order_release);
    forget_distance(entry.distance);
  }
}

// Clears the control bit of `distance` if no entry of this home is left there. Nobody else can add
// one: that takes this home's latch.
void OffsetMap::Home::forget_distance(std::uint32_t distance) {
  const unsigned bit = std::min(distance, kLastDistance);
  const std::uint32_t buckets = bucket_count(word_);
  const bool left = detail::visit_behind(
      bucket_, 1u << (kFirstDistanceEntry - 1 + bit), [&] { return table().reach_of(number()); },
      [&](const Bucket* bucket, std::uint32_t) {
        return std::any_of(
            std::begin(bucket->words), std::end(bucket->words), [&](const auto& word) {
              const std::uint64_t seen = word.load(std::memory_order_relaxed);
              return payload_of(seen) != 0 && Table::home(tag_of(seen), buckets) == number();
            });
      });
  if (!left) {
    bucket_->words[kFirstDistanceEntry - 1 + bit].fetch_and(~kControl, std::memory_order_release);
  }
}

}  // namespace holdfast::index
