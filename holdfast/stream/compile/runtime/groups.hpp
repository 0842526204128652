// groups.hpp: rows into groups, and groups into rows when their windows end: what GroupOperator and
// WindowState are to the interpreter (stream/group_operator.hpp has the rules), for one query.
//
// A `Definition` is what the generated source says of its query:
//
//   Row(record, nulls, run)     the columns of a row, computed ones among them
//   passes(row, run)            WHERE
//   time(row)                   what puts it into a window
//   Key, key(row, run)
//   State, gather(state, row, run)
//   watermark(row, run)
//   emit(key, state, window_end, run)   HAVING and SELECT: run.host.write()
//   kRecordBytes, kWindowed, kSizeMs, kSlideMs, kOffsetMs, kHasWatermark
//   kInterprets                 some of it is not compiled
//   kRowsAreFree                Row and key() cannot fail, and are compiled
//   kTimeDecides                rows of one time have one watermark
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include <holdfast/stream/compile/runtime/order.hpp>

namespace holdfast::query {

inline constexpr std::int64_t kEndOfTime = INT64_MAX;
inline constexpr std::int64_t kNoTime = INT64_MIN;  // No timestamp is so early.

template <class Definition>
class Groups final : public Query {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;
  using State = typename Definition::State;
  using Slice = Table<Key, State>;

 public:
  explicit Groups(Host& host) : run_{host} {}

  void adopt(const Counts& counts) override { counts_ = counts; }
  void adopt_stored(std::int64_t slice) override {
    stored_.insert(slice);
    next_end_ = std::min(next_end_, first_open_end(slice));
  }
  bool adopt_entry(std::int64_t slice, Text key, Text state) override {
    Slice& groups = slice_at(slice);
    next_end_ = std::min(next_end_, first_open_end(slice));
    return take_entry(groups, key, state);
  }

  bool take(const std::byte* records, std::size_t count, std::size_t& taken) override {
    std::size_t done = 0;
    while (done < count && !run_.failed) {
      const std::size_t rows = std::min(kBlock, count - done);
      const bool near =
          !Definition::kRowsAreFree || current_ == nullptr || current_->bytes() < kCacheBytes;
      done += near ? take_block<true>(records, rows) : take_block<false>(records, rows);
      records += rows * Definition::kRecordBytes;
    }
    taken = done;
    return !run_.failed;
  }

  bool end() override {
    if constexpr (!Definition::kWindowed) {
      // Without keys there is a group even where there was no row.
      if constexpr (std::is_same_v<Key, KeyOf<>>) slice_at(kEndOfTime).at(Key(), Key().hash());
      fire(kEndOfTime);
      drop(kEndOfTime);
      counts_.watermark = kEndOfTime;
    } else {
      advance(kEndOfTime);
    }
    return !run_.failed;
  }

  bool put_state(bool kept) override {
    std::string key, state;
    for (const auto& [slice, groups] : slices_) {
      for (const auto& entry : groups.entries()) {
        key.clear(), state.clear();
        entry.key.append(key), entry.state.append(state);
        if (!run_.host.put(slice, {key.data(), key.size()}, {state.data(), state.size()}))
          return false;
      }
    }
    if (!kept) return true;
    while (!slices_.empty()) {
      stored_.insert(slices_.begin()->first);
      forget(slices_.begin());
    }
    return true;
  }

  Counts counts() const override { return counts_; }

  void become_part() override { part_ = true; }
  void own(std::uint32_t number, std::uint32_t of) override {
    number_ = number;
    of_ = of;
    last_time_ = kNoTime;
  }
  bool find_watermark(const std::byte* records, std::size_t count, std::int64_t& highest,
                      std::size_t& sound) override {
    sound = count;
    if constexpr (Definition::kHasWatermark) {
      std::int64_t last = kNoTime;
      for (std::size_t i = 0; i < count; ++i, records += Definition::kRecordBytes) {
        const auto nulls = nulls_of(records);
        const bool found = nulls == 0 ? raise(Row(records, 0, run_), last, highest)
                                      : raise(Row(records, nulls, run_), last, highest);
        forget_texts();
        if (found) [[likely]]
          continue;
        run_.failed = false;
        return sound = i, false;
      }
    }
    return true;
  }
  bool advance_to(std::int64_t watermark) override {
    if (watermark > counts_.watermark) advance(watermark);
    return !run_.failed;
  }
  void give_rest() override { hand_over(kEndOfTime); }
  void absorb(Parcel& parcel) override {
    for (auto& [slice, groups] : static_cast<Given&>(parcel).slices) {
      next_end_ = std::min(next_end_, first_open_end(slice));
      Slice& ours = slice_at(slice);
      if (ours.entries().size() < groups.entries().size()) std::swap(ours, groups);
      merge_table(ours, groups);
    }
  }

