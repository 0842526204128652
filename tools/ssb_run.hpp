// ssb_run.hpp: the star that a verb of `holdfast ssb` means, and its queries timed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/places.hpp>
#include <holdfast/olap/star_store.hpp>

namespace holdfast::tools {

struct SsbArguments {
  std::optional<double> scale;
  std::string tables;  // A directory of .tbl files.
  std::uint64_t seed = 1;
  std::string region, size;
  unsigned threads = 1;
  std::string queries = "all", kernel = "auto", format = "csv", out;
  std::string order = "loaded";
  std::string layout;  // "row", "column", or empty: as the star is, else column.
  std::string pin = "auto";
  std::string index = "dram";   // Where the indexes of a star of rows are built.
  std::string compare, python;  // Names with commas; empty: HOLDFAST_PEER_PYTHON, or python3.
  unsigned repeat = 5;
  bool json = false;
};

// The machine and the build, for JSON.
nlohmann::ordered_json environment_json();

// "auto", "none", "node", "core".
olap::Pinning pinning_of(std::string_view word);

struct OpenStar {
  std::unique_ptr<Region> region;
  std::unique_ptr<olap::StarStore> store;  // Loaded.
};

// The star in the region; loaded now where a scale or tables are given. Without a region it is in
// DRAM, in stripes over `nodes` where these are several. Says what it did on standard error.
Result<OpenStar> open_star(const SsbArguments& arguments, std::span<const int> nodes = {});

// Prints the table or JSON, writes the answers. Errors: also of writing.
Status run_queries(const SsbArguments& arguments);

}  // namespace holdfast::tools
