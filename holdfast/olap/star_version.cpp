#include <holdfast/olap/star_version.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::olap {
namespace {

// How many rows each leaf has, by outer * 256 + inner; so a key is looked up without a search.
std::vector<std::uint32_t> rows_by_digits(const DimensionTable& table) {
  std::vector<std::uint32_t> rows(65'536);
  for (const Leaf& leaf : table.leaves())
    rows[leaf.outer * 256u + leaf.inner] = leaf.rows;
  return rows;
}

using RowsByDigits = std::vector<std::vector<std::uint32_t>>;  // Of each dimension.

// What is wrong with the values of a block whose checksums fit; empty if nothing is.
std::string check_values(const Catalogue& catalogue, const RowsByDigits& rows_of,
                         const std::byte* bytes, const BlockInfo& info) {
  std::array<std::vector<std::uint32_t>, kColumns> values;
  for (Column column = 0; column < kColumns; ++column) {
    values[column].resize(info.rows);
    for (std::uint32_t row = 0; row < info.rows; ++row)
      values[column][row] = value_at(bytes, info, column, row);
    const auto [least, most] = std::minmax_element(values[column].begin(), values[column].end());
    if (*least < info.columns[column].min || *most > info.columns[column].max)
      return std::string(kColumnNames[column]) + " is outside of its bounds";
  }
  for (const auto& table : catalogue.dimensions) {
    const auto& rows = rows_of[static_cast<std::size_t>(table.dimension())];
    const auto digit = [&](Digit which) { return values[column(table.dimension(), which)].data(); };
    const auto *outer = digit(Digit::kOuter), *inner = digit(Digit::kInner),
               *ordinal = digit(Digit::kOrdinal);
    for (std::uint32_t row = 0; row < info.rows; ++row) {
      if (HF_MUTANT("O19", ordinal[row] >= rows[outer[row] * 256 + inner[row]], false))
        return "a key leads to no row of " + std::string(shape(table.dimension()).table);
    }
  }
  return "";
}

}  // namespace

StarVersion::StarVersion(const Region& region, Catalogue catalogue, const StarVersion* before)
    : region_(&region), catalogue_(std::move(catalogue)) {
  if (catalogue_.layout == Layout::kByRow)
    rows_ = std::make_unique<StoredRows>(region, catalogue_.row_tables);
  checked_.resize(catalogue_.blocks.size());
  for (std::size_t i = 0; i < checked_.size(); ++i) {
    const bool same = before != nullptr && i < before->catalogue_.blocks.size() &&
                      HF_MUTANT("O12", before->catalogue_.blocks[i] == catalogue_.blocks[i], true);
    checked_[i] = same ? before->checked_[i] : std::make_shared<std::atomic<std::uint32_t>>(0);
  }
}

Status StarVersion::check(std::size_t number, Column column) const {
  const BlockInfo& info = catalogue_.blocks[number];
  const ColumnInfo& of = info.columns[column];
  if (!of.constant() &&
      HF_MUTANT("O02",
                checksum64({block(number) + of.offset, column_bytes(info.rows, of.width)},
                           info.rows) != of.checksum,
                false))
    return Error{Errc::kCorrupt,
                 "star: block " + std::to_string(number) + ", column " +
                     std::string(kColumnNames[column]) + " (at " +
                     std::to_string(info.offset + of.offset) +
                     "): the checksum does not fit; load the tables again, or restore a copy"};
  checked_[number]->fetch_or(std::uint32_t{1} << column, std::memory_order_release);
  return {};
}

std::vector<std::string> StarVersion::verify() const {
  std::vector<std::string> found;
  if (rows_ != nullptr) return rows_->verify();
  RowsByDigits rows_of;
  for (const auto& table : catalogue_.dimensions)
    rows_of.push_back(rows_by_digits(table));
  for (std::size_t number = 0; number < catalogue_.blocks.size(); ++number) {
    const auto before = found.size();
    for (Column column = 0; column < kColumns; ++column) {
      // check() and not use(): it may have been damaged since it was used.
      if (const auto status = check(number, column); !status)
        found.push_back(status.error().detail);
    }
    if (found.size() != before) continue;
    const auto wrong = check_values(catalogue_, rows_of, block(number), catalogue_.blocks[number]);
    if (!wrong.empty())
      found.push_back("star: block " + std::to_string(number) + ": " + wrong +
                      ", though its checksums fit");
  }
  return found;
}

}  // namespace holdfast::olap