 private:
  static constexpr std::size_t kBlock = 32;            // Rows.
  static constexpr std::size_t kCacheBytes = 1 << 20;  // Smaller tables are near.

  using Slices = std::map<std::int64_t, Slice>;
  struct Given final : Parcel {
    Slices slices;
  };

  // ---- Rows ----

  // Rows that were taken, the one that failed among them.
  template <bool kNear>
  std::size_t take_block(const std::byte* records, std::size_t rows) {
    if constexpr (!kNear) look_ahead(records, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto nulls = nulls_of(records);
      // Twice, since a row without NULL asks for none.
      if (nulls == 0) [[likely]]
        take_row<kNear>(Row(records, 0, run_), i);
      else
        take_row<kNear>(Row(records, nulls, run_), i);
      if (run_.failed) [[unlikely]]
        return i + 1;
      records += Definition::kRecordBytes;
    }
    return rows;
  }

  // The groups of a block come from memory together: first the places in the index, then the
  // entries.
  void look_ahead(const std::byte* records, std::size_t rows) {
    if constexpr (Definition::kRowsAreFree) {
      for (std::size_t i = 0; i < rows; ++i, records += Definition::kRecordBytes) {
        hashes_[i] = Definition::key(Row(records, nulls_of(records), run_), run_).hash();
        current_->prefetch_index(hashes_[i]);
      }
      for (std::size_t i = 0; i < rows; ++i)
        current_->prefetch_entry(hashes_[i]);
    }
  }

  // `number`: of the row in its block.
  template <bool kNear>
  [[gnu::always_inline]] void take_row(const Row& row, std::size_t number) {
    if (of_ > 1 && !is_ours(row)) {
      if (!run_.failed) follow_watermark(row);
      return forget_texts();
    }
    if constexpr (Definition::kTimeDecides) {
      // Rows of one time come together: its slice is open, its watermark has been followed.
      const auto time = Definition::time(row);
      if (time.known && time.value == last_time_) [[likely]] {
        if (Definition::passes(row, run_)) add_to_group<kNear>(row, number);
        return forget_texts();
      }
    }
    take_row_of_another_time<kNear>(row, number);
  }
  template <bool kNear>
  void take_row_of_another_time(const Row& row, std::size_t number) {
    const bool open = Definition::passes(row, run_) && find_slice(row);
    if (open) add_to_group<kNear>(row, number);
    if constexpr (Definition::kTimeDecides)
      last_time_ = open ? Definition::time(row).value : kNoTime;
    follow_watermark(row);
    forget_texts();
  }
  void follow_watermark(const Row& row) {
    if constexpr (Definition::kHasWatermark) {
      const auto watermark = Definition::watermark(row, run_);
      if (watermark.known && watermark.value > counts_.watermark) advance(watermark.value);
    }
  }
  void forget_texts() {
    if constexpr (Definition::kInterprets) run_.host.forget_texts();
  }

  template <bool kNear>
  void add_to_group(const Row& row, std::size_t number) {
    const Key key = Definition::key(row, run_);
    if (!Definition::kRowsAreFree && run_.failed) return;
    Definition::gather(current_->at(key, kNear ? key.hash() : hashes_[number]), row, run_);
  }

  // ---- Parts ----

