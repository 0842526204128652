// segment.hpp: one segment of a Dash index: normal buckets, then stash buckets.
//
// A record lies in its home bucket, in the bucket behind it (there it is a visitor), or in a stash
// bucket. A record in the stash is announced by a bit in the stash filter of its home; the bit is
// durable before the record is.
//
// Guarantee  add, replace_value and remove are durable when they return, and there wholly or not at
//            all after a crash. A crash within add() may leave a record twice, in its home and as a
//            visitor, with the same value: repair() removes the visitor.
// Fences     replace_value, remove: 1. add: 1; 2 with a displaced record; 2 with a new bit of the
//            stash filter.
// Threads    One thread changes it. find() and each_record() may run beside a change and then
//            return anything: their caller compares the segment's version before and after.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/index/dash/dash_format.hpp>
#include <holdfast/memory/persist.hpp>

namespace holdfast::index::dash_detail {

class Segment {
 public:
  struct Place {
    Line* line;
    unsigned slot;
    std::uint64_t value() const { return Persist::load(&line->records[slot].value); }
  };

  Segment(const Persist& persist, std::byte* begin, const DashShape& shape, std::uint64_t id)
      : persist_(persist), buckets_(reinterpret_cast<Bucket*>(begin)), shape_(shape), id_(id) {}

  // Looks into the half of its home where most keys are, then elsewhere.
  std::optional<Place> find(KeyHash hash, std::uint64_t key) const;
  std::optional<Place> find_elsewhere(KeyHash hash, std::uint64_t key) const;
  // Asks for the lines that find() reads; for those of find_elsewhere().
  void ask(KeyHash hash) const {
    ask_for_half(near(hash));
    ask_elsewhere(hash);
  }
  void ask_elsewhere(KeyHash hash) const;
  // Halves of buckets: two lines each.
  Line* near(KeyHash hash) const { return half(home_of(hash), hash.first_line()); }
  static void ask_for_half(const Line* lines) {
    prefetch_for_read(&lines[0]);
    prefetch_for_read(&lines[1]);
  }
  static std::optional<Place> find_in_half(Line* lines, KeyHash hash, std::uint64_t key);

  // A free place in the key's half of its home. If that is full: a free place in one of the key's
  // two buckets, the one with fewer records.
  struct Room {
    Place place;
    bool visits;  // It is in the second bucket.
  };
  std::optional<Room> room_for(KeyHash hash) const;
  // A free place in the stash. A record that goes there is announced first.
  std::optional<Place> stash_room_for(KeyHash hash) const;
  // Sets the hash's bit in the filter of its home. True: it was not set. It is written back, and
  // must be durable before the record is stored: one that the filter does not know is not found.
  template <class Writer>
  bool announce(Writer& writer, KeyHash hash) const;
  // Writer: Persist, or a member of an interleaved group. One line, written back; durable with the
  // next fence. The first store removes what lies there now, and the last one adds the new record.
  // A line becomes durable in the order of its stores, so no crash shows a mixture.
  template <class Writer>
  static void put(Writer& writer, Place place, KeyHash hash, const Record& record, bool visitor);
  // Adds a record whose key is not there. False: there is no room for it; other records may have
  // moved, nothing else changed.
  bool add(KeyHash hash, const Record& record) const;
  void replace_value(Place place, std::uint64_t value) const;
  void remove(Place place) const;

  // Which keys the segment of this number holds. Nothing: its word is damaged.
  std::optional<SegmentKeys> keys(std::uint32_t number) const;

  // Checks that all records lie where they belong. Errors: kCorrupt, naming the bucket. `leaving`:
  // keys that a split takes from here, which a crash may have interrupted. Their records may be
  // there or not, and the filters need not announce them.
  Status check(const SegmentKeys& keys, const std::optional<SegmentKeys>& leaving = {}) const;
  // Called at the first access after an opening: checks, removes a record that a displacement left
  // twice, and makes all that it saw durable. One fence. Errors: kCorrupt; nothing was changed
  // then.
  Status repair(const SegmentKeys& keys) const;

  // An empty segment. Not durable before the next fence.
  void create(std::uint32_t number, const SegmentKeys& keys) const;
  // Makes `to`, whose bytes are arbitrary, the segment of the keys `upper`, which are half of this
  // segment's: their records at the same places, or in their half of their home. One fence.
  void copy_upper(const Segment& to, std::uint32_t to_number, const SegmentKeys& upper) const;
  // Removes the records of `upper`, and leaves this segment the other half of its keys. One fence.
  // May be repeated.
  void drop_upper(std::uint32_t number, const SegmentKeys& upper) const;

  // visit(record) for each key, once each.
  template <class Visit>
  void each_record(Visit&& visit) const;

