// assets.hpp: the files that the report and its matching are made of, embedded at build time
// (cmake/Embed.cmake), so that the command needs nothing beside it.
#pragma once

#include <string_view>

namespace holdfast::results::report {

extern const std::string_view kPage;       // page.html, with @TITLE@, @STYLE@, @DATA@, @SCRIPT@
extern const std::string_view kStyle;      // style.css
extern const std::string_view kBase;       // base.js: the script, in this order
extern const std::string_view kWords;      // words.js
extern const std::string_view kFrame;      // frame.js
extern const std::string_view kCharts;     // charts.js
extern const std::string_view kBenchmark;  // benchmark.js
extern const std::string_view kAnswers;    // answers.js
extern const std::string_view kSections;   // page.js
extern const std::string_view kNumbers;    // data/published/numbers.csv
extern const std::string_view kHardware;   // data/published/hardware.csv
extern const std::string_view kPapers;     // data/published/papers.csv
extern const std::string_view kMatches;    // data/published/matches.csv

}  // namespace holdfast::results::report
