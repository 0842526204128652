// load_parts.hpp: what a load keeps beside the rows: texts by their numbers, rows by their keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <holdfast/olap/mart/column_block.hpp>

namespace holdfast::olap::mart {

// A column's texts, numbered from 1: those that the star has, and new ones behind them.
class TextNumbers {
 public:
  TextNumbers() = default;
  TextNumbers(TextNumbers&&) noexcept = default;  // Texts stay where they are.
  TextNumbers& operator=(TextNumbers&&) noexcept = default;
  explicit TextNumbers(std::span<const std::string_view> known) : known_(known.size()) {
    for (const auto text : known)
      add(text);
  }
  std::int64_t add(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<std::int64_t>(texts_.size()) + 1;
    views_.push_back(texts_.emplace_back(text));
    numbers_.emplace(views_.back(), number);
    return number;
  }
  std::optional<std::int64_t> find(std::string_view text) const {
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  std::string_view text(std::int64_t number) const {
    return views_[static_cast<std::size_t>(number) - 1];
  }
  std::span<const std::string_view> new_texts() const { return std::span(views_).subspan(known_); }

 private:
  std::deque<std::string> texts_;  // They stay where they are.
  std::vector<std::string_view> views_;
  std::unordered_map<std::string_view, std::int64_t> numbers_;
  std::size_t known_ = 0;
};

// From the word of a dimension's key to its row, from 1. Dense keys are looked up in an array.
class KeyRows {
 public:
  // `keys` has no NULL.
  explicit KeyRows(const std::vector<std::int64_t>& keys) {
    if (keys.empty()) return;
    const auto [least, most] = std::minmax_element(keys.begin(), keys.end());
    const auto range = static_cast<std::uint64_t>(*most) - static_cast<std::uint64_t>(*least);
    least_ = *least;
    if (range <= 16 * keys.size() + 4096) dense_.resize(range + 1);
    for (std::size_t row = 0; row < keys.size(); ++row)
      set(keys[row], static_cast<std::uint32_t>(row) + 1);
  }
  // 0: there is none.
  std::uint32_t find(std::int64_t key) const {
    if (dense_.empty()) {
      const auto found = sparse_.find(key);
      return found == sparse_.end() ? 0 : found->second;
    }
    const auto place = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least_);
    return place < dense_.size() ? dense_[place] : 0;
  }

 private:
  void set(std::int64_t key, std::uint32_t row) {
    if (dense_.empty())
      sparse_.emplace(key, row);
    else
      dense_[static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least_)] = row;
  }

  std::int64_t least_ = 0;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::int64_t, std::uint32_t> sparse_;
};

}  // namespace holdfast::olap::mart