  bool is_ours(const Row& row) {
    if (!Definition::passes(row, run_)) return false;
    const Key key = Definition::key(row, run_);
    // Of the lower half: the table takes the upper bits.
    const std::uint64_t hash = key.hash() & 0xFFFFFFFF;
    return !run_.failed && (hash * of_ >> 32) == number_;
  }
  // False: the row fails.
  bool raise(const Row& row, std::int64_t& last, std::int64_t& highest) {
    if constexpr (Definition::kTimeDecides) {
      const auto time = Definition::time(row);
      const auto value = time.known ? time.value : kNoTime;
      if (value == last) return !run_.failed;
      last = value;
    }
    const auto watermark = Definition::watermark(row, run_);
    if (watermark.known && watermark.value > highest) highest = watermark.value;
    return !run_.failed;
  }
  void hand_over(std::int64_t end) {
    auto given = std::make_unique<Given>();
    while (!slices_.empty() && slices_.begin()->first <= end)
      given->slices.insert(slices_.extract(slices_.begin()));
    current_ = nullptr;
    last_time_ = kNoTime;
    if (end == kEndOfTime) next_end_ = kEndOfTime;
    if (!given->slices.empty()) run_.host.give(end, given.release());
  }
  // What one wants of the other from memory is asked for ahead of its turn.
  static void merge_table(Slice& into, const Slice& from) {
    constexpr std::size_t kAhead = 16;
    const auto& entries = from.entries();
    std::uint64_t hashes[kAhead];
    for (std::size_t begin = 0; begin < entries.size(); begin += kAhead) {
      const std::size_t count = std::min(kAhead, entries.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        hashes[i] = entries[begin + i].key.hash();
        into.prefetch_index(hashes[i]);
      }
      for (std::size_t i = 0; i < count; ++i)
        into.prefetch_entry(hashes[i]);
      for (std::size_t i = 0; i < count; ++i)
        into.at(entries[begin + i].key, hashes[i]).merge(entries[begin + i].state);
    }
  }

  // The slice of the row becomes the current one. False: it has no time, or is late for all its
  // windows.
  bool find_slice(const Row& row) {
    if constexpr (Definition::kWindowed) {
      const auto time = Definition::time(row);
      if (!time.known) {
        ++counts_.rows_without_time;
        return false;
      }
      const auto since = static_cast<std::uint64_t>(time.value - current_begin_);
      const bool same = since < static_cast<std::uint64_t>(Definition::kSlideMs);
      return (same && current_ != nullptr) || find_slice_of(time.value);
    } else {
      if (current_ == nullptr) current_ = &slice_at(kEndOfTime);
      return true;
    }
  }

  bool find_slice_of(std::int64_t time) {
    const auto ms = time - Definition::kOffsetMs;
    const auto slice =
        (floor_divide(ms, Definition::kSlideMs) + 1) * Definition::kSlideMs + Definition::kOffsetMs;
    const auto end = first_open_end(slice);
    if (end > last_end(slice)) {
      ++counts_.late_rows;
      return false;
    }
    next_end_ = std::min(next_end_, end);
    current_ = &slice_at(slice);
    current_begin_ = slice - Definition::kSlideMs;
    return true;
  }

  // ---- Windows ----

  // The end of the last window that has this slice.
  static std::int64_t last_end(std::int64_t slice) {
    return slice + Definition::kSizeMs - Definition::kSlideMs;
  }
  // The end of the first window that has this slice and is not past: window_end - 1 > watermark.
  std::int64_t first_open_end(std::int64_t slice) const {
    if (!Definition::kWindowed) return kEndOfTime;
    if (counts_.watermark == INT64_MIN || slice - 1 > counts_.watermark) return slice;
    constexpr auto slide = Definition::kSlideMs;
    return slice + (floor_divide(counts_.watermark + 1 - slice, slide) + 1) * slide;
  }

