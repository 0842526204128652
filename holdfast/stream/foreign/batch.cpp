#include "batch.hpp"

#include <algorithm>

#include <holdfast/base/format.hpp>

namespace holdfast::stream::foreign {

bool Batch::take() {
  rows_ = 0;
  ByteReader bytes(answer_);
  block_ = bytes.number();
  place_ = bytes.text();
  if (!take_errors(bytes)) return false;
  const auto rows = bytes.number();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns_[i] = ColumnReader();
    const auto& type = table_.columns[chosen_[i]].type;
    if (!columns_[i].take(bytes, type) || columns_[i].count() != rows) return false;
  }
  if (!bytes.ok() || !bytes.at_end()) return false;
  rows_ = rows;
  return true;
}

bool Batch::take_errors(ByteReader& bytes) {
  errors_.clear();
  for (auto count = bytes.number(); count > 0 && bytes.ok(); --count) {
    const auto row = bytes.number();
    errors_.emplace_back(row, bytes.text());
  }
  return bytes.ok() && std::is_sorted(errors_.begin(), errors_.end());
}

bool Batch::read(std::uint64_t number, sql::Row& row, std::string& wrong) const {
  wrong.clear();
  const auto at =
      std::lower_bound(errors_.begin(), errors_.end(), std::pair(number, std::string_view()));
  if (at != errors_.end() && at->first == number) {
    // Names and reasons are the file's: a message is one line of plain text.
    wrong = at->second.empty() ? "it is damaged" : escape(at->second, 400);
    return false;
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto& value = row[chosen_[i]];
    if (columns_[i].read(number, value) || !wrong.empty()) continue;
    const auto& column = table_.columns[chosen_[i]];
    wrong = "it has no " + sql::name_of(column.type) + " for column " + escape(column.name);
  }
  return true;
}

}  // namespace holdfast::stream::foreign
