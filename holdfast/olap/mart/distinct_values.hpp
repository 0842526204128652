// distinct_values.hpp: which values each group of a DISTINCT aggregate has seen.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/group_table.hpp>
#include <holdfast/olap/mart/load_parts.hpp>
#include <holdfast/olap/mart/vector.hpp>

namespace holdfast::olap::mart {

class DistinctValues {
 public:
  explicit DistinctValues(Form form)
      : form_(form), words_(form == Form::kWide ? 3 : 2), seen_(words_) {}

  // Drops those of `rows` whose value their group has seen before. None of the values is NULL.
  void keep_new(std::span<const std::uint32_t> groups, const Vector& values,
                std::vector<std::uint32_t>& rows) {
    keys_.resize(rows.size() * words_);
    for (std::size_t i = 0; i < rows.size(); ++i)
      set_key(groups[rows[i]], values, rows[i], keys_.data() + i * words_);
    numbers_.resize(rows.size());
    auto next = seen_.size();  // The number of the next pair that is new.
    seen_.find_or_add(keys_.data(), rows.size(), numbers_.data());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool is_new = numbers_[i] == next;
      next += is_new ? 1 : 0;
      rows[kept] = rows[i];
      kept += HF_MUTANT("O32", is_new, true) ? 1 : 0;
    }
    rows.resize(kept);
  }

  // All pairs of a group and a value, as they came. Texts lie here.
  void list(std::vector<std::uint32_t>& groups, Vector& values) const {
    values.reset(form_, seen_.size());
    groups.resize(seen_.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto words = seen_.key(i);
      groups[i] = static_cast<std::uint32_t>(words[0]);
      switch (form_) {
        case Form::kNumbers: values.numbers[i] = words[1]; break;
        case Form::kReals: values.reals[i] = double_of(words[1]); break;
        case Form::kTexts: values.texts[i] = texts_.text(words[1]); break;
        case Form::kWide:
          values.wide[i] =
              static_cast<sql::Int128>(words[2]) << 64 | static_cast<std::uint64_t>(words[1]);
          break;
      }
    }
  }

 private:
  void set_key(std::uint32_t group, const Vector& values, std::size_t row, std::int64_t* key) {
    key[0] = group;
    switch (form_) {
      case Form::kNumbers: key[1] = values.numbers[row]; break;
      case Form::kReals: key[1] = word_of(values.reals[row]); break;
      case Form::kTexts: key[1] = texts_.add(values.texts[row]); break;
      case Form::kWide:
        key[1] = static_cast<std::int64_t>(values.wide[row]);
        key[2] = static_cast<std::int64_t>(values.wide[row] >> 64);
        break;
    }
  }

  Form form_;
  std::size_t words_;
  GroupTable seen_;    // Keys: the group, then the value.
  TextNumbers texts_;  // Of texts: their numbers stand for them.
  std::vector<std::int64_t> keys_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace holdfast::olap::mart
