#include <holdfast/olap/ssb/load.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/olap/date_order.hpp>
#include <holdfast/olap/in_order.hpp>
#include <holdfast/olap/ssb/dimension_rows.hpp>
#include <holdfast/olap/ssb/fact_line.hpp>
#include <holdfast/olap/ssb/text_table.hpp>

namespace holdfast::olap::ssb {
namespace {

static_assert(kOrdersAtOnce * 7 <= kMaxBlockRows);

struct MeasureField {
  Column column;
  std::uint8_t field;  // Of lineorder.tbl, from 0.
  std::uint32_t most;
  std::string_view name;
};
constexpr std::array<MeasureField, 5> kMeasures{{
    {kQuantity, 8, 255, "lo_quantity"},
    {kDiscount, 11, 100, "lo_discount"},
    {kExtendedPrice, 9, UINT32_MAX, "lo_extendedprice"},
    {kRevenue, 12, UINT32_MAX, "lo_revenue"},
    {kSupplyCost, 13, UINT32_MAX, "lo_supplycost"},
}};

using Lookups = std::vector<KeyLookup>;

Lookups lookups_of(std::span<const DimensionTable> tables) {
  Lookups lookups;
  for (const auto& table : tables)
    lookups.emplace_back(table);
  return lookups;
}

void push(FactRows& rows, Dimension dimension, const Digits& digits) {
  rows.columns[column(dimension, Digit::kOuter)].push_back(digits.outer);
  rows.columns[column(dimension, Digit::kInner)].push_back(digits.inner);
  rows.columns[column(dimension, Digit::kOrdinal)].push_back(digits.ordinal);
}

// ---- From the generator ----

void push_order(const Generator& generator, const Lookups& lookups, const Order& order,
                FactRows& rows) {
  const auto push_key = [&](Dimension dimension, std::uint32_t key) {
    Digits digits;
    const bool found = lookups[static_cast<std::size_t>(dimension)].find(key, digits);
    HF_DCHECK(found);
    (void)found;
    push(rows, dimension, digits);
  };
  for (unsigned i = 0; i < order.lines; ++i) {
    const Line line = generator.line(order, i);
    push_key(Dimension::kDate, day_key(order.day));
    push_key(Dimension::kCustomer, order.customer);
    push_key(Dimension::kSupplier, line.supplier);
    push_key(Dimension::kPart, line.part);
    rows.columns[kQuantity].push_back(line.quantity);
    rows.columns[kDiscount].push_back(line.discount);
    rows.columns[kExtendedPrice].push_back(line.extended_price);
    rows.columns[kRevenue].push_back(line.revenue);
    rows.columns[kSupplyCost].push_back(line.supply_cost);
  }
}

// ---- From files ----

// A line of lineorder into `rows`, or what is wrong with it.
std::string add_fact(const std::vector<std::string_view>& fields, const Lookups& lookups,
                     FactRows& rows) {
  std::array<Digits, kDimensions> digits;
  std::array<std::uint32_t, kMeasures.size()> measures{};
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto text = fields[kKeyFields[i].field];
    std::uint32_t key = 0;
    if (!parse_number(text, UINT32_MAX, key))
      return bad_field(kKeyFields[i].name, text, "a number up to 4294967295 is wanted");
    if (!lookups[i].find(key, digits[i]))
      return bad_field(kKeyFields[i].name, text,
                       "no line of " + std::string(kShapes[i].table) + ".tbl has this key");
  }
  for (std::size_t i = 0; i < kMeasures.size(); ++i) {
    const auto text = fields[kMeasures[i].field];
    if (!parse_number(text, kMeasures[i].most, measures[i]))
      return bad_field(kMeasures[i].name, text,
                       "a number up to " + std::to_string(kMeasures[i].most) + " is wanted");
  }
  for (std::size_t i = 0; i < kDimensions; ++i)
    push(rows, static_cast<Dimension>(i), digits[i]);
  for (std::size_t i = 0; i < kMeasures.size(); ++i)
    rows.columns[kMeasures[i].column].push_back(measures[i]);
  return "";
}

// Where encoded blocks go: to the star at once, or at the end, when all are there to be ordered.
class BlockSink {
 public:
  BlockSink(StarWriter& writer, FactOrder order) : writer_(writer), order_(order) {}

  Status take(EncodedBlock block) {
    if (order_ == FactOrder::kAsLoaded) return writer_.append(block);
    by_date_.add(std::move(block));
    return {};
  }
  Status finish(unsigned threads) {
    return order_ == FactOrder::kAsLoaded ? Status() : by_date_.write(writer_, threads);
  }