 private:
  std::uint32_t all_buckets() const { return shape_.buckets + shape_.stash_buckets; }
  std::uint32_t after(std::uint32_t bucket) const {
    return bucket + 1 == shape_.buckets ? 0 : bucket + 1;
  }
  std::uint32_t before(std::uint32_t bucket) const {
    return bucket == 0 ? shape_.buckets - 1 : bucket - 1;
  }
  KeyHash hash_of(std::uint64_t key) const { return KeyHash::of(key, id_); }
  Line* half(std::uint32_t bucket, unsigned first) const { return &buckets_[bucket].lines[first]; }
  std::uint32_t home_of(KeyHash hash) const { return hash.bucket(shape_.buckets); }
  // Stash bucket number `i` in the order in which the hash goes through them.
  std::uint32_t stash_of(KeyHash hash, std::uint32_t i) const {
    return shape_.buckets + (hash.fingerprint() + i) % shape_.stash_buckets;
  }
  static LineMeta meta(const Line& line) { return {Persist::load(&line.meta)}; }
  std::uint64_t* stash_filter(std::uint32_t bucket) const {
    return &buckets_[bucket].lines[0].extra;
  }
  std::uint64_t* segment_word() const { return &buckets_[0].lines[1].extra; }

  std::optional<Place> find_in(std::uint32_t bucket, KeyHash hash, std::uint64_t key) const;
  // The first one of `lines` lines, of which those of the hash's half come first.
  std::optional<Place> free_place(std::uint32_t bucket, KeyHash hash,
                                  unsigned lines = Bucket::kLines) const;
  unsigned count(std::uint32_t bucket) const;
  // A record of the bucket: with `visitor` one that is a visitor, else one that is not.
  std::optional<Place> pick(std::uint32_t bucket, bool visitor) const;
  void write(Place place, KeyHash hash, const Record& record, bool visitor) const;
  bool add_by_displacing(KeyHash hash, const Record& record) const;
  bool add_to_stash(KeyHash hash, const Record& record) const;
  bool lies_right(std::uint32_t bucket, LineMeta meta, unsigned slot, KeyHash hash) const;
  bool is_announced(KeyHash hash) const {
    return (Persist::load(stash_filter(home_of(hash))) & hash.stash_bit()) != 0;
  }
  Status check_bucket(std::uint32_t bucket, const SegmentKeys& keys,
                      const std::optional<SegmentKeys>& leaving) const;
  // The line's meta word with only the records whose keys are of `upper`, or only the others.
  LineMeta kept(const Line& line, const SegmentKeys& upper, bool in_upper) const;
  // Of a segment in DRAM: records go to their half of their home where there is room.
  void settle() const;
  // For each normal bucket what its stash filter must hold for such records. Takes no memory: there
  // is no way back from a split whose word is stored.
  using Filters = std::array<std::uint64_t, DashShape::kMaxBuckets>;
  Filters needed_filters(const SegmentKeys& upper, bool in_upper) const;
  void set_keys(std::uint32_t number, const SegmentKeys& keys) const;
  // Stores the word unless it is there already.
  void set(std::uint64_t* word, std::uint64_t value) const;

  const Persist& persist_;
  Bucket* buckets_;
  const DashShape& shape_;
  std::uint64_t id_;
};

// Here, as it is most of a look-up.
inline std::optional<Segment::Place> Segment::find_in_half(Line* lines, KeyHash hash,
                                                           std::uint64_t key) {
  const auto fingerprint = hash.fingerprint();
  // Of both lines first, so that which line it is costs no wrong prediction.
  auto places = meta(lines[0]).matching(fingerprint) | meta(lines[1]).matching(fingerprint) << 3;
  for (; places != 0; places &= places - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(places));
    const Place found{&lines[place / 3], place % 3};
    if (HF_MUTANT("D02", Persist::load(&found.line->records[found.slot].key) == key, true))
      return found;
  }
  return std::nullopt;
}

template <class Writer>
void Segment::put(Writer& writer, Place place, KeyHash hash, const Record& record, bool visitor) {
  auto& line = *place.line;
  const auto others = meta(line).without(place.slot);
  const auto now = others.with(place.slot, hash.fingerprint(), visitor);
  if (HF_MUTANT("D03", meta(line).holds(place.slot), false)) writer.store(&line.meta, others.word);
  if (HF_MUTANT("D04", false, true)) writer.store(&line.meta, now.word);
  writer.store(&line.records[place.slot].key, record.key);
  writer.store(&line.records[place.slot].value, record.value);
  writer.store(&line.meta, now.word);
  writer.write_back(&line, sizeof line);
}

template <class Writer>
bool Segment::announce(Writer& writer, KeyHash hash) const {
  auto* const filter = stash_filter(home_of(hash));
  const auto before = Persist::load(filter);
  if (HF_MUTANT("D08", (before & hash.stash_bit()) != 0, before != 0)) return false;
  writer.store(filter, before | hash.stash_bit());
  writer.write_back(filter, sizeof *filter);
  return true;
}

template <class Visit>
void Segment::each_record(Visit&& visit) const {
  for (std::uint32_t bucket = 0; bucket < all_buckets(); ++bucket) {
    for (const auto& line : buckets_[bucket].lines) {
      const auto held = meta(line);
      for (unsigned slot = 0; slot < Line::kRecords; ++slot) {
        if (!held.holds(slot)) continue;
        const Record record{Persist::load(&line.records[slot].key),
                            Persist::load(&line.records[slot].value)};
        // Of a record that a displacement left twice, the one at home counts.
        const auto hash = hash_of(record.key);
        if (HF_MUTANT("D19", held.visitor(slot), false) && find_in(home_of(hash), hash, record.key))
          continue;
        visit(record);
      }
    }
  }
}

}  // namespace holdfast::index::dash_detail
