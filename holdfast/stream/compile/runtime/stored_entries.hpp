// stored_entries.hpp: one table of an operator of a graph in the state store: entries that replace
// one another. What stream/graph/state_table.hpp is to the interpreter, with the same bytes; the
// entries themselves are their operator's.
//
// A table whose keys are grouped need not have all entries in memory, where the store finds groups:
// its operator fetches a group when a row of it comes, and lets all of them go behind a checkpoint
// where they are too many.
//
// State that ends when it is idle: an entry says when it changed. From time to time the operator
// looks for those that have not for long enough. Those that memory does not have end with the
// next checkpoint, and are not given to a fetch before.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <holdfast/stream/compile/runtime/apart.hpp>
#include <holdfast/stream/compile/runtime/value_parts.hpp>

namespace holdfast::query {

// The values of a key, and their size before them.
template <class Key>
void append_key_part(const Key& key, std::string& bytes) {
  const auto at = bytes.size();
  append_raw(std::uint32_t{0}, bytes);
  key.append(bytes);
  const auto size = __builtin_bswap32(static_cast<std::uint32_t>(bytes.size() - at - 4));
  std::memcpy(bytes.data() + at, &size, sizeof size);
}

// What BasicStoredEntries does whatever its entries are.
class AnyStoredEntries {
 public:
  // Takes off what an entry's state begins with. False: it is none.
  template <class AnyMark>
  bool take_begin(Text& state, AnyMark& mark) const {
    std::int64_t used_ms = began_ms_;
    const bool taken = query::take_begin(state, used_ms);
    mark.use_at(used_ms);
    return taken;
  }
  void adopt_gone(Text key, std::uint64_t version);

  // ---- State that ends ----

  // For a table that is swept together with another one of the operator.
  void begin_sweep();
  template <class AnyMark>
  bool is_idle(const AnyMark& mark) const {
    return static_cast<std::int64_t>(mark.used_ms) <= oldest_ms_;
  }
  std::int64_t oldest_ms() const { return oldest_ms_; }  // INT64_MIN: there was no sweep.

  // ---- Groups ----

  void become_partial() { is_partial_ = is_grouped_; }
  // Called with a checkpoint, behind put_gone(): what lives until then, or less long, has ended.
  void end_until(std::int64_t time);
  std::uint64_t memory_bytes() const { return memory_bytes_; }  // That its entries may take.
  // About, of an entry, what it has beside a fixed part.
  std::uint64_t bytes_of_entry() const { return seen_ == 0 ? 0 : seen_bytes_ / seen_; }
  // Whether so many bytes are too many for memory, or the store's entries are to be swept.
  bool wants_room(std::uint64_t bytes) const {
    return is_grouped_ && (bytes > memory_bytes_ || sweeps_store_);
  }
  // Called after a checkpoint has all that it needs: the operator forgets whole groups of entries.
  bool group();
  // The same, and it forgets all of them. `parts`: a slice that has parts of entries, or kNoSlice.
  bool leave(std::int64_t parts = kNoSlice);

  // ---- A checkpoint: first what is gone, then each entry that it needs ----

  bool put_gone();

 protected:
  // visit(key, state, version), as of fetch().
  using Visit = bool(const void* visit, Text key, Text state, std::uint64_t version);

  AnyStoredEntries(Host& host, std::int64_t slice);
  AnyStoredEntries(Host& host, std::int64_t slice, Grouping grouping, std::int64_t idle_ms);
  ~AnyStoredEntries();

  bool take_sweep();
  bool has_gone() const;
  void add_gone(std::string& key, std::uint64_t version);
  // The version of one that has gone, and comes again; 0: there is none.
  std::uint64_t take_gone(const std::string& key);
  // The group is key_.
  bool fetch(Visit* call, const void* visit, bool ends_idle);
  bool for_each_of_times(std::int64_t from, std::int64_t until, Visit* call, const void* visit,
                         std::int64_t& beyond);
  // Between them key_ and what is behind the beginning of state_ are appended.
  void begin_entry(const std::int64_t* time);
  bool put_entry(Mark& mark);

