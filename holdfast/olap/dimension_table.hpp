// dimension_table.hpp: a dimension, ordered by its hierarchy: leaves, and the keys of their rows.
//
// A leaf is the rows that have all stored attributes in common. Leaves are ordered by their values,
// as bytes, so that all leaves below one region, nation, category or year lie side by side. The
// digits of a row (star.hpp) are those of its leaf, and its rank in it.
//
// Limits  At most 256 outer values, 256 inner values in each, 2^32 - 1 rows. SSB has 250 cities, 84
//         months, 25 categories and 40 brands in each.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/star.hpp>

namespace holdfast::olap {

struct Leaf {
  std::uint8_t outer = 0;
  std::uint8_t inner = 0;
  std::uint32_t first = 0;  // Of its rows, in keys().
  std::uint32_t rows = 0;
  std::array<std::string, kMaxAttributes> values;

  bool operator==(const Leaf&) const = default;
};

struct Digits {
  std::uint8_t outer = 0;
  std::uint8_t inner = 0;
  std::uint32_t ordinal = 0;

  bool operator==(const Digits&) const = default;
};

class DimensionTable {
 public:
  // Keys must differ. Errors: kUnsupported (a limit), naming the table.
  static Result<DimensionTable> build(Dimension dimension, std::vector<DimensionRow> rows);
  // Makes it of what was read from a medium. Errors: kCorrupt.
  static Result<DimensionTable> restore(Dimension dimension, std::vector<Leaf> leaves,
                                        std::vector<std::uint32_t> keys);

  Dimension dimension() const { return dimension_; }
  std::span<const Leaf> leaves() const { return *leaves_; }
  std::span<const std::uint32_t> keys() const { return *keys_; }  // Original keys by new order.
  // The leaf of these digits, or nothing.
  const Leaf* leaf(std::uint8_t outer, std::uint8_t inner) const;
  // The original key; nothing where no row has these digits.
  std::optional<std::uint32_t> key(const Digits& digits) const;

 private:
  DimensionTable(Dimension dimension, std::vector<Leaf> leaves, std::vector<std::uint32_t> keys);

  Dimension dimension_;
  // They never change; copies share them.
  std::shared_ptr<const std::vector<Leaf>> leaves_;
  std::shared_ptr<const std::vector<std::uint32_t>> keys_;
};

// From original keys to digits, for loading. Dense keys are looked up in an array.
class KeyLookup {
 public:
  explicit KeyLookup(const DimensionTable& table);
  // False where no row has this key.
  bool find(std::uint32_t key, Digits& digits) const {
    std::uint64_t word = 0;
    if (dense_.empty()) {
      const auto found = sparse_.find(key);
      if (found == sparse_.end()) return false;
      word = found->second;
    } else if (key < dense_.size()) {
      word = dense_[key];
    }
    digits = {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
              static_cast<std::uint32_t>(word >> 16)};
    return (word & kPresent) != 0;
  }

 private:
  static constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> dense_;
  std::unordered_map<std::uint32_t, std::uint64_t> sparse_;
};

}  // namespace holdfast::olap
