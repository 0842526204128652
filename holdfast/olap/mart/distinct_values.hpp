// distinct_values.hpp: which values each group of a DISTINCT aggregate has seen.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/olap/mart/group_table.hpp>
#include <holdfast/olap/mart/load_parts.hpp>
#include <holdfast/olap/mart/vector.hpp>

namespace holdfast::olap::mart {

class DistinctValues {
 public:
  explicit DistinctValues(Form form) : form_(form), seen_(form == Form::kWide ? 3 : 2) {}

  // Whether the group has not seen value `row` before. The value is not NULL.
  bool add(std::uint32_t group, const Vector& values, std::size_t row) {
    std::int64_t words[3] = {group, 0, 0};
    switch (form_) {
      case Form::kNumbers: words[1] = values.numbers[row]; break;
      case Form::kReals: words[1] = word_of(values.reals[row]); break;
      case Form::kTexts: words[1] = texts_.add(values.texts[row]); break;
      case Form::kWide:
        words[1] = static_cast<std::int64_t>(values.wide[row]);
        words[2] = static_cast<std::int64_t>(values.wide[row] >> 64);
        break;
    }
    const auto before = seen_.size();
    return seen_.find_or_add(words) == before;
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
  Form form_;
  GroupTable seen_;    // Keys: the group, then the value.
  TextNumbers texts_;  // Of texts: their numbers stand for them.
};

}  // namespace holdfast::olap::mart
