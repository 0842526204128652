#include <holdfast/olap/ssb/load_rows.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/olap/in_order.hpp>
#include <holdfast/olap/ssb/dimension_rows.hpp>
#include <holdfast/olap/ssb/fact_line.hpp>
#include <holdfast/olap/ssb/text_table.hpp>

namespace holdfast::olap::ssb {
namespace {

Result<DimensionTuple> to_tuple(Dimension dimension, const DimensionRow& row) {
  const auto& shape = olap::shape(dimension);
  DimensionTuple tuple{};
  tuple.key = row.key;
  for (std::size_t i = 0; i < shape.attributes; ++i) {
    const auto& value = row.values[i];
    if (shape.numeric[i]) {
      std::uint32_t number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      std::memcpy(tuple.places[i].bytes.data(), &number, sizeof number);
      continue;
    }
    if (!DimensionTuple::Place::fits(value))
      return Error{Errc::kUnsupported,
                   bad_field(shape.names[i], value,
                             "rows have place for " + std::to_string(DimensionTuple::kPlaceBytes) +
                                 " bytes, none of them zero; columns take more")};
    tuple.places[i].set(value);
  }
  return tuple;
}

// The rows of the four dimensions to the writer. Their keys, table by table.
template <class RowsOf>
Result<std::vector<KeySet>> write_dimensions(StarWriter& writer, const RowsOf& rows_of) {
  std::vector<KeySet> keys;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    HF_ASSIGN_OR_RETURN(const std::vector<DimensionRow> rows, rows_of(dimension));
    std::vector<DimensionTuple> tuples;
    std::vector<std::uint32_t> of_table;
    tuples.reserve(rows.size()), of_table.reserve(rows.size());
    for (const auto& row : rows) {
      HF_ASSIGN_OR_RETURN(const auto tuple, to_tuple(dimension, row));
      tuples.push_back(tuple);
      of_table.push_back(row.key);
    }
    HF_RETURN_IF_ERROR(writer.set_tuples(dimension, tuples));
    keys.emplace_back(of_table);
  }
  return keys;
}

struct RowPiece {
  std::vector<FactRow> rows;
  std::uint64_t lines = 0;
  BadLines bad;
};

RowPiece parse_lines(std::string_view text, const std::vector<KeySet>& keys) {
  RowPiece piece;
  piece.rows.reserve(kUsualBlockRows);
  std::vector<std::string_view> fields(kFactFields);
  while (!text.empty()) {
    const auto line = take_line(text);
    ++piece.lines;
    FactRow row;
    auto wrong =
        split_fields(line, fields) ? parse_fact(fields, keys, row) : bad_count(fields.size());
    if (wrong.empty())
      piece.rows.push_back(row);
    else
      piece.bad.add(piece.lines, std::move(wrong));
  }
  return piece;
}

// Where rows go: to the star at once, or at the end, when all are there to be ordered.
class RowSink {
 public:
  RowSink(StarWriter& writer, FactOrder order) : writer_(writer), order_(order) {}

  Status take(std::span<const FactRow> rows) {
    if (order_ == FactOrder::kAsLoaded) return append(rows);
    kept_.insert(kept_.end(), rows.begin(), rows.end());
    return {};
  }
  Status finish() {
    std::stable_sort(kept_.begin(), kept_.end(), [](const FactRow& a, const FactRow& b) {
      return a.order_date < b.order_date;
    });
    return append(kept_);
  }

 private:
  Status append(std::span<const FactRow> rows) {
    for (; rows.size() > kMaxBlockRows; rows = rows.subspan(kUsualBlockRows))
      HF_RETURN_IF_ERROR(writer_.append(rows.first(kUsualBlockRows)));
    return rows.empty() ? Status() : writer_.append(rows);
  }

  StarWriter& writer_;
  FactOrder order_;
  std::vector<FactRow> kept_;
};

// text_of(piece) -> Result<std::string>, whole lines.
template <class TextOf>
Status write_facts(StarWriter& writer, FactOrder order, const std::vector<KeySet>& keys,
                   std::uint64_t pieces, unsigned threads, const std::string& path,
                   const TextOf& text_of) {
  RowSink sink(writer, order);
  BadLines bad;
  std::uint64_t lines = 0;
  const auto make = [&](std::uint64_t number) -> Result<RowPiece> {
    HF_ASSIGN_OR_RETURN(const std::string text, text_of(number));
    return parse_lines(text, keys);
  };
  const auto take = [&](const RowPiece& piece) -> Status {
    bad.add(piece.bad, lines);
    lines += piece.lines;
    return bad.count() == 0 ? sink.take(piece.rows) : Status();
  };
  HF_RETURN_IF_ERROR(in_order<RowPiece>(pieces, threads, make, take));
  HF_RETURN_IF_ERROR(bad.status(path));
  return sink.finish();
}

}  // namespace

Status load_generated_rows(const Generator& generator, const std::string& source, StarStore& store,
                           unsigned threads, FactOrder order) {
  StarWriter writer(store);
  HF_ASSIGN_OR_RETURN(const auto keys, write_dimensions(writer, [&](Dimension dimension) {
                        return Result<std::vector<DimensionRow>>(all_rows(generator, dimension));
                      }));
  // Through the text, so that generated rows are those of the generated files.
  const auto text_of = [&](std::uint64_t piece) -> Result<std::string> {
    std::string text;
    const auto end = std::min((piece + 1) * kOrdersAtOnce, generator.orders());
    for (auto number = piece * kOrdersAtOnce; number < end; ++number)
      generator.append_text(generator.order(number), text);
    return text;
  };
  HF_RETURN_IF_ERROR(write_facts(writer, order, keys,
                                 (generator.orders() + kOrdersAtOnce - 1) / kOrdersAtOnce, threads,
                                 "the generator", text_of));
  return writer.finish_rows(source);
}

Status load_table_rows(const std::string& directory, StarStore& store, unsigned threads,
                       FactOrder order) {
  StarWriter writer(store);
  HF_ASSIGN_OR_RETURN(const auto keys, write_dimensions(writer, [&](Dimension dimension) {
                        return read_dimension(dimension, directory);
                      }));
  HF_ASSIGN_OR_RETURN(const auto file, TextTable::open(directory + "/lineorder.tbl"));
  HF_RETURN_IF_ERROR(write_facts(writer, order, keys, file.pieces(), threads, file.path(),
                                 [&](std::uint64_t piece) { return file.read(piece); }));
  return writer.finish_rows(directory);
}

}  // namespace holdfast::olap::ssb
