#include <holdfast/crash/failure.hpp>

#include <cstdio>
#include <cstring>

namespace holdfast::crash {

namespace {

constexpr std::size_t kMaxCells = 12;
constexpr std::size_t kMaxStores = 64;

std::string hex(std::uint64_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

// A run of stores that one call made to neighbouring bytes and that share a fate is one row.
struct Row {
  std::uint64_t begin;
  std::uint64_t end;
  bool kept;
  bool streamed;
  std::string site;
  std::uint64_t first_value;
};

void describe_line(const Medium& medium, std::uint32_t line, const CellState& state,
                   std::string& text) {
  std::vector<Row> rows;
  std::uint32_t ordinary = 0;
  unsigned streamed = 0;
  std::size_t kept_count = 0;
  for (const PendingStore& store : medium.pending_stores(line)) {
    bool kept = false;
    if (store.streamed) {
      kept = (state.mask >> streamed & 1) != 0;
      if (streamed < 62) ++streamed;
    } else {
      kept = ordinary++ < state.kept;
    }
    kept_count += kept;
    const std::string site = to_string(store.site);
    if (!rows.empty() && rows.back().end == store.offset && rows.back().kept == kept &&
        rows.back().site == site && rows.back().streamed == store.streamed) {
      rows.back().end += store.bytes;
      continue;
    }
    rows.push_back({store.offset, std::uint64_t{store.offset} + store.bytes, kept, store.streamed,
                    site, store.value});
  }
  const std::uint64_t offset = std::uint64_t{line} * kCacheLineBytes;
  text += "    line at offset " + std::to_string(offset) + ": " + std::to_string(kept_count) +
          " of " + std::to_string(medium.pending_stores(line).size()) + " pending stores kept\n";
  if (rows.size() > kMaxStores) text += "      (the last " + std::to_string(kMaxStores) + ")\n";
  for (std::size_t i = rows.size() > kMaxStores ? rows.size() - kMaxStores : 0; i < rows.size();
       ++i) {
    const Row& row = rows[i];
    text += std::string(row.kept ? "      kept " : "      LOST ") +
            (row.streamed ? "stream " : "store  ") + "+" + std::to_string(row.begin) + ".." +
            std::to_string(row.end) + "  begins " +
            hex(row.first_value, row.end - row.begin < kWordBytes ? 2 : 16) + "  " + row.site +
            "\n";
  }
}

void describe_sector(const Medium& medium, std::uint32_t sector, const CellState& state,
                     std::string& text) {
  const auto versions = medium.pending_versions(sector);
  const auto site = [&](std::uint32_t version) {
    return version == 0 ? std::string("the last sync") : to_string(versions[version - 1].site);
  };
  text += "    sector at offset " + std::to_string(std::uint64_t{sector} * kSectorBytes) +
          ": version " + std::to_string(state.kept) + " of " + std::to_string(versions.size()) +
          " (" + site(state.kept) + ")";
  if (state.mask != 0) {
    text += ", torn: words " + hex(state.mask, 16) + " of version " + std::to_string(state.over) +
            " (" + site(state.over) + ")";
  }
  text += "\n";
}

}  // namespace

std::string describe_state(const Medium& medium, std::span<const std::uint32_t> cells,
                           std::span<const CellState> states) {
  std::size_t durable = 0;
  std::size_t newest = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    durable += states[i] == CellState{};
    newest += states[i] == medium.newest(cells[i]);
  }
  const bool from_newest = newest > durable;
  const std::size_t differing = cells.size() - (from_newest ? newest : durable);
  const char* const what = medium.page_mode() ? "sectors" : "lines";
  std::string text = "    " + std::to_string(cells.size()) + " " + what + " pending; " +
                     std::to_string(differing) + " of them differ from \"" +
                     (from_newest ? "everything kept" : "nothing kept") + "\"\n";
  std::size_t shown = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (states[i] == (from_newest ? medium.newest(cells[i]) : CellState{})) continue;
    if (++shown > kMaxCells) {
      text += "    and " + std::to_string(differing - kMaxCells) + " more\n";
      break;
    }
    medium.page_mode() ? describe_sector(medium, cells[i], states[i], text)
                       : describe_line(medium, cells[i], states[i], text);
  }
  return text;
}

}  // namespace holdfast::crash
