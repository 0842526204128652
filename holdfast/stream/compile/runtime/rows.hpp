// rows.hpp: a query without groups: each row by itself.
//
// A `Definition` is what the generated source says of its query: Row, watermark(), kRecordBytes,
// kHasWatermark and kMakesTexts as of groups.hpp, and take(row, run): WHERE and SELECT.
#pragma once

#include <holdfast/stream/compile/runtime/texts.hpp>
#include <holdfast/stream/compile/runtime/user_functions.hpp>

namespace holdfast::query {

template <class Definition>
class Rows final : public Query {
 public:
  explicit Rows(Host& host) : run_{host, output_} {}

  void adopt(const Counts& counts) override { counts_ = counts; }
  void adopt_stored(std::int64_t) override {}
  bool adopt_entry(std::int64_t, Text, Text) override { return false; }
  bool take(const std::byte* records, std::size_t count, std::size_t& taken) override {
    for (std::size_t i = 0; i < count; ++i, records += Definition::kRecordBytes) {
      const auto nulls = nulls_of(records);
      // Most rows have no NULL: then the compiler knows what is there.
      if (nulls == 0) [[likely]]
        take_row(Row(records, 0, run_));
      else
        take_row(Row(records, nulls, run_));
      if (run_.failed) [[unlikely]]
        return taken = i + 1, run_.flush(), false;
    }
    taken = count;
    run_.flush();
    return !run_.failed;
  }
  bool end() override { return counts_.watermark = INT64_MAX, true; }
  bool put_state(bool) override { return true; }
  Counts counts() const override { return counts_; }

 private:
  using Row = typename Definition::Row;

  [[gnu::always_inline]] void take_row(const Row& row) {
    Definition::take(row, run_);
    if constexpr (Definition::kHasWatermark) {
      const auto watermark = Definition::watermark(row, run_);
      if (watermark.known && watermark.value > counts_.watermark)
        counts_.watermark = watermark.value;
    }
    if constexpr (Definition::kMakesTexts) run_.forget_texts();
  }

  Output output_;
  Run run_;
  Counts counts_;
};

}  // namespace holdfast::query