 private:
  StarWriter& writer_;
  FactOrder order_;
  DateOrder by_date_;
};

struct FactPiece {
  std::vector<EncodedBlock> blocks;
  std::uint64_t lines = 0;
  BadLines bad;
};

FactPiece parse_facts(std::string_view text, const Lookups& lookups) {
  FactPiece piece;
  FactRows rows;
  rows.reserve(kUsualBlockRows);
  std::vector<std::string_view> fields(kFactFields);
  const auto flush = [&] {
    if (rows.size() > 0) piece.blocks.push_back(encode_block(rows, 0, rows.size()));
    rows.clear();
  };
  while (!text.empty()) {
    const auto line = take_line(text);
    ++piece.lines;
    auto wrong =
        split_fields(line, fields) ? add_fact(fields, lookups, rows) : bad_count(fields.size());
    if (!wrong.empty()) piece.bad.add(piece.lines, std::move(wrong));
    if (rows.size() == kMaxBlockRows) flush();
  }
  flush();
  return piece;
}

}  // namespace

Status load_generated(const Generator& generator, const std::string& source, StarStore& store,
                      unsigned threads, FactOrder order) {
  std::vector<DimensionTable> tables;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    HF_ASSIGN_OR_RETURN(auto table,
                        DimensionTable::build(dimension, all_rows(generator, dimension)));
    tables.push_back(std::move(table));
  }
  const auto lookups = lookups_of(tables);
  StarWriter writer(store);
  BlockSink sink(writer, order);
  const auto make = [&](std::uint64_t piece) -> Result<EncodedBlock> {
    FactRows rows;
    rows.reserve(kUsualBlockRows + 4096);
    const auto end = std::min((piece + 1) * kOrdersAtOnce, generator.orders());
    for (auto number = piece * kOrdersAtOnce; number < end; ++number)
      push_order(generator, lookups, generator.order(number), rows);
    return encode_block(rows, 0, rows.size());
  };
  HF_RETURN_IF_ERROR(in_order<EncodedBlock>(
      (generator.orders() + kOrdersAtOnce - 1) / kOrdersAtOnce, threads, make,
      [&](EncodedBlock block) { return sink.take(std::move(block)); }));
  HF_RETURN_IF_ERROR(sink.finish(threads));
  return writer.finish(source, std::move(tables));
}

Status load_tables(const std::string& directory, StarStore& store, unsigned threads,
                   FactOrder order) {
  std::vector<DimensionTable> tables;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    HF_ASSIGN_OR_RETURN(auto rows, read_dimension(dimension, directory));
    HF_ASSIGN_OR_RETURN(auto table, DimensionTable::build(dimension, std::move(rows)));
    tables.push_back(std::move(table));
  }
  const auto lookups = lookups_of(tables);
  HF_ASSIGN_OR_RETURN(const auto file, TextTable::open(directory + "/lineorder.tbl"));
  StarWriter writer(store);
  BlockSink sink(writer, order);
  BadLines bad;
  std::uint64_t lines = 0;
  const auto make = [&](std::uint64_t piece) -> Result<FactPiece> {
    HF_ASSIGN_OR_RETURN(const auto text, file.read(piece));
    return parse_facts(text, lookups);
  };
  const auto take = [&](FactPiece piece) -> Status {
    bad.add(piece.bad, lines);
    lines += piece.lines;
    for (auto& block : piece.blocks) {
      if (bad.count() == 0) HF_RETURN_IF_ERROR(sink.take(std::move(block)));
    }
    return {};
  };
  HF_RETURN_IF_ERROR(in_order<FactPiece>(file.pieces(), threads, make, take));
  HF_RETURN_IF_ERROR(bad.status(file.path()));
  HF_RETURN_IF_ERROR(sink.finish(threads));
  return writer.finish(directory, std::move(tables));
}

Result<std::uint64_t> append_lines(const std::string& path, StarStore& store, unsigned threads) {
  const auto present = store.version();
  // What the store says of others than a star of columns.
  if (present == nullptr || present->rows() != nullptr) {
    HF_RETURN_IF_ERROR(store.append({}));
    return 0;
  }
  const auto lookups = lookups_of(present->catalogue().dimensions);
  HF_ASSIGN_OR_RETURN(const auto file, TextTable::open(path));
  std::vector<EncodedBlock> blocks;
  BadLines bad;
  std::uint64_t lines = 0;
  const auto make = [&](std::uint64_t piece) -> Result<FactPiece> {
    HF_ASSIGN_OR_RETURN(const auto text, file.read(piece));
    return parse_facts(text, lookups);
  };
  const auto take = [&](FactPiece piece) -> Status {
    bad.add(piece.bad, lines);
    lines += piece.lines;
    std::move(piece.blocks.begin(), piece.blocks.end(), std::back_inserter(blocks));
    return {};
  };
  HF_RETURN_IF_ERROR(in_order<FactPiece>(file.pieces(), threads, make, take));
  HF_RETURN_IF_ERROR(bad.status(file.path()));
  HF_RETURN_IF_ERROR(store.append(blocks));
  return lines;
}

}  // namespace holdfast::olap::ssb
