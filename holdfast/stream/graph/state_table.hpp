// state_table.hpp: entries of an operator by key, in the order of the keys' bytes, and what a
// checkpoint needs of them: all, or those that changed since the last one.
//
// A table whose keys are grouped need not have all entries in memory, where the store finds groups:
// fetch() reads a group when it is asked for. It begins so where the store has much of it, and all
// entries leave memory behind a checkpoint where they are too many.
//
// Entries may say until when the watermark lets them live: their `Codec` has end_of(key, value), a
// time or perhaps none. Those of the store are found by it, and end with a checkpoint.
//
// With a retention an entry says when it changed (compile/runtime/mark.hpp). sweep() ends what has
// not for long enough: what is in memory at once, the rest with the next checkpoint; fetch() does
// not give it before.
//
// Guarantee  What restore() finds is what the last completed checkpoint had: the newest version of
//            each key (state_store.hpp).
// Threads    One at a time.   Errors  Those of the state store; kCorrupt: an entry is none of this
//            query.
// Costs      O(log n) per change; a checkpoint writes what changed, or all where the store keeps
//            nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/stream/compile/runtime/mark.hpp>
#include <holdfast/stream/graph/keys.hpp>
#include <holdfast/stream/graph/retention.hpp>
#include <holdfast/stream/state_store.hpp>

namespace holdfast::stream::graph {

// `Codec` has encode(const Value&, std::string&) and decode(std::string_view&, Value&), false: the
// bytes are none. If something is known of the keys it has their `form`. Where the store has a part
// of a value elsewhere, it has encode_whole(), too: with all of it, and whether there is such a
// part.
template <class Value, class Codec>
class StateTable {
 public:
  struct Entry {
    Value value;
    std::uint64_t version = 0;
    std::int64_t used_ms = 0;  // Of the last change, where that is needed.
    bool changed = false;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  using iterator = typename Entries::iterator;

  // `store` may be null; `slice` is this table's own in it. `grouping`: a caller fetches an entry's
  // group before it looks at the entry. Without a grouping all entries are in memory.
  StateTable(StateStore* store, std::int64_t slice, Codec codec, Retention retention = {},
             std::optional<StateStore::Grouping> grouping = {})
      : store_(store), slice_(slice), codec_(std::move(codec)), retention_(retention) {
    if (store != nullptr && store->finds_groups(memory_bytes_)) grouping_ = grouping;
    if (retention.ends()) began_ms_ = retention.now();
  }

  iterator find(std::string_view key) { return entries_.find(key); }
  typename Entries::const_iterator find(std::string_view key) const { return entries_.find(key); }
  typename Entries::const_iterator begin() const { return entries_.begin(); }
  typename Entries::const_iterator end() const { return entries_.end(); }
  iterator lower_bound(std::string_view key) { return entries_.lower_bound(key); }
  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  // About: all have the bytes of the first ones.
  std::uint64_t bytes() const {
    constexpr std::size_t kSample = 16;
    std::string sample;
    std::size_t count = 0;
    for (auto place = entries_.begin(); place != entries_.end() && count < kSample; ++place) {
      sample += place->first;
      codec_.encode(place->second.value, sample);
      ++count;
    }
    return count == 0 ? 0 : sample.size() * entries_.size() / count;
  }
  std::size_t size() const { return entries_.size(); }

  // The entry, made if there is none, to be changed.
  Value& at(const std::string& key) {
    look_at_room();  // Before: a new entry has no value that can be encoded.
    const auto [place, made] = entries_.try_emplace(key);
    if (made) adopt_version(*place);
    return changing(place);
  }
  Value& changing(iterator place) {
    if (!place->second.changed) {
      place->second.changed = true;
      if (keeps()) changed_.push_back(place->first);
    }
    if (retention_.ends()) place->second.used_ms = retention_.now();
    return place->second.value;
  }
  // An entry that the store has, and that ends there by itself: until the next checkpoint.
  void lend(std::string_view key, Value value) { entries_.emplace(key, Entry{std::move(value)}); }
  iterator erase(iterator place) {
    if (keeps() && HF_MUTANT("ST20", place->second.version != 0, false))
      gone_.emplace(place->first, place->second.version);
    return entries_.erase(place);
  }
  bool times() const { return retention_.ends(); }
  // Erases what has not changed since `oldest`; what is in memory after forget(key, value).
  template <class Forget>
  void sweep(std::int64_t oldest, Forget forget) {
    oldest_ms_ = oldest;
    sweeps_store_ = partial_;
    for (auto place = entries_.begin(); place != entries_.end();) {
      if (HF_MUTANT("ST40", place->second.used_ms > oldest, place->second.used_ms < oldest)) {
        ++place;
        continue;
      }
      forget(place->first, place->second.value);
      place = erase(place);
    }
  }
  // All whose keys begin with `prefix`: visit(iterator) gives the next, or Status.
  template <class Visit>
  Status for_each(const std::string& prefix, Visit visit) {
    for (auto place = entries_.lower_bound(prefix);
         place != entries_.end() && place->first.starts_with(prefix); ++place)
      HF_RETURN_IF_ERROR(visit(place->first, place));
    return {};
  }

