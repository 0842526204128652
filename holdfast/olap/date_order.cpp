#include <holdfast/olap/date_order.hpp>

#include <algorithm>

#include <holdfast/olap/in_order.hpp>

namespace holdfast::olap {

// All rows, by counting those of each day.
std::vector<DateOrder::Place> DateOrder::by_day() const {
  const auto day = [&](Place place) {
    return value(place, column(Dimension::kDate, Digit::kOuter)) * 256 +
           value(place, column(Dimension::kDate, Digit::kInner));
  };
  const auto each = [&](const auto& visit) {
    for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
      for (std::uint32_t row = 0; row < blocks_[block].info.rows; ++row)
        visit(Place{block, row});
    }
  };
  std::vector<std::uint64_t> next(65'537);
  each([&](Place place) { ++next[day(place) + 1]; });
  for (std::size_t i = 1; i < next.size(); ++i)
    next[i] += next[i - 1];
  std::vector<Place> places(next.back());
  each([&](Place place) { places[next[day(place)]++] = place; });
  return places;
}

Status DateOrder::write(StarWriter& writer, unsigned threads) const {
  const auto places = by_day();
  const auto make = [&](std::uint64_t piece) -> Result<EncodedBlock> {
    const auto begin = piece * kUsualBlockRows;
    const auto end = std::min<std::uint64_t>(begin + kUsualBlockRows, places.size());
    FactRows rows;
    for (Column column = 0; column < kColumns; ++column) {
      rows.columns[column].reserve(end - begin);
      for (auto at = begin; at < end; ++at)
        rows.columns[column].push_back(value(places[at], column));
    }
    return encode_block(rows, 0, rows.size());
  };
  return in_order<EncodedBlock>((places.size() + kUsualBlockRows - 1) / kUsualBlockRows, threads,
                                make,
                                [&](const EncodedBlock& block) { return writer.append(block); });
}

}  // namespace holdfast::olap
