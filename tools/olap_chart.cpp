#include "olap_chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "text_layout.hpp"

namespace holdfast::tools {

using olap::mart::StarAnswer;

namespace {

constexpr double kWidth = 960, kHeight = 420, kLeft = 90, kRight = 20, kTop = 20, kBottom = 110;
// Okabe and Ito's colours, which the colour-blind tell apart.
constexpr std::array<std::string_view, 7> kColours = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                      "#d55e00", "#56b4e9", "#666666"};
constexpr std::string_view kStyle =
    "body{font:15px/1.4 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}h1{font-size:1.2rem;font-weight:600;white-space:pre-wrap;"
    "overflow-wrap:anywhere}"
    // On a phone the picture and the table move within the page; the page is no wider.
    "div{overflow-x:auto}svg{width:100%;min-width:40rem;height:auto}"
    "svg text{font-size:12px;fill:#57606a}"
    "table{border-collapse:collapse;margin-top:1rem}td,th{padding:.15rem .7rem;max-width:24rem;"
    "overflow-wrap:break-word;border-bottom:1px solid #d0d7de;text-align:left}.n{text-align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}";

// On an axis: the distance of two doubles may be beyond the range of a double.
using Number = long double;

std::optional<Number> number_of(const sql::Value& value, const sql::Type& type) {
  if (value.null) return std::nullopt;
  const Number number = type.is_real() ? value.real
                                       : static_cast<Number>(value.number) /
                                             std::pow(Number{10}, type.kind == sql::Kind::kDecimal
                                                                      ? static_cast<int>(type.scale)
                                                                      : 0);
  return std::isfinite(number) ? std::optional<Number>(number) : std::nullopt;
}

std::string cell_of(const sql::Value& value, const sql::Type& type) {
  return value.null ? "NULL" : sql::text_of(value, type);
}

// A step of 1, 2 or 5 times a power of ten, so that about five fit into the span.
Number step_of(Number span) {
  const Number rough = span / 5, power = std::pow(Number{10}, std::floor(std::log10(rough)));
  const Number part = rough / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

class Chart {
 public:
  Chart(const StarAnswer& answer, ChartKind kind, std::vector<std::size_t> series)
      : answer_(answer), kind_(kind), series_(std::move(series)) {
    for (const auto column : series_) {
      for (const auto& row : answer.rows) {
        const auto number = number_of(row[column], answer.types[column]);
        if (!number) continue;
        least_ = std::min(least_, *number);
        most_ = std::max(most_, *number);
      }
    }
    if (most_ == least_) most_ = least_ + 1;
    step_ = step_of(most_ - least_);
    least_ = std::floor(least_ / step_) * step_;
    most_ = std::ceil(most_ / step_) * step_;
  }

  std::string svg() {
    text_ = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n", kWidth, kHeight);
    axes();
    for (std::size_t i = 0; i < series_.size(); ++i)
      kind_ == ChartKind::kBars ? bars(i) : lines(i);
    return text_ + "</svg>\n";
  }

 private:
  double x(double place) const {
    return kLeft + (kWidth - kLeft - kRight) * place / static_cast<double>(answer_.rows.size());
  }
  Number y(Number value) const {
    return kTop + (kHeight - kTop - kBottom) * (most_ - value) / (most_ - least_);
  }
  std::string_view colour(std::size_t series) const { return kColours[series % kColours.size()]; }

  void axes() {
    for (int i = 0; least_ + i * step_ <= most_ + step_ / 2; ++i) {
      const Number value = least_ + i * step_;
      text_ += fmt::format(
          "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
          "text-anchor=\"end\">{:.6g}</text>\n",
          kLeft, y(value), kWidth - kRight, std::abs(value) < step_ / 2 ? "#57606a" : "#d8dee4",
          kLeft - 6, y(value) + 4, std::abs(value) < step_ / 1e6 ? 0 : value);
    }
    const auto rows = answer_.rows.size();
    const auto every = std::max<std::size_t>(1, (rows + 29) / 30);
    for (std::size_t i = 0; i < rows; i += every) {
      const auto label = cell_of(answer_.rows[i][0], answer_.types[0]);
      text_ += fmt::format(
          "<text transform=\"translate({:.1f} {:.1f}) rotate(-40)\" "
          "text-anchor=\"end\">{}</text>\n",
          x(static_cast<double>(i) + 0.5), kHeight - kBottom + 16,
          markup_free(sql::first_characters(label, 18)));
    }
  }

  void bars(std::size_t series) {
    const auto column = series_[series];
    const double width = 0.8 / static_cast<double>(series_.size());
    for (std::size_t i = 0; i < answer_.rows.size(); ++i) {
      const auto& row = answer_.rows[i];
      const auto number = number_of(row[column], answer_.types[column]);
      if (!number) continue;
      const double left = x(static_cast<double>(i) + 0.1 + width * static_cast<double>(series));
      const Number top = y(std::max<Number>(*number, 0)), bottom = y(std::min<Number>(*number, 0));
      text_ += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>"
          "{}: {} = {}</title></rect>\n",
          left, top, x(width) - x(0), bottom - top, colour(series),
          markup_free(cell_of(row[0], answer_.types[0])), markup_free(answer_.names[column]),
          cell_of(row[column], answer_.types[column]));
    }
  }

  // A NULL is a gap. A number between two of them is a point: a line of no length, with round ends.
  void lines(std::size_t series) {
    const auto column = series_[series];
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < answer_.rows.size(); ++i) {
      const auto number = number_of(answer_.rows[i][column], answer_.types[column]);
      if (number)
        path += fmt::format("{}{:.2f} {:.2f}{}", pen_down ? "L" : "M",
                            x(static_cast<double>(i) + 0.5), y(*number), pen_down ? "" : "h0");
      pen_down = number.has_value();
    }
    text_ += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-linecap=\"round\"/>\n",
        path, colour(series));
  }

  const StarAnswer& answer_;
  ChartKind kind_;
  std::vector<std::size_t> series_;
  Number least_ = 0, most_ = 0, step_ = 1;
  std::string text_;
};