  // All that a checkpoint would have, whole, and what it would take away: visit(slice, key, state,
  // version, changed), no state for what is gone.
  template <class Visit>
  Status visit_state(Visit visit) const {
    std::string bytes;
    for (const auto& [key, version] : gone_)
      HF_RETURN_IF_ERROR(visit(slice_, key, {}, version, true));
    for (const auto& [key, entry] : entries_) {
      const bool has_part = encode_whole(key, entry, bytes);
      HF_RETURN_IF_ERROR(visit(slice_, key, bytes, entry.version, entry.changed || has_part));
    }
    return {};
  }

  // Whether there may be entries that memory does not have.
  bool is_partial() const { return partial_; }
  // The entries of this group are in memory from now on, until the next checkpoint at least.
  Status fetch(std::string_view group) {
    if (!partial_) return {};
    const auto place = entries_.lower_bound(group);
    if (place != entries_.end() && StateStore::group_of(place->first, *grouping_) == group)
      return {};  // All of it.
    // Once, not for each entry: a group larger than memory would leave it again and again.
    look_at_room();
    const auto take_one = [this](std::string_view key, std::string_view state,
                                 std::uint64_t version) {
      if (HF_MUTANT("ST46", gone_.contains(key), false)) return Status();
      if (HF_MUTANT("ST50", has_ended(state), false)) return gone_.emplace(key, version), Status();
      return take(key, state, version);
    };
    return store_->for_each_of_group(slice_, group, take_one);
  }
  // Entries of a group that was fetched, and that have not changed since, leave memory.
  void give_back(std::string_view group) {
    auto place = entries_.lower_bound(group);
    while (place != entries_.end() && StateStore::group_of(place->first, *grouping_) == group)
      place = entries_.erase(place);
  }
  // Of entries that say a time. The least one beyond `until`; the end of all times: there is none.
  // visit(key, entry) -> Status of those of the store from `from` to `until`, also if memory has
  // them, too. At the beginning of all times are those that say none.
  template <class Visit>
  Result<std::int64_t> for_each_of_times(std::int64_t from, std::int64_t until, Visit visit) {
    return store_->for_each_of_times(
        slice_, from, until,
        [&](std::string_view key, std::string_view state, std::uint64_t) -> Status {
          Entry entry;
          HF_RETURN_IF_ERROR(read(key, state, entry));
          return visit(key, entry);
        });
  }
  // Entries that say a time from `from` on, of those that only the store has: visit(key, entry) ->
  // Status.
  template <class Visit>
  Status for_each_stored(std::int64_t from, Visit visit) {
    const auto beyond = store_->for_each_of_times(
        slice_, from, std::numeric_limits<std::int64_t>::max(),
        [&](std::string_view key, std::string_view state, std::uint64_t) -> Status {
          if (HF_MUTANT("ST161", gone_.contains(key), false) ||
              HF_MUTANT("ST162", entries_.contains(key), false))
            return {};
          Entry entry;
          HF_RETURN_IF_ERROR(read(key, state, entry));
          return visit(key, std::move(entry));
        });
    return beyond ? Status() : Status(beyond.error());
  }
  // As fetch(), of the entries that say a time from `from` to `until`. The least time beyond them.
  Result<std::int64_t> fetch_times(std::int64_t from, std::int64_t until) {
    return store_->for_each_of_times(
        slice_, from, until,
        [this](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
          if (HF_MUTANT("ST99", gone_.contains(key), false) || entries_.contains(key)) return {};
          return take(key, state, version);
        });
  }
  // Called with a checkpoint, after put_all(): what lives until then, or less long, has ended.
  void end_until(std::int64_t time) {
    constexpr auto kEnd = std::numeric_limits<std::int64_t>::max();
    if (partial_) store_->end_idle(slice_, time, kEnd, query::kNoSlice);
  }
  // Whether all entries of the store say until when they live, and are grouped: those of an earlier
  // build do not.
  Result<bool> says_times() const {
    if (!grouping_) return false;
    return store_->says_times(slice_);
  }

