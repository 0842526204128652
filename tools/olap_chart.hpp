// olap_chart.hpp: an answer as bars or lines: one HTML file that opens offline, without a script.
//
// The first column is what the bars are of, or the axis of the lines; each column of numbers behind
// it is a series. Numbers stand in a table below.
//
// Errors  kInvalidOption: no row, no column of numbers behind the first, more than kMaxPlaces rows.
#pragma once

#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/olap/mart/star_answer.hpp>

namespace holdfast::tools {

inline constexpr std::size_t kMaxPlaces = 1000;

enum class ChartKind : bool { kBars, kLines };

Result<std::string> chart_page(const olap::mart::StarAnswer& answer, ChartKind kind,
                               const std::string& title);

}  // namespace holdfast::tools
