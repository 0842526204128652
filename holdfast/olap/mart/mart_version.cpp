#include <holdfast/olap/mart/mart_version.hpp>

#include <algorithm>
#include <cstring>

#include <holdfast/base/checksum.hpp>
#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::olap::mart {
namespace {

template <class Code>
bool none_above(const std::byte* codes, std::uint32_t rows, std::uint64_t most) {
  bool good = true;
  for (std::uint32_t row = 0; row < rows; ++row) {
    Code code;
    std::memcpy(&code, codes + row * sizeof code, sizeof code);
    good &= code <= most;
  }
  return good;
}

// Nothing that reads the column goes beyond what its bounds lead to.
bool keeps_bounds(const std::byte* codes, const ColumnInfo& of, std::uint32_t rows) {
  const auto most =
      static_cast<std::uint64_t>(of.max) - static_cast<std::uint64_t>(of.min) + of.has_null;
  switch (of.width) {
    case 8: return none_above<std::uint8_t>(codes, rows, most);
    case 16: return none_above<std::uint16_t>(codes, rows, most);
    case 32: return none_above<std::uint32_t>(codes, rows, most);
    default: return none_above<std::uint64_t>(codes, rows, most);
  }
}

}  // namespace

MartVersion::MartVersion(const Region& region, Catalogue catalogue)
    : region_(&region), catalogue_(std::move(catalogue)) {
  for (std::size_t i = 0; i < catalogue_.tables.size(); ++i) {
    const auto cells =
        catalogue_.tables[i].blocks.size() * catalogue_.schema.tables[i].columns.size();
    checked_.push_back(std::make_unique<std::atomic<std::uint8_t>[]>(cells));
  }
}

Status MartVersion::use(std::uint32_t table, std::size_t number, std::uint32_t column) const {
  auto& cell = checked_[table][number * catalogue_.schema.tables[table].columns.size() + column];
  if (cell.load(std::memory_order_acquire) != 0) [[likely]]
    return {};
  HF_RETURN_IF_ERROR(check(table, number, column));
  cell.store(1, std::memory_order_release);
  return {};
}

Status MartVersion::check(std::uint32_t table, std::size_t number, std::uint32_t column) const {
  const auto& info = catalogue_.tables[table].blocks[number];
  const auto& of = info.columns[column];
  if (of.width == 0) return {};
  const std::byte* codes = block(table, number) + of.offset;
  const char* what = nullptr;
  if (HF_MUTANT("O21", checksum64({codes, of.bytes(info.rows)}, info.rows) != of.checksum, false))
    what = "the checksum does not fit";
  else if (HF_MUTANT("O41", !keeps_bounds(codes, of, info.rows), false))
    what = "a value is outside of its bounds, though the checksum fits";
  if (what == nullptr) return {};
  const auto& names = catalogue_.schema.tables[table];
  return Error{Errc::kCorrupt, "star: table " + escape(names.name) + ", block " +
                                   std::to_string(number) + ", column " +
                                   escape(names.columns[column].name) + " (at " +
                                   std::to_string(info.offset + of.offset) + "): " + what +
                                   "; load the tables again, or restore a copy"};
}

Result<Dictionary> MartVersion::read_dictionary(std::uint32_t table, std::uint32_t column) const {
  const auto& names = catalogue_.schema.tables[table];
  const auto damaged = [&](const Extent& place, const char* what) {
    return Error{Errc::kCorrupt, "star: the texts of " + escape(names.name) + "." +
                                     escape(names.columns[column].name) + " (at " +
                                     std::to_string(place.offset_bytes) + "): " + what +
                                     "; load the tables again, or restore a copy"};
  };
  Dictionary texts;
  texts.reserve(catalogue_.tables[table].texts(column));
  for (const auto& piece : catalogue_.tables[table].dictionaries[column]) {
    const std::byte* bytes = region_->data() + piece.place.offset_bytes;
    const auto sum = checksum64({bytes, piece.place.size_bytes}, piece.texts);
    if (HF_MUTANT("O22", sum != piece.checksum, false))
      return damaged(piece.place, "the checksum does not fit");
    std::uint64_t at = std::uint64_t{piece.texts} * sizeof(std::uint32_t);
    for (std::uint32_t i = 0; i < piece.texts; ++i) {
      std::uint32_t length;
      std::memcpy(&length, bytes + std::size_t{i} * sizeof length, sizeof length);
      if (HF_MUTANT("O42", length > piece.place.size_bytes - at, false))
        return damaged(piece.place, "a text is longer than its place");
      texts.emplace_back(reinterpret_cast<const char*>(bytes + at), length);
      at += length;
    }
  }
  return texts;
}

Result<std::shared_ptr<const Dictionary>> MartVersion::dictionary(std::uint32_t table,
                                                                  std::uint32_t column) const {
  const Lock lock(mutex_);
  auto& known = dictionaries_[{table, column}];
  if (known != nullptr) return known;
  HF_ASSIGN_OR_RETURN(auto texts, read_dictionary(table, column));
  known = std::make_shared<const Dictionary>(std::move(texts));
  return known;
}

Result<std::shared_ptr<const Words>> MartVersion::words(std::uint32_t table,
                                                        std::uint32_t column) const {
  const Lock lock(mutex_);
  auto& known = words_[{table, column}];
  if (known != nullptr) return known;
  const auto& data = catalogue_.tables[table];
  Words words;
  words.values.reserve(data.rows());
  for (std::size_t number = 0; number < data.blocks.size(); ++number) {
    HF_RETURN_IF_ERROR(use(table, number, column));
    const auto& info = data.blocks[number];
    decode(block(table, number), info.columns[column], 0, info.rows, words);
  }
  known = std::make_shared<const Words>(std::move(words));
  return known;
}

void MartVersion::verify_table(std::uint32_t table, std::vector<std::string>& found) const {
  const auto& names = catalogue_.schema.tables[table];
  const auto& data = catalogue_.tables[table];
  for (std::uint32_t column = 0; column < names.columns.size(); ++column) {
    for (std::size_t number = 0; number < data.blocks.size(); ++number) {
      // check() and not use(): it may have been damaged since it was used.
      if (const auto status = check(table, number, column); !status)
        found.push_back(status.error().detail);
    }
    if (!names.columns[column].is_text()) continue;
    if (const auto texts = read_dictionary(table, column); !texts)
      found.push_back(texts.error().detail);
  }
}

std::vector<std::string> MartVersion::verify() const {
  std::vector<std::string> found;
  for (std::uint32_t table = 0; table < catalogue_.tables.size(); ++table)
    verify_table(table, found);
  return found;
}

}  // namespace holdfast::olap::mart
