// report.hpp: results as one HTML file that opens offline.
//
// The page is a template with a style sheet and a script of our own (page.html, style.css, *.js),
// and the results as JSON in a script element. Nothing is loaded from anywhere, which the page's
// own policy enforces. docs/report.md says what it shows.
//
// Guarantee  no text of a result becomes markup: '<' never appears in the data, the script writes
//            text nodes only.
// Threads    pure functions. Errors: kCorrupt, see published.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <holdfast/results/compare.hpp>
#include <holdfast/results/price.hpp>
#include <holdfast/results/result.hpp>

namespace holdfast::results::report {

struct NamedDocument {
  std::string label;  // What the reader calls it: the name of its file.
  Document document;
};

struct ReportOptions {
  std::string title;       // Empty: what the results are about.
  CompareOptions compare;  // Of the first two results, where there are exactly two.
  std::optional<PriceTable> prices;
};

Result<std::string> to_html(const std::vector<NamedDocument>& results,
                            const ReportOptions& options);

}  // namespace holdfast::results::report
