// offset_map_inline.hpp: what of the offset map is compiled into its callers: looking a key up, and
// the steps of writers that need no call.
//
// offset_map.hpp has the contract, and includes this at its end.
#pragma once

#include <bit>

#include <holdfast/index/offset_map.hpp>

namespace holdfast::index {

namespace detail {

// Calls visit(bucket, distance) for the buckets behind `home` that `controls` names, until it
// returns true. `reach_of()` is asked for what lies 6 or more behind: the table says it, and its
// header is a cache miss.
template <class B, class ReachOf, class Visit>
bool visit_behind(B* home, unsigned controls, ReachOf&& reach_of, Visit&& visit) {
  for (unsigned left = controls >> kFirstDistanceEntry; left != 0; left &= left - 1) {
    auto distance = static_cast<std::uint32_t>(std::countr_zero(left)) + 1;
    const std::uint32_t end = distance == kLastDistance ? reach_of() : distance;
    for (; distance <= end; ++distance) {
      if (visit(home + distance, distance)) return true;
    }
  }
  return false;
}

}  // namespace detail

template <class Probing, class Match>
inline Line OffsetMap::find(const Place& at, Match&& matches) const {
  return look<Probing>(at, matches).line();
}

template <class Probing, class Match>
inline Seen OffsetMap::look(const Place& at, Match&& matches) const {
  const Probe here = Probing::look(*at.home, at.tag);
  if (here.candidates != 0) {
    auto& word = at.home->words[std::countr_zero(here.candidates)];
    const std::uint64_t seen = payload_of(word.load(std::memory_order_acquire));
    if (line_of(seen) != 0 && matches(Line{line_of(seen)})) [[likely]]
      return {{&word, 0}, seen, at.table};
  } else if (here.controls >> kFirstDistanceEntry == 0) [[likely]] {
    return {{}, 0, at.table};
  }
  return look_further(at, matches);
}

template <class Probing, bool kBehind, class Match>
inline bool OffsetMap::glance(const Place& at, Match&& matches, Seen& seen) const {
  const Probe here = Probing::look(*at.home, at.tag);
  Bucket* bucket = at.home;
  unsigned candidates = here.candidates;
  if (candidates == 0) {
    const bool sure = here.controls >> kFirstDistanceEntry == 0;
    if (kBehind && (here.controls >> kFirstDistanceEntry & 1) != 0)
      candidates = Probing::look(*++bucket, at.tag).candidates;
    if (candidates == 0) {
      seen = {};
      return sure;
    }
  }
  auto& word = bucket->words[static_cast<unsigned>(std::countr_zero(candidates))];
  seen = {{&word, static_cast<std::uint32_t>(bucket - at.home)},
          payload_of(word.load(std::memory_order_acquire)),
          at.table};
  return line_of(seen.payload) != 0 && matches(seen.line());
}

// A table that was replaced stays latched for ever. So a latch that is obtained is of the table
// that `seen` is of, and the entries are at home.
template <class Allowed>
inline bool OffsetMap::replace_at_once(const Place& at, const Seen& seen, Line line,
                                       Allowed&& allowed) {
  if (!try_latch(*at.home)) [[unlikely]]
    return false;
  auto& word = *seen.entry.word;
  const std::uint64_t now = word.load(std::memory_order_relaxed);
  const bool done = payload_of(now) == seen.payload && allowed();
  if (done) [[likely]]
    word.store(now ^ seen.line().number ^ line.number, std::memory_order_release);
  unlatch(*at.home);
  return done;
}

template <class Allowed>
inline bool OffsetMap::remove_at_once(const Place& at, const Seen& seen, Tally& tally,
                                      Allowed&& allowed) {
  if (!try_latch(*at.home)) [[unlikely]]
    return false;
  auto& word = *seen.entry.word;
  const std::uint64_t now = word.load(std::memory_order_relaxed);
  const bool done = payload_of(now) == seen.payload && allowed();
  if (done) [[likely]] {
    word.store(now & kControl, std::memory_order_release);
    count(&tally, false);
  }
  unlatch(*at.home);
  return done;
}

// Another thread may have inserted the key, or a key with its tag, since glance(). Such an entry is
// a candidate in the home, or lies behind it. A quarter of the homes is full, or has entries behind
// it.
template <class Probing, bool kBehind, class Allowed>
inline bool OffsetMap::insert_at_once(const Place& at, Line line, Tally& tally, Allowed&& allowed) {
  if (!try_latch(*at.home)) [[unlikely]]
    return false;
  const Vacancy here = Probing::vacancy(*at.home, at.tag);
  bool done = allowed();
  if (done && (here.candidates | here.controls >> kFirstDistanceEntry) == 0 && here.free != 0)
      [[likely]] {
    done = take(*at.home, static_cast<unsigned>(std::countr_zero(here.free)),
                payload(at.tag, line.number));
    if (done) [[likely]]
      count(&tally, true);
  } else if (done) {
    done = kBehind && Home(this, &tally, at).insert_new(line);
  }
  unlatch(*at.home);
  return done;
}

// An entry of a bucket that is latched for its own keys. Guests compete for all but the first ones.
inline bool OffsetMap::take(Bucket& home, unsigned entry, std::uint64_t payload) {
  auto& word = home.words[entry];
  std::uint64_t free = word.load(std::memory_order_relaxed);
  if (entry >= kFirstDistanceEntry) {
    return payload_of(free) == 0 &&
           word.compare_exchange_strong(free, free | payload, std::memory_order_release,
                                        std::memory_order_relaxed);
  }
  word.store(free | payload, std::memory_order_release);
  return true;
}

inline bool OffsetMap::latch_at_once(const Place& at, const Seen& seen) const {
  if (!try_latch(*at.home)) [[unlikely]]
    return false;
  if (payload_of(seen.entry.word->load(std::memory_order_relaxed)) == seen.payload) [[likely]]
    return true;
  unlatch(*at.home);
  return false;
}

template <class Match>
inline Seen OffsetMap::look_in(Bucket& bucket, unsigned candidates, std::uint32_t distance,
                               Match&& matches) {
  for (unsigned left = candidates; left != 0; left &= left - 1) {
    auto& word = bucket.words[std::countr_zero(left)];
    const std::uint64_t seen = payload_of(word.load(std::memory_order_acquire));
    if (line_of(seen) != 0 && matches(Line{line_of(seen)})) return {{&word, distance}, seen, 0};
  }
  return {};
}

template <class Match>
Seen OffsetMap::look_further(Place at, Match matches) const {
  const Probe here = probe(*at.home, at.tag);
  Seen found = look_in(*at.home, here.candidates, 0, matches);
  found.table = at.table;
  if (found || here.controls >> kFirstDistanceEntry == 0) return found;
  detail::visit_behind(
      at.home, here.controls,
      [&] {
        Bucket* const first = first_bucket(at.table);
        return Table::of(first)->reach_of(static_cast<std::uint32_t>(at.home - first));
      },
      [&](Bucket* bucket, std::uint32_t distance) {
        found = look_in(*bucket, probe(*bucket, at.tag).candidates, distance, matches);
        return static_cast<bool>(found);
      });
  found.table = at.table;
  return found;
}

inline bool OffsetMap::latched_or_patching(std::uint64_t hash) const {
  const Bucket& home = *place(hash).home;
  return ((home.words[kLatchEntry].load(std::memory_order_seq_cst) |
           home.words[kPatchEntry].load(std::memory_order_seq_cst)) &
          kControl) != 0;
}

template <class Probing>
inline Line OffsetMap::candidate(const Place& at) const {
  const Probe here = Probing::look(*at.home, at.tag);
  const Bucket* bucket = at.home;
  unsigned candidates = here.candidates;
  if (candidates == 0) [[unlikely]] {
    if ((here.controls >> kFirstDistanceEntry & 1) == 0) return kNoLine;
    candidates = Probing::look(*++bucket, at.tag).candidates;
    if (candidates == 0) return kNoLine;
  }
  return Line{line_of(bucket->words[std::countr_zero(candidates)].load(std::memory_order_acquire))};
}

inline void OffsetMap::prefetch(std::uint64_t hash) const {
  const Bucket* const home = place(hash).home;
  prefetch_for_read(home);
  prefetch_for_read(home + 1);
}

inline void OffsetMap::prefetch_for_write(std::uint64_t hash) const {
  const Bucket* const home = place(hash).home;
  holdfast::prefetch_for_write(home);
  prefetch_for_read(home + 1);
  holdfast::prefetch_for_write(&partition_of(hash));
}

template <class Visit>
bool OffsetMap::for_each(std::uint32_t partition, Visit&& visit) const {
  const Table& current = table(partition);
  for (std::uint32_t bucket = 0; bucket < current.geometry.total(); ++bucket) {
    for (const auto& word : current.buckets()[bucket].words) {
      const Line line{line_of(word.load(std::memory_order_acquire))};
      if (line && !visit(line)) return false;
    }
  }
  return true;
}

inline OffsetMap::Latched OffsetMap::latch(std::uint64_t hash) {
  grow_in_turn();
  Place at = place(hash);
  return latch_now(at, nullptr);
}

inline OffsetMap::Latched OffsetMap::latch(Place& at, Tally& tally) {
  return latch_now(at, &tally);
}

// The latches of a frozen table are never released. So a latch that is obtained is one of the
// current table, and after a failed attempt the table is looked up again.
inline OffsetMap::Latched OffsetMap::latch_now(Place& at, Tally* tally) {
  for (SpinWait wait;; wait(), at = place(at.hash)) {
    auto& latch = at.home->words[kLatchEntry];
    std::uint64_t seen = latch.load(std::memory_order_relaxed);
    if ((seen & kControl) == 0 &&
        latch.compare_exchange_strong(seen, seen | kControl, std::memory_order_seq_cst,
                                      std::memory_order_relaxed)) [[likely]] {
      return Latched(Home(this, tally, at));
    }
  }
}

template <class Probing, class Match>
inline Entry OffsetMap::Home::find(Match&& matches) const {
  const Probe here = Probing::look(*bucket_, tag_);
  if (here.candidates == 0 && here.controls >> kFirstDistanceEntry == 0) return {};
  return Home(*this).find_among(here, matches);  // A copy, so that this stays in registers.
}

template <class Match>
Entry OffsetMap::Home::find_among(Probe here, Match matches) const {
  Seen found = look_in(*bucket_, here.candidates, 0, matches);
  if (!found && here.controls >> kFirstDistanceEntry != 0) [[unlikely]] {
    detail::visit_behind(
        bucket_, here.controls, [&] { return table().reach_of(number()); },
        [&](Bucket* bucket, std::uint32_t distance) {
          found = look_in(*bucket, probe(*bucket, tag_).candidates, distance, matches);
          return static_cast<bool>(found);
        });
  }
  return found.entry;
}

inline void OffsetMap::Home::replace(Entry entry, Line line) {
  HF_DCHECK(line && line.number < kLineLimit);
  const std::uint64_t old = entry.word->load(std::memory_order_relaxed);
  const std::uint64_t fresh = payload(tag_, line.number);
  if (entry.distance == 0) [[likely]] {
    entry.word->store((old & kControl) | fresh, std::memory_order_release);
  } else {
    // Another home's holder may change the control bit meanwhile; the payload is ours.
    entry.word->fetch_xor(payload_of(old) ^ fresh, std::memory_order_release);
  }
  if (line_of(old) == 0) map_->count(tally_, true);
}

inline void OffsetMap::count(Tally* tally, bool inserted) {
  const std::uint64_t change = inserted ? 1 : ~std::uint64_t{0};
  std::uint64_t before = 0;
  if (tally != nullptr) {  // Its owner alone writes it.
    before = tally->entries_.load(std::memory_order_relaxed);
    tally->entries_.store(before + change, std::memory_order_relaxed);
  } else {
    before = shared_entries_.fetch_add(change, std::memory_order_relaxed);
  }
  if (before % kReported == (inserted ? kReported - 1 : 0)) [[unlikely]] {
    constexpr auto kStep = static_cast<std::int64_t>(kReported);
    reported_entries_.fetch_add(inserted ? kStep : -kStep, std::memory_order_relaxed);
  }
}

inline Entry OffsetMap::Home::claim() {
  const std::uint64_t claimed = payload(tag_, 0);
  for (unsigned i = 0; i < kEntriesPerBucket; ++i) {
    auto& word = bucket_->words[i];
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    if (payload_of(seen) != 0) continue;
    if (i < kFirstDistanceEntry) {  // Ours alone.
      word.store(seen | claimed, std::memory_order_relaxed);
      return {&word, 0};
    }
    if (word.compare_exchange_strong(seen, seen | claimed, std::memory_order_relaxed))
      return {&word, 0};
  }
  return Home(*this).claim_behind();  // A copy, so that this stays in registers.
}

}  // namespace holdfast::index
