// value_parts.hpp: the values that an aggregate of a changing group holds, in parts, so that a
// checkpoint writes those that came or went since the last one, and not all.
//
//   a part      changes, about kPartBytes of them: a value and its size before it (append_size),
//               then how much more often it is there now (8 bytes)
//   its key     the group's key with its size before it, the number of the aggregate, that of the
//               part (append_ordered)
//
// The changes of all parts add up to what is there, whatever their order. The last part is written
// again until it is full. Where values go, too, all parts are written anew once they have twice as
// many changes as there are values.
//
// Few values stand in the entry of their group, whole.
//
// Costs  note() O(bytes). put(): O(changes since the last one), of values that go O(n log n) of
//        them; amortised.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/mark.hpp>

namespace holdfast::query {

class ValueParts {
 public:
  static constexpr std::size_t kMostWhole = 256;  // Values that stand in the entry of their group.
  static constexpr std::size_t kPartBytes = 16 * 1024;

  ValueParts();
  ~ValueParts();

  // The value is there so many times more.
  void note(Text value, std::int64_t change);
  // A store has so many parts, which are to be taken.
  void expect(std::uint32_t count) { wanted_ = count; }
  // Takes one of them, in any order. change(value, by) -> whether it is one.
  template <class Change>
  bool take(std::int64_t number, Text part, std::uint64_t version, const Change& change) {
    if (!begin_part(number, part, version)) return false;
    for (Text value; part.size != 0; ++stored_) {
      std::int64_t by = 0;
      if (!take_part(part, value) || !take_raw(part, by) || by == 0 || !change(value, by))
        return false;
    }
    return true;
  }
  // Behind the last one. False: some are missing, or one came twice.
  bool end_taking();
  std::uint32_t count() const { return static_cast<std::uint32_t>(parts_.size()); }
  // In memory.
  std::uint64_t bytes() const;
  // Each part that the store has: visit(number, mark).
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      visit(static_cast<std::int64_t>(i), parts_[i]);
  }
  // A checkpoint: `values` are there. all(visit): each, visit(value, how often).
  // put(number, bytes, mark) -> bool; erase(number, mark).
  template <class All, class Put, class Erase>
  bool put(std::size_t values, const All& all, const Put& put, const Erase& erase) {
    if (parts_.empty() || stored_ + changed_ > 2 * values + kMostWhole) {
      for_each(erase);
      clear();
      all([this](Text value, std::int64_t times) { note(value, times); });
    } else if (changed_ > 1) {
      add_up();
    }
    Text rest{changes_.data(), changes_.size()};
    while (rest.size != 0) {
      const Text last = fill_last(rest);
      const auto number = static_cast<std::int64_t>(parts_.size() - 1);
      if (!put(number, last, parts_.back())) return false;
    }
    forget_changes();
    return true;
  }

 private:
  static void append_change(Text value, std::int64_t by, std::string& bytes);
  static void skip_change(Text& changes);
  // False: there is no such part.
  bool begin_part(std::int64_t number, Text part, std::uint64_t version);
  void clear();
  // One change per value, none where they are 0 together.
  void add_up();
  // The last part, with what it has room for; a new one if it was full.
  Text fill_last(Text& changes);
  void forget_changes();

  std::vector<Mark> parts_;
  std::string last_;                      // The last part.
  std::string changes_;                   // Since the last checkpoint.
  std::size_t stored_ = 0, changed_ = 0;  // Changes in the parts, and since.
  std::uint32_t wanted_ = 0;              // While parts are taken; and those that were.
  std::int64_t last_taken_ = 0;
  std::vector<std::pair<std::int64_t, std::uint64_t>> taken_;
};

// The parts that hold the values of an aggregate, if the state of a changing group has them so.
class HasParts {
 public:
  // What a checkpoint needs of `values`, from many of them on: as ValueParts::put().
  template <class All, class Put, class Erase>
  bool put_parts(std::size_t values, const All& all, const Put& put, const Erase& erase) {
    if (parts_ == nullptr && values <= ValueParts::kMostWhole) return true;
    if (parts_ == nullptr) parts_ = std::make_unique<ValueParts>();
    return parts_->put(values, all, put, erase);
  }
  template <class Visit>
  void for_each_part(const Visit& visit) const {
    if (parts_ != nullptr) parts_->for_each(visit);
  }
  bool has_parts() const { return parts_ != nullptr; }

