#include <holdfast/olap/ssb/dimension_rows.hpp>

#include <string_view>
#include <unordered_set>
#include <utility>

#include <holdfast/olap/ssb/text_table.hpp>

namespace holdfast::olap::ssb {
namespace {

// A row of a dimension, or what is wrong with it.
std::string parse_dimension_row(const DimensionShape& shape,
                                const std::vector<std::string_view>& fields, DimensionRow& row) {
  if (!parse_number(fields[0], UINT32_MAX, row.key))
    return bad_field("the key", fields[0], "a number up to 4294967295 is wanted");
  for (unsigned i = 0; i < shape.attributes; ++i) {
    const auto value = fields[shape.columns[i]];
    std::uint32_t number = 0;
    if (value.empty()) return bad_field(shape.names[i], value, "there are no NULLs");
    if (shape.numeric[i] && !parse_number(value, 999'999, number))
      return bad_field(shape.names[i], value, "a number up to 999999 is wanted");
    // Numbers in one form: '07' is 7.
    row.values[i] = shape.numeric[i] ? std::to_string(number) : std::string(value);
  }
  return "";
}

}  // namespace

Result<std::vector<DimensionRow>> read_dimension(Dimension dimension,
                                                 const std::string& directory) {
  const auto& shape = olap::shape(dimension);
  HF_ASSIGN_OR_RETURN(const auto table,
                      TextTable::open(directory + "/" + std::string(shape.table) + ".tbl"));
  std::vector<DimensionRow> rows;
  std::unordered_set<std::uint32_t> keys;
  std::vector<std::string_view> fields(shape.file_columns);
  BadLines bad;
  std::uint64_t number = 0;
  for (std::uint64_t piece = 0; piece < table.pieces(); ++piece) {
    HF_ASSIGN_OR_RETURN(const auto bytes, table.read(piece));
    for (std::string_view text = bytes; !text.empty();) {
      const auto line = take_line(text);
      DimensionRow row;
      ++number;
      auto wrong = split_fields(line, fields) ? parse_dimension_row(shape, fields, row)
                                              : bad_count(fields.size());
      if (wrong.empty() && !keys.insert(row.key).second)
        wrong = bad_field("the key", fields[0], "a line before has the same");
      if (wrong.empty())
        rows.push_back(std::move(row));
      else
        bad.add(number, std::move(wrong));
    }
  }
  HF_RETURN_IF_ERROR(bad.status(table.path()));
  return rows;
}

std::vector<DimensionRow> all_rows(const Generator& generator, Dimension dimension) {
  std::vector<DimensionRow> rows(generator.rows(dimension));
  for (std::uint32_t row = 0; row < rows.size(); ++row)
    rows[row] = generator.row(dimension, row);
  return rows;
}

}  // namespace holdfast::olap::ssb
