#include <holdfast/index/dash/segment.hpp>

#include <holdfast/base/mutant.hpp>
#include <holdfast/memory/sealed_word.hpp>

namespace holdfast::index::dash_detail {

// ---- Looking ----

std::optional<Segment::Place> Segment::find_in(std::uint32_t bucket, KeyHash hash,
                                               std::uint64_t key) const {
  const auto first = hash.first_line();
  if (const auto place = find_in_half(half(bucket, first), hash, key)) return place;
  return find_in_half(half(bucket, first ^ 2), hash, key);
}

std::optional<Segment::Place> Segment::find(KeyHash hash, std::uint64_t key) const {
  if (const auto place = find_in_half(near(hash), hash, key)) return place;
  return find_elsewhere(hash, key);
}

void Segment::ask_elsewhere(KeyHash hash) const {
  const auto home = home_of(hash);
  ask_for_half(half(home, hash.first_line() ^ 2));
  ask_for_half(half(after(home), 0));
  ask_for_half(half(after(home), 2));
}

std::optional<Segment::Place> Segment::find_elsewhere(KeyHash hash, std::uint64_t key) const {
  const auto home = home_of(hash);
  if (const auto place = find_in_half(half(home, hash.first_line() ^ 2), hash, key)) return place;
  if (const auto place = find_in(after(home), hash, key)) return place;
  if (!is_announced(hash)) return std::nullopt;
  for (std::uint32_t i = 0; i < shape_.stash_buckets; ++i) {
    if (const auto place = find_in(stash_of(hash, i), hash, key)) return place;
  }
  return std::nullopt;
}

std::optional<Segment::Place> Segment::free_place(std::uint32_t bucket, KeyHash hash,
                                                  unsigned lines) const {
  for (unsigned i = 0; i < lines; ++i) {
    auto& line = buckets_[bucket].lines[hash.first_line() ^ i];
    const auto slot = meta(line).free_slot();
    if (slot < Line::kRecords) return Place{&line, slot};
  }
  return std::nullopt;
}

unsigned Segment::count(std::uint32_t bucket) const {
  unsigned count = 0;
  for (const auto& line : buckets_[bucket].lines)
    count += meta(line).count();
  return count;
}

std::optional<Segment::Place> Segment::pick(std::uint32_t bucket, bool visitor) const {
  for (auto& line : buckets_[bucket].lines) {
    const auto held = meta(line);
    for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
      if (held.holds(slot) && held.visitor(slot) == visitor) return Place{&line, slot};
    }
  }
  return std::nullopt;
}

// ---- Changing ----

void Segment::write(Place place, KeyHash hash, const Record& record, bool visitor) const {
  put(persist_, place, hash, record, visitor);
  persist_.fence();
}

void Segment::replace_value(Place place, std::uint64_t value) const {
  auto* const word = &place.line->records[place.slot].value;
  persist_.store(word, value);
  persist_.persist(word, sizeof *word);
}

void Segment::remove(Place place) const {
  auto* const word = &place.line->meta;
  persist_.store(word, meta(*place.line).without(place.slot).word);
  persist_.persist(word, sizeof *word);
}

std::optional<Segment::Room> Segment::room_for(KeyHash hash) const {
  const auto home = home_of(hash), next = after(home);
  if (const auto place = free_place(home, hash, 2)) return Room{*place, false};
  const bool visits = count(next) < count(home);
  const auto place = free_place(visits ? next : home, hash);
  if (!place) return std::nullopt;
  return Room{*place, HF_MUTANT("D05", visits, false)};
}

bool Segment::add(KeyHash hash, const Record& record) const {
  if (const auto room = room_for(hash)) {
    write(room->place, hash, record, room->visits);
    return true;
  }
  return add_by_displacing(hash, record) || add_to_stash(hash, record);
}