 protected:
  // What stands in the entry where the values are in parts.
  bool expect_parts(Text& bytes);
  std::uint64_t bytes_of_parts() const;
  void note(const std::string& value, std::int64_t change) {
    if (has_parts()) [[unlikely]]
      note_in_parts(value, change);
  }

  std::unique_ptr<ValueParts> parts_;

 private:
  void note_in_parts(const std::string& value, std::int64_t change);
};

#ifndef HOLDFAST_APART

HF_APART ValueParts::ValueParts() {}
HF_APART ValueParts::~ValueParts() {}
HF_APART void ValueParts::note(Text value, std::int64_t change) {
  append_change(value, change, changes_);
  ++changed_;
}
HF_APART bool ValueParts::begin_part(std::int64_t number, Text part, std::uint64_t version) {
  if (number < 0 || part.size == 0) return false;
  if (taken_.empty() || number > last_taken_) {
    last_taken_ = number;
    last_.assign(part.data, part.size);
  }
  taken_.emplace_back(number, version);
  return true;
}
HF_APART bool ValueParts::end_taking() {
  if (taken_.size() != wanted_) return false;
  std::sort(taken_.begin(), taken_.end());
  for (const auto& [number, version] : std::exchange(taken_, {})) {
    if (number != static_cast<std::int64_t>(parts_.size())) return false;
    parts_.push_back({version, false});
  }
  return true;
}
HF_APART std::uint64_t ValueParts::bytes() const {
  return sizeof *this + parts_.capacity() * sizeof(Mark) + last_.capacity() + changes_.capacity();
}
HF_APART void ValueParts::clear() {
  parts_.clear();
  last_.clear();
  changes_.clear();
  stored_ = changed_ = 0;
}
HF_APART void ValueParts::append_change(Text value, std::int64_t by, std::string& bytes) {
  append_size(value.size, bytes);
  bytes.append(value.data, value.size);
  append_raw(by, bytes);
}
HF_APART void ValueParts::skip_change(Text& changes) {
  Text value;
  std::int64_t by = 0;
  static_cast<void>(take_part(changes, value) && take_raw(changes, by));
}
HF_APART void ValueParts::add_up() {
  std::vector<std::pair<Text, std::int64_t>> all(changed_);
  Text rest{changes_.data(), changes_.size()};
  for (auto& [value, by] : all)
    static_cast<void>(take_part(rest, value) && take_raw(rest, by));
  const auto order = [](const Text& a, const Text& b) {
    if (a.size != b.size) return a.size < b.size ? -1 : 1;
    return a.size == 0 ? 0 : std::memcmp(a.data, b.data, a.size);
  };
  std::sort(all.begin(), all.end(),
            [&](const auto& a, const auto& b) { return order(a.first, b.first) < 0; });
  std::string changes;
  changed_ = 0;
  for (auto at = all.begin(); at != all.end();) {
    std::int64_t sum = 0;
    auto end = at;
    for (; end != all.end() && order(at->first, end->first) == 0; ++end)
      sum += end->second;
    if (sum != 0) append_change(at->first, sum, changes), ++changed_;
    at = end;
  }
  changes_ = std::move(changes);
}
HF_APART Text ValueParts::fill_last(Text& changes) {
  if (parts_.empty() || last_.size() >= kPartBytes) {
    parts_.emplace_back();
    last_.clear();
  }
  const Text before = changes;
  while (changes.size != 0 && last_.size() + (before.size - changes.size) < kPartBytes)
    skip_change(changes);
  last_.append(before.data, before.size - changes.size);
  return {last_.data(), last_.size()};
}
HF_APART void ValueParts::forget_changes() {
  stored_ += std::exchange(changed_, 0);
  changes_.clear();
}

HF_APART bool HasParts::expect_parts(Text& bytes) {
  std::uint32_t count = 0;
  if (!take_raw(bytes, count)) return false;
  parts_ = std::make_unique<ValueParts>();
  parts_->expect(count);
  return true;
}
HF_APART std::uint64_t HasParts::bytes_of_parts() const {
  return parts_ == nullptr ? 0 : parts_->bytes();
}
HF_APART void HasParts::note_in_parts(const std::string& value, std::int64_t change) {
  parts_->note({value.data(), value.size()}, change);
}

#endif

}  // namespace holdfast::query
