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
//   kInterprets                 some of it is not compiled
//   kRowsAreFree                Row and key() cannot fail, and are compiled
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
  explicit Groups(Host& host) : run_{host} {}

  void adopt(const Counts& counts) override {
    counts_ = counts;
    slices_.set_watermark(counts.watermark);
  }
  void adopt_stored(std::int64_t slice) override { slices_.adopt_stored(slice); }
  bool adopt_entry(std::int64_t slice, Text key, Text state) override {
    return slices_.adopt_entry(slice, key, state);
  }

  bool take(const std::byte* records, std::size_t count, std::size_t& taken) override {
    std::size_t done = 0;
    while (done < count && !run_.failed) {
      const std::size_t rows = std::min(kBlock, count - done);
      const bool near = !Definition::kRowsAreFree || slices_.current() == nullptr ||
                        slices_.current()->bytes() < kCacheBytes;
      done += near ? take_block<true>(records, rows) : take_block<false>(records, rows);
      records += rows * Definition::kRecordBytes;
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
    if (watermark > slices_.watermark()) advance(watermark);
    return !run_.failed;
  }
  void give_rest() override { hand_over(kEndOfTime); }
  void absorb(Parcel& parcel) override { slices_.absorb(static_cast<Given&>(parcel).slices); }

 private:
  static constexpr std::size_t kBlock = 32;            // Rows.
  static constexpr std::size_t kCacheBytes = 1 << 20;  // Smaller tables are near.

  struct Given final : Parcel {
    typename Slices<Definition>::Map slices;
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
        slices_.current()->prefetch_index(hashes_[i]);
      }
      for (std::size_t i = 0; i < rows; ++i)
        slices_.current()->prefetch_entry(hashes_[i]);
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
      if (watermark.known && watermark.value > slices_.watermark()) advance(watermark.value);
    }
  }
  void forget_texts() {
    if constexpr (Definition::kInterprets) run_.forget_texts();
  }

  template <bool kNear>
  void add_to_group(const Row& row, std::size_t number) {
    const Key key = Definition::key(row, run_);
    if (!Definition::kRowsAreFree && run_.failed) return;
    Definition::gather(slices_.current()->at(key, kNear ? key.hash() : hashes_[number]), row, run_);
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

  Run run_;
  Counts counts_;
  Slices<Definition> slices_{run_};
  std::int64_t last_time_ = kNoTime;  // Of the last row, if it is in the current slice.
  bool part_ = false;
  std::uint32_t number_ = 0, of_ = 1;  // Keys that are this part's.
  std::uint64_t hashes_[kBlock];       // Of the keys of a block, where tables are not near.
};

}  // namespace holdfast::query