// Both buckets are full. A record that lives in the second one may visit the third; a visitor of
// the first may go home. Its copy is durable before its old place is overwritten.
bool Segment::add_by_displacing(KeyHash hash, const Record& record) const {
  const auto home = home_of(hash), next = after(home);
  const auto move = [&](std::uint32_t from, std::uint32_t to, bool becomes_visitor) {
    const auto old = pick(from, !becomes_visitor);
    if (!old) return false;
    const Record moved{Persist::load(&old->line->records[old->slot].key), old->value()};
    const auto moved_hash = hash_of(moved.key);
    const auto place = free_place(to, moved_hash);
    if (!place) return false;
    if (HF_MUTANT("D06", true, false)) write(*place, moved_hash, moved, becomes_visitor);
    write(*old, hash, record, from == next);
    if (HF_MUTANT("D06", false, true)) write(*place, moved_hash, moved, becomes_visitor);
    return true;
  };
  return HF_MUTANT("D17", move(next, after(next), true), false) ||
         HF_MUTANT("D18", move(home, before(home), false), false);
}

std::optional<Segment::Place> Segment::stash_room_for(KeyHash hash) const {
  for (std::uint32_t i = 0; i < shape_.stash_buckets; ++i) {
    if (const auto place = free_place(stash_of(hash, i), hash)) return place;
  }
  return std::nullopt;
}

bool Segment::add_to_stash(KeyHash hash, const Record& record) const {
  const auto place = stash_room_for(hash);
  if (!place) return false;
  if (announce(persist_, hash)) persist_.fence();
  write(*place, hash, record, false);
  return true;
}

// ---- Recovery ----

std::optional<SegmentKeys> Segment::keys(std::uint32_t number) const {
  const auto value =
      open_word<SealedWord>(Persist::load(segment_word()), segment_context(id_, number));
  if (!value) return std::nullopt;
  const auto keys = SegmentKeys::of(*value);
  if (keys.depth > shape_.max_depth || keys.pattern >> keys.depth != 0) return std::nullopt;
  return keys;
}

bool Segment::lies_right(std::uint32_t bucket, LineMeta meta, unsigned slot, KeyHash hash) const {
  const auto home = home_of(hash);
  if (meta.fingerprint(slot) != hash.fingerprint()) return false;
  if (bucket < shape_.buckets)
    return HF_MUTANT("D09", bucket == (meta.visitor(slot) ? after(home) : home), true);
  return !meta.visitor(slot);
}

Status Segment::check_bucket(std::uint32_t bucket, const SegmentKeys& keys,
                             const std::optional<SegmentKeys>& leaving) const {
  const auto damaged = [&](const char* what) {
    return Error{Errc::kCorrupt, "bucket " + std::to_string(bucket) + " " + what};
  };
  for (const auto& line : buckets_[bucket].lines) {
    const auto held = meta(line);
    if (!held.well_formed()) return damaged("has a line whose first word no build writes");
    for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
      if (!held.holds(slot)) continue;
      const auto hash = hash_of(Persist::load(&line.records[slot].key));
      const bool leaves = leaving && leaving->has(hash);
      if (HF_MUTANT("D16", !keys.has(hash), false) && !HF_MUTANT("D39", leaves, false))
        return damaged("has a key of another segment");
      const bool announced =
          bucket < shape_.buckets || HF_MUTANT("D40", leaves, false) || is_announced(hash);
      if (!lies_right(bucket, held, slot, hash) || !announced)
        return damaged("has a key of another bucket");
    }
  }
  return {};
}

Status Segment::check(const SegmentKeys& keys, const std::optional<SegmentKeys>& leaving) const {
  for (std::uint32_t bucket = 0; bucket < all_buckets(); ++bucket)
    HF_RETURN_IF_ERROR(check_bucket(bucket, keys, leaving));
  return {};
}

Status Segment::repair(const SegmentKeys& keys) const {
  HF_RETURN_IF_ERROR(check(keys));
  // All of it: a process that was killed may have left stores that nobody wrote back. Before any
  // visitor goes: the record that came home may be one of them.
  persist_.persist(buckets_, shape_.segment_bytes());
  bool changed = false;
  for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket) {
    for (auto& line : buckets_[bucket].lines) {
      const auto held = meta(line);
      auto left = held;
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        if (!held.holds(slot) || !held.visitor(slot)) continue;
        const auto key = Persist::load(&line.records[slot].key);
        if (HF_MUTANT("D07", find_in(before(bucket), hash_of(key), key).has_value(), false))
          left = left.without(slot);
      }
      if (left.word == held.word) continue;
      persist_.store(&line.meta, left.word);
      persist_.write_back(&line.meta, sizeof line.meta);
      changed = true;
    }
  }
  if (changed) persist_.fence();
  return {};
}