  // Now and then: a checkpoint is asked for where they are too many, without the largest one, which
  // would come again.
  void look_at_room() {
    if (++steps_ % kStepsBetweenLooks != 0 || !grouping_) return;
    if (memory() - HF_MUTANT("ST147", std::min(largest_bytes_, held_bytes_), 0) > memory_bytes_)
      store_->ask_for_checkpoint();
  }
  std::uint64_t memory_bytes() const { return memory_bytes_; }  // That its entries may take.
  static constexpr std::uint64_t kMemoryOfEntry = 400;  // Beside twice its bytes in a checkpoint.
  // Where memory is bounded the owner says what an entry holds that its bytes in a checkpoint do
  // not show.
  bool is_bounded() const { return grouping_.has_value(); }
  void hold(std::uint64_t before, std::uint64_t now) {
    held_bytes_ += now - before;
    largest_bytes_ = std::max(largest_bytes_, now);
  }

  // They are too many for memory, or what the store has is to be swept.
  bool wants_room() const { return has_no_room() || sweeps_store_; }
  // Called after put_all(), for a table that is grouped: all entries leave memory. `parts`: as of
  // StateStore::end_idle().
  Status leave(std::int64_t parts = query::kNoSlice) {
    if (!grouping_) return {};
    HF_ASSIGN_OR_RETURN(partial_, store_->group_by(slice_, *grouping_, 0));
    if (!partial_) return {};
    entries_.clear();
    held_bytes_ = 0;
    if (std::exchange(sweeps_store_, false)) store_->end_idle(slice_, oldest_ms_, began_ms_, parts);
    return {};
  }

  // `whole`: all are to be in memory. `parts`: a slice that has parts of the entries.
  Status restore(bool whole = false, std::int64_t parts = query::kNoSlice) {
    if (store_ == nullptr) return {};
    rewrites_ = grouping_ && whole;
    if (grouping_ && !whole) {
      const auto few = std::min(kFewBytes, memory_bytes_);
      HF_ASSIGN_OR_RETURN(partial_, store_->group_by(slice_, *grouping_, few));
      if (HF_MUTANT("ST146", !partial_ && parts != query::kNoSlice, false)) {
        HF_ASSIGN_OR_RETURN(partial_, store_->group_by(parts, kFirstPart, few));
        if (partial_) HF_RETURN_IF_ERROR(store_->group_by(slice_, *grouping_, 0));
      }
      if (partial_) return {};
    }
    return store_->for_each_version(
        slice_, [this](std::string_view key, std::string_view state, std::uint64_t version) {
          return take(key, state, version);
        });
  }

  Status put_all() {
    return put_all([](const std::string&, Value&) -> Status { return {}; });
  }
  // prepare(key, value) -> Status: before the value is put, where the store keeps it.
  template <class Prepare>
  Status put_all(Prepare prepare) {
    if (store_ == nullptr) return {};
    if (!keeps()) {
      for (auto& [key, entry] : entries_)
        HF_RETURN_IF_ERROR(put(key, entry));
      return {};
    }
    for (auto& [key, version] : gone_)
      HF_RETURN_IF_ERROR(store_->replace(slice_, key, {}, version));
    gone_.clear();
    largest_bytes_ = 0;
    for (const auto& key : changed_) {
      const auto found = entries_.find(key);
      if (found == entries_.end() || !found->second.changed) continue;
      HF_RETURN_IF_ERROR(prepare(key, found->second.value));
      HF_RETURN_IF_ERROR(put(key, found->second));
    }
    changed_.clear();
    return {};
  }

 private:
  static constexpr auto kFirstPart = StateStore::Grouping::kFirstPart;
  static constexpr std::uint64_t kFewBytes = 1 << 20;  // They are read at once.
  static constexpr std::uint64_t kStepsBetweenLooks = 4096;

  // About what the entries take in memory: each is several times as large as in a checkpoint.
  std::uint64_t memory() const { return kMemoryOfEntry * size() + 2 * bytes() + held_bytes_; }
  bool has_no_room() const { return grouping_ && memory() > memory_bytes_; }