  Host* host_;
  const std::int64_t slice_;
  const std::int64_t idle_ms_ = 0;
  Grouping grouping_ = Grouping::kKey;
  // That the operator's entries may take, if they are grouped. Before what is made with it.
  std::uint64_t memory_bytes_ = 0;
  bool is_grouped_ = false;  // In a store that finds groups.
  bool keeps_, is_partial_ = false;
  bool sweeps_store_ = false;  // The next checkpoint ends what the store has.
  std::int64_t began_ms_ = 0, next_sweep_ms_ = INT64_MIN, oldest_ms_ = INT64_MIN;
  std::uint64_t rows_ = 0;
  std::string key_, state_;

 private:
  class Fetch;
  class Found;

  // Whether the last sweep would have taken it, had it been in memory.
  bool has_ended(Text state) const;
  bool is_gone(Text key) const;
  void see(std::uint64_t bytes);

  std::uint64_t seen_ = 0, seen_bytes_ = 0;    // Entries that were put or fetched.
  std::map<std::string, std::uint64_t> gone_;  // Versions the store still has.
};

// `kStored`, `kForgets`: whether there may be a store; whether an entry may end when it is idle.
template <bool kStored, bool kForgets>
class BasicStoredEntries : public AnyStoredEntries {
 public:
  // Without a grouping all are in memory. `idle_ms`: how long an entry is kept that does not
  // change; 0: for ever.
  BasicStoredEntries(Host& host, std::int64_t slice) : AnyStoredEntries(host, slice) {}
  BasicStoredEntries(Host& host, std::int64_t slice, Grouping grouping, std::int64_t idle_ms = 0)
      : AnyStoredEntries(host, slice, grouping, kForgets ? idle_ms : 0) {}

  // The store keeps what it was given: changes are enough.
  bool keeps() const { return kStored && keeps_; }
  // True: for the first time since the last checkpoint. A caller that keeps a list of changes puts
  // the entry there.
  template <class AnyMark>
  bool change(AnyMark& mark) const {
    if (ends()) mark.use_at(host_->now_ms());
    if constexpr (kStored) {
      if (keeps_ && !mark.changed) return mark.changed = true;
    }
    return false;
  }
  // An entry goes, or comes; key(bytes) appends its key. One that was there before the last
  // checkpoint takes the place of what the store has of it.
  template <class AnyMark, class AppendKey>
  void erase(const AnyMark& mark, const AppendKey& key) {
    if constexpr (kStored) {
      if (!keeps_ || mark.version == 0) return;
      std::string bytes;
      key(bytes);
      add_gone(bytes, mark.version);
    }
  }
  template <class AnyMark, class AppendKey>
  void come(AnyMark& mark, const AppendKey& key) {
    if constexpr (kStored) {
      if (!has_gone()) return;
      std::string bytes;
      key(bytes);
      if (const auto version = take_gone(bytes); version != 0) mark.version = version;
    }
  }
  bool ends() const { return kForgets && idle_ms_ != 0; }
  // Whether it is time to look for what has been idle: each half of the time that it is kept. Then
  // the operator erases what is_idle().
  bool is_sweep_due() { return ends() && take_sweep(); }
  // Whether there may be entries that memory does not have.
  bool is_partial() const { return kStored && is_partial_; }
  // Whether its operator is to let entries go where they are too many for memory.
  bool is_bounded() const { return kStored && is_grouped_; }
  // A group of which memory has no entry: group(bytes) appends it. visit(key, state, version) ->
  // whether it is one; of entries that are gone since the last checkpoint none. `ends_idle`: what
  // the last sweep would have taken goes, and is not visited.
  template <class AppendGroup, class Visit>
  [[gnu::noinline]] bool fetch(const AppendGroup& group, const Visit& visit,
                               bool ends_idle = true) {
    if constexpr (kStored) {
      key_.clear();
      group(key_);
      return AnyStoredEntries::fetch(call<Visit>, &visit, ends_idle);
    } else {
      return true;  // There is none.
    }
  }
  // Of entries that a watermark ends, each of which says until when it lives: those with such a
  // time from `from` to `until`, also if memory has them, too: visit(key, state, version) ->
  // whether it is one. `beyond`: the least time behind them. At the beginning of all times are
  // those that say none.
  template <class Visit>
  [[gnu::noinline]] bool for_each_of_times(std::int64_t from, std::int64_t until,
                                           const Visit& visit, std::int64_t& beyond) {
    if constexpr (kStored)
      return AnyStoredEntries::for_each_of_times(from, until, call<Visit>, &visit, beyond);
    else
      return true;  // There is none.
  }
  // Called after a row was taken: now and then asks for a checkpoint if bytes() are too many.
  template <class Bytes>
  void took_row(const Bytes& bytes) {
    if (kStored && ++rows_ % kRowsBetweenLooks == 0 && is_grouped_ && bytes() > memory_bytes_)
        [[unlikely]]
      host_->ask_for_checkpoint();
  }
  template <class AppendKey, class AppendState>
  bool put(Mark& mark, const AppendKey& key, const AppendState& state) {
    const auto used_ms = static_cast<std::int64_t>(mark.used_ms);
    return put(mark, ends() ? &used_ms : nullptr, key, state);
  }
  // `time`: what it says; null: nothing.
  template <class AppendKey, class AppendState>
  bool put(Mark& mark, const std::int64_t* time, const AppendKey& key, const AppendState& state) {
    begin_entry(time);
    key(key_), state(state_);
    return put_entry(mark);
  }