// ---- Splitting ----

// Words that do not change are not stored: after a crash this runs again over what is done.
void Segment::set(std::uint64_t* word, std::uint64_t value) const {
  if (Persist::load(word) != value) persist_.store(word, value);
}

LineMeta Segment::kept(const Line& line, const SegmentKeys& upper, bool in_upper) const {
  auto left = meta(line);
  for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
    if (!left.holds(slot)) continue;
    const auto hash = hash_of(Persist::load(&line.records[slot].key));
    if (HF_MUTANT("D14", upper.has(hash), true) != in_upper) left = left.without(slot);
  }
  return left;
}

Segment::Filters Segment::needed_filters(const SegmentKeys& upper, bool in_upper) const {
  Filters needed{};
  for (auto stash = shape_.buckets; stash < all_buckets(); ++stash) {
    for (const auto& line : buckets_[stash].lines) {
      const auto left = kept(line, upper, in_upper);
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        if (!left.holds(slot)) continue;
        const auto hash = hash_of(Persist::load(&line.records[slot].key));
        needed[home_of(hash)] |= hash.stash_bit();
      }
    }
  }
  return needed;
}

void Segment::settle() const {
  for (std::uint32_t bucket = 0; bucket < all_buckets(); ++bucket) {
    for (unsigned i = 0; i < Bucket::kLines; ++i) {
      auto& line = buckets_[bucket].lines[i];
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        if (!meta(line).holds(slot)) continue;
        const auto hash = hash_of(line.records[slot].key);
        const auto home = home_of(hash);
        if (bucket == home && (i & 2) == hash.first_line()) continue;
        const auto place = free_place(home, hash, 2);
        if (!place) continue;
        auto& to = *place->line;
        to.records[place->slot] = line.records[slot];
        to.meta = meta(to).with(place->slot, hash.fingerprint(), false).word;
        line.meta = HF_MUTANT("D44", meta(line).without(slot), meta(line)).word;
      }
    }
  }
}

void Segment::copy_upper(const Segment& to, std::uint32_t to_number,
                         const SegmentKeys& upper) const {
  std::vector<Bucket> half(all_buckets());
  for (std::uint32_t bucket = 0; bucket < all_buckets(); ++bucket) {
    for (unsigned i = 0; i < Bucket::kLines; ++i) {
      const auto& line = buckets_[bucket].lines[i];
      auto& copy = half[bucket].lines[i];
      const auto left = kept(line, upper, true);
      copy.meta = left.word;
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        if (left.holds(slot)) copy.records[slot] = line.records[slot];
      }
    }
  }
  const Segment copy(persist_, reinterpret_cast<std::byte*>(half.data()), shape_, id_);
  copy.settle();
  const auto filters = copy.needed_filters(upper, true);
  for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket)
    half[bucket].lines[0].extra = HF_MUTANT("D15", filters[bucket], 0);
  half[0].lines[1].extra = seal_word<SealedWord>(upper.word(), segment_context(id_, to_number));
  persist_.write(to.buckets_, half.data(), shape_.segment_bytes());
  persist_.fence();
}

void Segment::drop_upper(std::uint32_t number, const SegmentKeys& upper) const {
  const auto filters = needed_filters(upper, false);
  for (std::uint32_t bucket = 0; bucket < shape_.buckets; ++bucket)
    set(stash_filter(bucket), filters[bucket]);
  for (std::uint32_t bucket = 0; bucket < all_buckets(); ++bucket) {
    for (auto& line : buckets_[bucket].lines)
      set(&line.meta, kept(line, upper, false).word);
  }
  set_keys(number, upper.lower_twin());
  persist_.persist(buckets_, shape_.segment_bytes());
}

void Segment::set_keys(std::uint32_t number, const SegmentKeys& keys) const {
  set(segment_word(), seal_word<SealedWord>(keys.word(), segment_context(id_, number)));
}

void Segment::create(std::uint32_t number, const SegmentKeys& keys) const {
  const std::vector<Bucket> empty(all_buckets());
  persist_.copy(buckets_, empty.data(), shape_.segment_bytes());
  set_keys(number, keys);
  persist_.write_back(buckets_, shape_.segment_bytes());
}

}  // namespace holdfast::index::dash_detail