  void advance(std::int64_t watermark) {
    if constexpr (Definition::kWindowed) {
      if (next_end_ != kEndOfTime && next_end_ - 1 <= watermark) [[unlikely]]
        end_windows(watermark);
    }
    counts_.watermark = watermark;
  }
  [[gnu::noinline]] void end_windows(std::int64_t watermark) {
    while (next_end_ != kEndOfTime && next_end_ - 1 <= watermark && !run_.failed) {
      const auto end = next_end_;
      part_ ? hand_over(end) : fire(end);
      counts_.watermark = std::max(counts_.watermark, end - 1);
      // Those that are in no later window go: so this ends, whatever the slices are.
      while (!stored_.empty() && last_end(*stored_.begin()) <= end)
        drop(*stored_.begin());
      while (!slices_.empty() && last_end(slices_.begin()->first) <= end)
        drop(slices_.begin()->first);
      next_end_ = kEndOfTime;
      for (const auto slice : stored_)
        next_end_ = std::min(next_end_, first_open_end(slice));
      for (const auto& [slice, groups] : slices_)
        next_end_ = std::min(next_end_, first_open_end(slice));
    }
  }

  void fire(std::int64_t end) {
    std::set<std::int64_t> ending;
    const auto first =
        Definition::kWindowed ? end - Definition::kSizeMs + Definition::kSlideMs : end;
    ending.insert(stored_.lower_bound(first), stored_.upper_bound(end));
    for (auto it = slices_.lower_bound(first); it != slices_.end() && it->first <= end; ++it)
      ending.insert(it->first);
    if (ending.size() == 1 && stored_.count(*ending.begin()) == 0) {
      emit(slices_.at(*ending.begin()), end);
      return;
    }
    merged_.clear();
    for (const auto slice : ending) {
      if (!merge_slice(slice)) return;
    }
    emit(merged_, end);
  }

  bool merge_slice(std::int64_t slice) {
    if (stored_.count(slice) != 0) {
      Merger merger(*this);
      if (!run_.host.for_each(slice, merger)) return !(run_.failed = true);
    }
    const auto found = slices_.find(slice);
    if (found == slices_.end()) return true;
    for (const auto& entry : found->second.entries())
      merged_.at(entry.key, entry.key.hash()).merge(entry.state);
    return true;
  }

  void emit(const Slice& groups, std::int64_t end) {
    visit_in_order(groups, [&](const typename Slice::Entry& entry) {
      Definition::emit(entry.key, entry.state, end, run_);
      if constexpr (Definition::kInterprets) run_.host.forget_texts();
      return !run_.failed;
    });
  }

  // ---- Slices ----

  static bool take_entry(Slice& groups, Text key, Text state) {
    Key taken;
    State gathered;
    if (!taken.take(key) || !gathered.take(state)) return false;
    groups.at(taken, taken.hash()).merge(gathered);
    return true;
  }
  class Merger final : public VisitEntry {
   public:
    explicit Merger(Groups& groups) : groups_(groups) {}
    bool operator()(Text key, Text state) override {
      return take_entry(groups_.merged_, key, state);
    }

   private:
    Groups& groups_;
  };

  Slice& slice_at(std::int64_t slice) {
    const auto found = slices_.find(slice);
    if (found != slices_.end()) return found->second;
    return slices_.emplace(slice, std::exchange(spare_, Slice())).first->second;
  }
  void drop(std::int64_t slice) {
    const auto found = slices_.find(slice);
    if (found != slices_.end()) forget(found);
    if (stored_.erase(slice) != 0) run_.host.drop(slice);
  }
  void forget(typename Slices::iterator slice) {
    slice->second.clear();
    spare_ = std::move(slice->second);
    slices_.erase(slice);
    current_ = nullptr;
    last_time_ = kNoTime;
  }

  Run run_;
  Counts counts_;
  Slices slices_;
  std::set<std::int64_t> stored_;       // Slices with entries in a store that keeps them.
  std::int64_t next_end_ = kEndOfTime;  // Of the first window that is open and not empty.
  Slice* current_ = nullptr;            // The slice of the last row, and where it begins.
  std::int64_t current_begin_ = 0;
  std::int64_t last_time_ = kNoTime;  // Of the last row, if it is in the current slice.
  bool part_ = false;
  std::uint32_t number_ = 0, of_ = 1;  // Keys that are this part's.
  std::uint64_t hashes_[kBlock];       // Of the keys of a block, where tables are not near.
  Slice spare_, merged_;
};

}  // namespace holdfast::query