  bool keeps() const { return store_ != nullptr && store_->keeps_entries(); }

  // A key that was erased since the last checkpoint, and is there again.
  void adopt_version(std::pair<const std::string, Entry>& entry) {
    const auto found = gone_.find(entry.first);
    if (found == gone_.end()) return;
    entry.second.version = found->second;
    gone_.erase(found);
  }

  void begin(std::string_view key, const Entry& entry, std::string& bytes) const {
    bytes.clear();
    if (const auto end = end_of(key, entry.value))
      query::append_begin(&*end, bytes);
    else
      query::append_begin(retention_.ends() ? &entry.used_ms : nullptr, bytes);
  }
  std::optional<std::int64_t> end_of(std::string_view key, const Value& value) const {
    if constexpr (requires { codec_.end_of(key, value); }) return codec_.end_of(key, value);
    return {};
  }
  // An entry without a time, of a run that kept all for ever, is as if it had changed when this one
  // began.
  bool take_begin(std::string_view& state, std::int64_t& used_ms) const {
    used_ms = began_ms_;
    query::Text rest{state.data(), state.size()};
    const bool taken = query::take_begin(rest, used_ms);
    state = {rest.data, rest.size};
    return taken;
  }
  // Whether the last sweep would have taken it, had it been in memory.
  bool has_ended(std::string_view state) const {
    std::int64_t used_ms = 0;
    return retention_.ends() && take_begin(state, used_ms) && used_ms <= oldest_ms_;
  }
  void encode(std::string_view key, const Entry& entry, std::string& bytes) const {
    begin(key, entry, bytes);
    codec_.encode(entry.value, bytes);
  }
  bool encode_whole(std::string_view key, const Entry& entry, std::string& bytes) const {
    begin(key, entry, bytes);
    if constexpr (requires { codec_.encode_whole(entry.value, bytes); })
      return codec_.encode_whole(entry.value, bytes);
    codec_.encode(entry.value, bytes);
    return false;
  }

  Status put(const std::string& key, Entry& entry) {
    encode(key, entry, bytes_);
    entry.changed = false;
    return store_->replace(slice_, key, bytes_, entry.version);
  }

  Status take(std::string_view key, std::string_view state, std::uint64_t version) {
    const auto before = entries_.find(key);
    if (before != entries_.end()) {
      // A crash came before an older version was removed.
      store_->remove_version(slice_, key, before->second.version);
      entries_.erase(before);
    }
    if (state.empty()) return {};
    Entry entry;
    entry.version = version;
    const bool says_time = state.front() != query::kPlainEntry;
    HF_RETURN_IF_ERROR(read(key, state, entry));
    // An entry of an earlier build does not say until when it lives, and one of a savepoint is
    // found by no time: it is written anew.
    if (HF_MUTANT("ST65", !says_time || rewrites_, false) && keeps() && end_of(key, entry.value)) {
      entry.changed = true;
      changed_.emplace_back(key);
    }
    entries_.emplace(key, std::move(entry));
    return {};
  }
  Status read(std::string_view key, std::string_view state, Entry& entry) const {
    bool fits = true;
    if constexpr (requires { codec_.form; }) fits = codec_.form.fits(key);
    if (!fits || !take_begin(state, entry.used_ms) || !codec_.decode(state, entry.value) ||
        !state.empty())
      return Error{Errc::kCorrupt, "an entry of the state is none of this query"};
    return {};
  }

  StateStore* store_;
  const std::int64_t slice_;
  Codec codec_;
  const Retention retention_;
  std::optional<StateStore::Grouping> grouping_;  // Of a store that finds groups.
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t steps_ = 0;  // Entries asked for by at(), groups that were fetched.
  // hold(), and of that the largest entry since the last checkpoint.
  std::uint64_t held_bytes_ = 0, largest_bytes_ = 0;
  bool partial_ = false;
  bool sweeps_store_ = false;  // The next checkpoint ends what the store has.
  bool rewrites_ = false;      // What was read as a whole is found by no time.
  std::int64_t began_ms_ = 0, oldest_ms_ = std::numeric_limits<std::int64_t>::min();
  Entries entries_;
  std::vector<std::string> changed_;
  std::map<std::string, std::uint64_t, std::less<>> gone_;  // Versions the store still has.
  std::string bytes_;
};

}  // namespace holdfast::stream::graph