 private:
  static constexpr std::uint64_t kRowsBetweenLooks = 32'768;

  template <class Visit>
  static bool call(const void* visit, Text key, Text state, std::uint64_t version) {
    return (*static_cast<const Visit*>(visit))(key, state, version);
  }
};

// Of an operator.
template <class Definition>
using StoredEntries = BasicStoredEntries<may_store<Definition>(), may_forget<Definition>()>;
// The number of an operator's next row, as a table of its own with one entry.
template <class Definition>
class StoredNumber {
 public:
  StoredNumber(Host& host, std::int64_t slice) : stored_(host, slice) {}

  std::int64_t take() { return next_++; }
  // It is no less than this.
  void raise_to(std::int64_t next) { next_ = std::max(next_, next); }
  bool adopt(const GraphEntry& entry) {
    Text state = entry.state;
    mark_ = {entry.version, entry.changed};
    std::int64_t next = 0;
    if (!stored_.take_begin(state, mark_) || !take_ordered(state, next)) return false;
    raise_to(next);
    return state.size == 0;
  }
  bool put() {
    mark_.changed = next_ != put_;
    if (stored_.keeps() && !mark_.changed) return true;
    put_ = next_;
    return stored_.put(
        mark_, [](std::string& bytes) { bytes += 'n'; },
        [this](std::string& bytes) { append_ordered(next_, bytes); });
  }

