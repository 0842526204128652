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
//   emit(key, state, window_end, run)   HAVING and SELECT: write()
//   kRecordBytes, kWindowed, kSizeMs, kSlideMs, kOffsetMs, kHasWatermark
//   kMakesTexts                 some of it makes texts
//   kOneByOne                   what it does with a row makes texts, or is not compiled
//   kFilters                    there is a WHERE
//   kGatherFails                gather() can fail
//   kTimeDecides                rows of one time have one watermark
#pragma once

#include <memory>

#include <holdfast/stream/compile/runtime/slices.hpp>

namespace holdfast::query {

template <class Definition>
class Groups final : public Query {
  using Row = typename Definition::Row;
  using Key = typename Definition::Key;
  using State = typename Definition::State;

 public:
  explicit Groups(Host& host) : run_{host, output_} {}

  void adopt(const Counts& counts) override {
    counts_ = counts;
    slices_.set_watermark(counts.watermark);
  }
  void adopt_stored(std::int64_t slice) override { slices_.adopt_stored(slice); }
  [[gnu::cold, gnu::noinline]] bool adopt_entry(std::int64_t slice, Text key, Text state) override {
    return slices_.adopt_entry(slice, key, state);
  }

  bool take(const std::byte* records, std::size_t count, std::size_t& taken) override {
    std::size_t done = 0;
    while (done < count && !run_.failed) {
      const auto rows = take_block(records, std::min(kBlock, count - done));
      records += rows * Definition::kRecordBytes;
      done += rows;
      slices_.took(rows);
    }
    taken = done;
    return !run_.failed;
  }

  bool end() override {
    if constexpr (Definition::kWindowed)
      advance(kEndOfTime);
    else
      slices_.end(emit());
    return !run_.failed;
  }

  bool put_state(bool kept) override {
    last_time_ = kNoTime;
    return slices_.put_state(kept);
  }

  Counts counts() const override {
    auto counts = counts_;
    counts.watermark = slices_.watermark();
    return counts;
  }

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
        const bool found = nulls == 0 ? raise(Row(records, 0, run_), last, highest, run_)
                                      : raise(Row(records, nulls, run_), last, highest, run_);
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
    if (watermark > slices_.watermark()) advance(watermark);
    return !run_.failed;
  }
  void give_rest() override { hand_over(kEndOfTime); }
  void absorb(Parcel& parcel) override { slices_.absorb(static_cast<Given&>(parcel).slices); }

 private:
  static constexpr std::size_t kBlock = 32;  // Rows.

  struct Given final : Parcel {
    TimeSlices::Map slices;
  };

  // ---- Rows ----

  // Those rows of a block that are this part's and pass WHERE, with the hashes of their keys.
  struct BlockRows {
    bool ready = false;  // All may be taken at once: none fails, no window ends.
    std::size_t count = 0;
    std::uint8_t numbers[kBlock];
    std::uint64_t hashes[kBlock];
  };

  // Rows that were taken, the one that failed among them: at once where they are alike.
  std::size_t take_block(const std::byte* records, std::size_t most) {
    if (Definition::kOneByOne || slices_.current() == nullptr) return take_rows(records, most);
    return of_ == 1 && !Definition::kFilters ? take_alike<true>(records, most)
                                             : take_alike<false>(records, most);
  }
  // `kAll`: all rows are in groups.
  template <bool kAll>
  std::size_t take_alike(const std::byte* records, std::size_t most) {
    BlockRows rows;
    const auto alike = look_ahead<kAll>(records, most, rows);
    if (alike == 0) return take_rows(records, 1);
    if (alike < most) look_ahead<kAll>(records, alike, rows);
    return rows.ready ? add_block<kAll>(records, alike, rows) : take_rows(records, alike);
  }

  // How many rows are alike: those before the first that has a NULL, or is of another slice than
  // the current one. If all are, `rows` is of them. If they are ready, too, the watermark is behind
  // them.
  template <bool kAll>
  std::size_t look_ahead(const std::byte* records, std::size_t most, BlockRows& rows) {
    const auto groups = slices_.current()->view();
    const auto slice = slices_.current_begin();
    const std::uint32_t number = number_, of = of_;
    auto watermark = slices_.watermark(), last = last_time_;
    std::size_t count = 0;
    Run run{run_.host, output_, false, true};
    for (std::size_t i = 0; i < most; ++i, records += Definition::kRecordBytes) {
      const Row row(records, 0, run);
      if (nulls_of(records) != 0) return i;
      if constexpr (Definition::kWindowed) {
        const auto time = Definition::time(row);
        if (!time.known || !slices_.is_in(slice, time.value)) return i;
      }
      if constexpr (Definition::kHasWatermark) raise(row, last, watermark, run);
      const auto hash = Definition::key(row, run).hash();
      groups.prefetch_index(hash);
      rows.hashes[count] = hash;
      if constexpr (!kAll) rows.numbers[count] = static_cast<std::uint8_t>(i);
      count += kAll || (is_in_part(hash, number, of) && Definition::passes(row, run));
    }
    rows.count = count;
    rows.ready = !run.failed && slices_.is_quiet(watermark);
    if (rows.ready) slices_.set_watermark(watermark);
    return most;
  }