std::string html_table(const StarAnswer& answer) {
  std::string text = "<table>\n<tr>";
  for (std::size_t i = 0; i < answer.names.size(); ++i)
    text += fmt::format("<th{}>{}</th>", answer.types[i].is_numeric() ? " class=\"n\"" : "",
                        markup_free(answer.names[i]));
  text += "</tr>\n";
  for (const auto& row : answer.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += fmt::format("<td{}>{}</td>", answer.types[i].is_numeric() ? " class=\"n\"" : "",
                          markup_free(cell_of(row[i], answer.types[i])));
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace

Result<std::string> chart_page(const StarAnswer& answer, ChartKind kind, const std::string& title) {
  std::vector<std::size_t> series;
  for (std::size_t i = 1; i < answer.types.size(); ++i) {
    if (answer.types[i].is_numeric()) series.push_back(i);
  }
  if (answer.rows.empty() || answer.rows.size() > kMaxPlaces || series.empty())
    return Error{Errc::kInvalidOption,
                 fmt::format("--chart: a first column and at least one column of numbers behind it "
                             "are wanted, in 1 to {} rows; the answer has {}, {} of numbers behind "
                             "the first, and {}. GROUP BY and LIMIT make it smaller",
                             kMaxPlaces, counted(answer.types.size(), "column"), series.size(),
                             counted(answer.rows.size(), "row"))};
  std::string legend;
  for (std::size_t i = 0; i < series.size(); ++i)
    legend += fmt::format("<span style=\"color:{}\">&#9632;</span> {} ",
                          kColours[i % kColours.size()], markup_free(answer.names[series[i]]));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>{0}</title>\n<style>{1}</style>\n<h1>{0}</h1>\n<p>{2}</p>\n<div>"
      "{3}</div>\n<div>{4}</div></html>\n",
      markup_free(title), kStyle, legend, Chart(answer, kind, series).svg(), html_table(answer));
}

}  // namespace holdfast::tools