 private:
  StoredEntries<Definition> stored_;
  Mark mark_;
  std::int64_t next_ = 0, put_ = 0;
};
// What memory knows of an entry of one: for those that there are many of.
template <class Definition>
using MarkOf =
    std::conditional_t<may_store<Definition>() || may_forget<Definition>(), Mark, NoMark>;

#ifndef HOLDFAST_APART

HF_APART AnyStoredEntries::AnyStoredEntries(Host& host, std::int64_t slice)
    : host_(&host), slice_(slice), keeps_(host.keeps_entries()) {
  host.finds_groups(memory_bytes_);
}
HF_APART AnyStoredEntries::AnyStoredEntries(Host& host, std::int64_t slice, Grouping grouping,
                                            std::int64_t idle_ms)
    : host_(&host),
      slice_(slice),
      idle_ms_(idle_ms),
      grouping_(grouping),
      is_grouped_(host.finds_groups(memory_bytes_)),
      keeps_(host.keeps_entries()),
      began_ms_(idle_ms == 0 ? 0 : host.now_ms()) {}
HF_APART AnyStoredEntries::~AnyStoredEntries() {}

// ---- What is gone ----

HF_APART void AnyStoredEntries::adopt_gone(Text key, std::uint64_t version) {
  gone_.emplace(std::string(key.data, key.size), version);
}
HF_APART bool AnyStoredEntries::has_gone() const { return !gone_.empty(); }
HF_APART bool AnyStoredEntries::is_gone(Text key) const {
  return !gone_.empty() && gone_.contains(std::string(key.data, key.size));
}
HF_APART void AnyStoredEntries::add_gone(std::string& key, std::uint64_t version) {
  gone_.emplace(std::move(key), version);
}
HF_APART std::uint64_t AnyStoredEntries::take_gone(const std::string& key) {
  const auto found = gone_.find(key);
  if (found == gone_.end()) return 0;
  const auto version = found->second;
  gone_.erase(found);
  return version;
}
HF_APART bool AnyStoredEntries::put_gone() {
  for (auto& [key, version] : gone_) {
    if (!host_->replace(slice_, {key.data(), key.size()}, {nullptr, 0}, version)) return false;
  }
  gone_.clear();
  return true;
}

// ---- State that ends ----

HF_APART bool AnyStoredEntries::take_sweep() {
  if (host_->now_ms() < next_sweep_ms_) return false;
  next_sweep_ms_ = host_->now_ms() + (idle_ms_ + 1) / 2;
  begin_sweep();
  return true;
}
HF_APART void AnyStoredEntries::begin_sweep() {
  oldest_ms_ = host_->now_ms() - idle_ms_;
  sweeps_store_ = is_partial_;
}
HF_APART bool AnyStoredEntries::has_ended(Text state) const {
  Mark mark;
  return idle_ms_ != 0 && take_begin(state, mark) && is_idle(mark);
}
HF_APART void AnyStoredEntries::end_until(std::int64_t time) {
  if (is_partial_) host_->end_idle(slice_, time, INT64_MAX, kNoSlice);
}

// ---- Groups ----

class AnyStoredEntries::Fetch final : public VisitVersions {
 public:
  Fetch(AnyStoredEntries& stored, Visit* call, const void* visit, bool ends_idle)
      : stored_(stored), call_(call), visit_(visit), ends_idle_(ends_idle) {}
  bool entry(Text key, Text state, std::uint64_t version) override {
    if (stored_.is_gone(key)) return true;
    if (ends_idle_ && stored_.has_ended(state)) return stored_.adopt_gone(key, version), true;
    stored_.see(key.size + state.size);
    return call_(visit_, key, state, version);
  }

 private:
  AnyStoredEntries& stored_;
  Visit* const call_;
  const void* const visit_;
  const bool ends_idle_;
};
class AnyStoredEntries::Found final : public VisitVersions {
 public:
  Found(const AnyStoredEntries& stored, Visit* call, const void* visit)
      : stored_(stored), call_(call), visit_(visit) {}
  bool entry(Text key, Text state, std::uint64_t version) override {
    return stored_.is_gone(key) || call_(visit_, key, state, version);
  }

 private:
  const AnyStoredEntries& stored_;
  Visit* const call_;
  const void* const visit_;
};
HF_APART bool AnyStoredEntries::fetch(Visit* call, const void* visit, bool ends_idle) {
  Fetch entries(*this, call, visit, ends_idle);
  return host_->for_each_of_group(slice_, {key_.data(), key_.size()}, entries);
}
HF_APART bool AnyStoredEntries::for_each_of_times(std::int64_t from, std::int64_t until,
                                                  Visit* call, const void* visit,
                                                  std::int64_t& beyond) {
  Found entries(*this, call, visit);
  return host_->for_each_of_times(slice_, from, until, entries, beyond);
}
HF_APART bool AnyStoredEntries::group() { return is_partial_ = host_->group_by(slice_, grouping_); }
HF_APART bool AnyStoredEntries::leave(std::int64_t parts) {
  if (!group()) return false;
  if (std::exchange(sweeps_store_, false)) host_->end_idle(slice_, oldest_ms_, began_ms_, parts);
  return true;
}

// ---- Entries ----

HF_APART void AnyStoredEntries::see(std::uint64_t bytes) {
  seen_bytes_ += bytes;
  ++seen_;
}
HF_APART void AnyStoredEntries::begin_entry(const std::int64_t* time) {
  key_.clear();
  state_.clear();
  append_begin(time, state_);
}
HF_APART bool AnyStoredEntries::put_entry(Mark& mark) {
  see(key_.size() + state_.size());
  mark.changed = false;
  return host_->replace(slice_, {key_.data(), key_.size()}, {state_.data(), state_.size()},
                        mark.version);
}

#endif

}  // namespace holdfast::query