  // As take_block().
  template <bool kAll>
  std::size_t add_block(const std::byte* records, std::size_t taken, const BlockRows& rows) {
    auto& groups = *slices_.current();
    if (groups.bytes() > kCacheBytes) {
      const auto view = groups.view();
      for (std::size_t i = 0; i < rows.count; ++i)
        view.prefetch_entry(rows.hashes[i]);
    }
    return groups.tracks() ? gather_block<kAll, true>(groups, records, taken, rows)
                           : gather_block<kAll, false>(groups, records, taken, rows);
  }
  template <bool kAll, bool kTracks>
  std::size_t gather_block(typename Slices<Definition>::Slice& groups, const std::byte* records,
                           std::size_t taken, const BlockRows& rows) {
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::size_t number = kAll ? i : rows.numbers[i];
      const Row row(records + number * Definition::kRecordBytes, 0, run_);
      const Key key = Definition::key(row, run_);
      State& state = kTracks ? groups.change(key, rows.hashes[i]) : groups.at(key, rows.hashes[i]);
      Definition::gather(state, row, run_);
      if constexpr (Definition::kGatherFails) {
        if (run_.failed) [[unlikely]]
          return number + 1;
      }
    }
    return taken;
  }

  // As take_block(), one by one.
  std::size_t take_rows(const std::byte* records, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      const auto nulls = nulls_of(records);
      // Twice, since a row without NULL asks for none.
      if (nulls == 0) [[likely]]
        take_row(Row(records, 0, run_));
      else
        take_row(Row(records, nulls, run_));
      if (run_.failed) [[unlikely]]
        return i + 1;
      records += Definition::kRecordBytes;
    }
    return rows;
  }

  [[gnu::always_inline]] void take_row(const Row& row) {
    if (of_ > 1 && !is_ours(row)) {
      if (!run_.failed) follow_watermark(row);
      return forget_texts();
    }
    if constexpr (Definition::kTimeDecides) {
      // Rows of one time come together: its slice is open, its watermark has been followed.
      const auto time = Definition::time(row);
      if (time.known && time.value == last_time_) [[likely]] {
        if (Definition::passes(row, run_)) add_to_group(row);
        return forget_texts();
      }
    }
    take_row_of_another_time(row);
  }
  [[gnu::noinline]] void take_row_of_another_time(const Row& row) {
    const bool open = Definition::passes(row, run_) && find_slice(row);
    if (open) add_to_group(row);
    if constexpr (Definition::kTimeDecides)
      last_time_ = open ? Definition::time(row).value : kNoTime;
    follow_watermark(row);
    forget_texts();
  }
  void follow_watermark(const Row& row) {
    if constexpr (Definition::kHasWatermark) {
      const auto watermark = Definition::watermark(row, run_);
      if (watermark.known && watermark.value > slices_.watermark()) advance(watermark.value);
    }
  }
  void forget_texts() {
    if constexpr (Definition::kMakesTexts) run_.forget_texts();
  }

  void add_to_group(const Row& row) {
    const Key key = Definition::key(row, run_);
    if (!run_.failed) Definition::gather(slices_.current()->change(key, key.hash()), row, run_);
  }

  // ---- Parts ----

  bool is_ours(const Row& row) {
    if (!Definition::passes(row, run_)) return false;
    const Key key = Definition::key(row, run_);
    return !run_.failed && is_in_part(key.hash(), number_, of_);
  }
  // Decided by the lower half of the hash: the table takes the upper bits.
  static bool is_in_part(std::uint64_t hash, std::uint32_t number, std::uint32_t of) {
    return ((hash & 0xFFFFFFFF) * of >> 32) == number;
  }
  // False: the row fails.
  static bool raise(const Row& row, std::int64_t& last, std::int64_t& highest, Run& run) {
    if constexpr (Definition::kTimeDecides) {
      const auto time = Definition::time(row);
      const auto value = time.known ? time.value : kNoTime;
      if (value == last) return !run.failed;
      last = value;
    }
    const auto watermark = Definition::watermark(row, run);
    if (watermark.known && watermark.value > highest) highest = watermark.value;
    return !run.failed;
  }
  [[gnu::cold, gnu::noinline]] void hand_over(std::int64_t end) {
    auto given = std::make_unique<Given>();
    given->slices = slices_.take_up_to(end);
    last_time_ = kNoTime;
    if (!given->slices.empty()) run_.host.give(end, given.release());
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
      if (slices_.find(time.value)) return true;
      ++counts_.late_rows;
      return false;
    } else {
      slices_.find_only();
      return true;
    }
  }

  void advance(std::int64_t watermark) {
    slices_.advance(watermark, [this](std::int64_t end) {
      part_ ? hand_over(end) : show([&] { slices_.fire(end, emit()); });
    });
    if (slices_.current() == nullptr) last_time_ = kNoTime;
  }
  // The texts of what is shown are in the slices.
  template <class Fire>
  void show(const Fire& fire) {
    fire();
    run_.flush();
  }
  auto emit() {
    return [this](const Key& key, const State& state, std::int64_t end) {
      Definition::emit(key, state, end, run_);
      forget_texts();
    };
  }

  Output output_;
  Run run_;
  Counts counts_;
  Slices<Definition> slices_{run_};
  std::int64_t last_time_ = kNoTime;  // Of the last row, if it is in the current slice.
  bool part_ = false;
  std::uint32_t number_ = 0, of_ = 1;  // Keys that are this part's.
};

}  // namespace holdfast::query
