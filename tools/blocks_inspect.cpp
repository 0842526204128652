#include "blocks_inspect.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <holdfast/base/format.hpp>
#include <holdfast/blocks/log/log.hpp>
#include <holdfast/blocks/page/page_store.hpp>
#include <holdfast/index/dash/byte_dash.hpp>
#include <holdfast/index/dash/dash.hpp>
#include <holdfast/index/fastfair/fastfair.hpp>
#include <holdfast/index/fptree/fptree.hpp>
#include <holdfast/memory/superblock.hpp>

#include "console.hpp"
#include "text_encoding.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kBlocksCommand = "holdfast blocks";

struct InspectRequest {
  std::string spec;
  std::optional<std::uint64_t> offset;
  std::uint64_t from = 0, limit = 0;
  Encoding output = Encoding::kText;
  bool json = false;
};

// What was found at one place of the region.
struct Found {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // That it uses; 0: not known, or not to be opened.
  std::string kind;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> damage;
  bool checked = false;  // As far as verify can.
};

Result<Region> open_region(const InspectRequest& request) {
  RegionOptions options;
  options.access = RegionAccess::kOpenReadOnly;
  options.tolerate_damage = true;
  return Region::open(request.spec, options);
}

// ---- One structure ----

// Goes through a log from `from` on. `visit(lsn, record)` until it returns false; damage is left
// out, and named.
void walk(const blocks::Log& log, std::uint64_t from, std::vector<std::string>& damage,
          const std::function<bool(std::uint64_t, blocks::Record)>& visit) {
  auto reader = log.read({from});
  for (;;) {
    const auto next = reader.next();
    if (!next) {
      damage.push_back(next.error().detail);
      if (reader.skip_damage()) continue;
      return;
    }
    if (!*next || !visit(reader.lsn().value, reader.record())) return;
  }
}

std::string number(std::uint64_t value) { return with_separators(value); }

void look_at(const blocks::Log& log, bool verify, Found& found) {
  const auto& options = log.options();
  found.bytes = log.size_bytes();
  found.facts = {
      {"segments",
       fmt::format("{} of {}, {} free", (found.bytes - kPageBytes) / options.segment_bytes,
                   format_bytes(options.segment_bytes), log.free_segments())},
      {"lanes", number(options.lanes)},
      {"frames", fmt::format("{}, {}", blocks::name(options.format),
                             options.padded ? "padded to lines" : "dense")},
      {"head", number(log.head().value)},
      {"last LSN at most", number(log.stable().value)}};
  if (!verify) return;
  std::uint64_t records = 0, bytes = 0;
  walk(log, 0, found.damage, [&](std::uint64_t, blocks::Record record) {
    ++records, bytes += record.size();
    return true;
  });
  found.facts.emplace_back("records", fmt::format("{}, {}: read and checked", number(records),
                                                  human_bytes(static_cast<double>(bytes))));
  found.checked = true;
}

void look_at(const blocks::PageStore& store, bool verify, Found& found) {
  std::uint64_t used = 0;
  for (auto page = store.next_page(); page; page = store.next_page({page->value + 1}))
    ++used;
  found.bytes = store.size_bytes();
  found.facts = {{"pages", fmt::format("{} of {} are used, {} each", number(used),
                                       number(store.pages()), format_bytes(store.page_bytes()))}};
  if (!verify) return;
  found.facts.emplace_back("checked",
                           "headers, freed words and micro logs; contents of pages "
                           "carry no checksum");
  found.checked = true;
}

// visit() for each record: the first access to each part of an index checks it.
template <class Index>
Status visit_all(const Index& index, std::uint64_t& records) {
  if constexpr (requires { index.scan(0, [](std::uint64_t, std::uint64_t) { return true; }); }) {
    return index.scan(0, [&](std::uint64_t, std::uint64_t) { return ++records, true; });
  } else {
    return index.for_each([&](const auto&, const auto&) { ++records; });
  }
}

void add_shape(const index::Dash& dash, Found& found) {
  found.facts.emplace_back(
      "segments", fmt::format("{} of {}", number(dash.segments()), number(dash.segments_max())));
}
void add_shape(const index::ByteDash& dash, Found& found) { add_shape(dash.dash(), found); }
void add_shape(const index::FpTree& tree, Found& found) {
  found.facts.emplace_back(
      "leaves", fmt::format("{} of {}", number(tree.leaves()), number(tree.leaves_max())));
}
void add_shape(const index::FastFair& tree, Found& found) {
  found.facts.emplace_back("nodes",
                           fmt::format("{} of {}", number(tree.nodes()), number(tree.nodes_max())));
}

template <class Index>
void look_at_index(Region& region, const blocks::Extent& extent, bool verify, Found& found) {
  const auto index = Index::open(region, extent);
  if (!index) {
    found.damage.push_back(plain(index.error()));
    return;
  }
  add_shape(**index, found);
  if (!verify) return;
  std::uint64_t records = 0;
  if (const auto all = visit_all(**index, records); !all)
    found.damage.push_back(plain(all.error()));
  else
    found.facts.emplace_back(
        "records",
        fmt::format("{}: each lies where its key belongs{}", number(records),
                    std::is_same_v<Index, index::ByteDash> ? ", and is whole"
                                                           : "; values carry no checksum"));
  found.checked = true;
}

// What begins at `offset`; false if nothing of Holdfast's does.
bool look(Region& region, std::uint64_t offset, bool verify, Found& found) {
  const blocks::Extent extent{offset, region.size_bytes() - offset};
  const auto kind = what_lies_here(region, extent);
  if (kind.empty()) return false;
  found.offset = offset;
  found.kind = kind;
  const auto failed = [&](const Error& error) { found.damage.push_back(plain(error)); };
  if (kind.starts_with("a log")) {
    if (const auto log = blocks::Log::open(region, extent))
      look_at(*log, verify, found);
    else
      failed(log.error());
  } else if (kind.starts_with("a page store")) {
    blocks::PageStoreOptions options;
    options.method = blocks::FlushMethod::kCopyOnWrite;  // Nothing is measured.
    if (const auto store = blocks::PageStore::open(region, extent, options))
      look_at(**store, verify, found);
    else
      failed(store.error());
  } else if (kind == "a Dash index") {
    look_at_index<index::Dash>(region, extent, verify, found);
  } else if (kind == "a Dash index of bytes") {
    look_at_index<index::ByteDash>(region, extent, verify, found);
  } else if (kind == "an FP-Tree") {
    look_at_index<index::FpTree>(region, extent, verify, found);
  } else if (kind == "a FAST+FAIR tree") {
    look_at_index<index::FastFair>(region, extent, verify, found);
  } else if (kind == "a key-value store") {
    found.facts = {{"see", "holdfast kv SPEC stats, and verify"}};
  } else if (verify) {
    found.facts = {{"checked", "nothing: this verb does not know how"}};
  }
  return true;
}

// Every structure that begins at a page of the region, in order; within one that could be opened
// nothing is looked for.
std::vector<Found> look_through(Region& region, const InspectRequest& request, bool verify) {
  std::vector<Found> all;
  const std::uint64_t begin = request.offset.value_or(0);
  for (std::uint64_t at = begin; at + kPageBytes <= region.size_bytes();) {
    Found found;
    const bool here = look(region, at, verify, found);
    at += here ? std::max(kPageBytes, round_up(found.bytes, kPageBytes)) : kPageBytes;
    if (here) all.push_back(std::move(found));
    if (request.offset) break;
  }
  return all;
}

// ---- The verbs ----

int refuse(const InspectRequest& request, const Error& error) {
  complain(kBlocksCommand, request.spec + ": " + plain(error));
  return exit_code_of(error.code);
}

// An offset that no structure can have.
std::optional<Error> wrong_offset(const InspectRequest& request, const Region& region) {
  if (!request.offset ||
      (*request.offset % kPageBytes == 0 && *request.offset < region.size_bytes()))
    return std::nullopt;
  return Error{Errc::kInvalidOption,
               fmt::format("--offset {}: a multiple of 4096 below the region's {} bytes is allowed",
                           *request.offset, region.size_bytes())};
}

int nothing_found(const InspectRequest& request) {
  complain(kBlocksCommand, request.spec + ": nothing of Holdfast's begins here",
           "A store opened with ?granularity=line is looked at with it, too.");
  return kExitFailed;
}

Json to_json(const Found& found) {
  Json one = {
      {"offset_bytes", found.offset}, {"used_bytes", found.bytes == 0 ? Json() : Json(found.bytes)},
      {"kind", found.kind},           {"ok", found.damage.empty()},
      {"facts", Json::object()},      {"damage", found.damage}};
  for (const auto& [name, value] : found.facts)
    one["facts"][name] = value;
  return one;
}

int inspect(const InspectRequest& request, bool verify) {
  auto region = open_region(request);
  if (!region) return refuse(request, region.error());
  if (const auto wrong = wrong_offset(request, *region)) return refuse(request, *wrong);
  const auto all = look_through(*region, request, verify);
  bool ok = true;
  for (const auto& found : all)
    ok = ok && found.damage.empty();
  if (request.json) {
    Json document = {{"region", request.spec},
                     {"bytes", region->size_bytes()},
                     {"ok", ok && !all.empty()},
                     {"structures", Json::array()}};
    for (const auto& found : all)
      document["structures"].push_back(to_json(found));
    out("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    for (const auto& found : all) {
      out("{} at offset {}\n", ink(stdout, Ink::kBold, found.kind), found.offset);
      const auto row = [](std::string_view name, std::string_view value) {
        standard_output().write(fit_terminal(fmt::format("  {:<18} {}\n", name, value)));
      };
      for (const auto& [name, value] : found.facts)
        row(name, value);
      for (const auto& damage : found.damage)
        row(ink(stdout, Ink::kBad, "damage"), visible(damage));
      if (found.checked && found.damage.empty()) row("verdict", ink(stdout, Ink::kGood, "sound"));
    }
  }
  if (all.empty()) return request.json ? kExitFailed : nothing_found(request);
  return ok ? kExitDone : kExitFailed;
}

void print_record(const InspectRequest& request, std::uint64_t lsn, blocks::Record record) {
  const std::string_view bytes(reinterpret_cast<const char*>(record.data()), record.size());
  if (!request.json) {
    out("{}\t{}\n", lsn,
        request.output == Encoding::kText ? visible(bytes) : encode(bytes, request.output));
    return;
  }
  std::string line = fmt::format("{{\"lsn\":{},", lsn);
  append_json_member(line, "record", bytes);
  standard_output().write(line + "}\n");
}

int dump(const InspectRequest& request) {
  auto region = open_region(request);
  if (!region) return refuse(request, region.error());
  if (const auto wrong = wrong_offset(request, *region)) return refuse(request, *wrong);
  // The log that was named, or the first one.
  std::optional<std::uint64_t> at = request.offset;
  if (!at) {
    const auto all = look_through(*region, request, false);
    for (const auto& found : all) {
      if (!at && found.kind.starts_with("a log")) at = found.offset;
    }
    if (!at && all.empty()) return nothing_found(request);
    if (!at) {
      complain(kBlocksCommand,
               fmt::format("{}: it holds no log, but {} at offset {}", request.spec,
                           all.front().kind, all.front().offset),
               "Only records of logs can be printed; `holdfast blocks inspect` shows all of it.");
      return kExitFailed;
    }
  }
  const auto log = blocks::Log::open(*region, {*at, region->size_bytes() - *at});
  if (!log) return refuse(request, log.error());
  std::vector<std::string> damage;
  std::uint64_t printed = 0;
  walk(*log, request.from, damage, [&](std::uint64_t lsn, blocks::Record record) {
    print_record(request, lsn, record);
    ++printed;
    return standard_output().open() && (request.limit == 0 || printed < request.limit);
  });
  for (const auto& what : damage)
    complain(kBlocksCommand, request.spec + ": left out: " + visible(what));
  return damage.empty() ? kExitDone : kExitFailed;
}

CLI::App& add_verb(CLI::App& blocks, const char* name, const char* help, InspectRequest& request) {
  auto& verb = *blocks.add_subcommand(name, help);
  verb.add_option("SPEC", request.spec, "The region: a file, a directory or /dev/daxX.Y")
      ->required();
  verb.add_option("--offset", request.offset,
                  "Only what begins at this byte of the region (default: all of it)");
  verb.add_flag("--json", request.json, "For programs");
  return verb;
}

}  // namespace

void add_blocks_inspection(CLI::App& blocks, int& exit_code) {
  const auto request = std::make_shared<InspectRequest>();
  auto& inspect_verb = add_verb(
      blocks, "inspect", "What lies in a region: logs, page stores, indexes, and where each begins",
      *request);
  inspect_verb.footer(
      "Examples:\n"
      "  holdfast blocks inspect ./queue.region\n"
      "  holdfast blocks inspect '/dev/shm/guide.pages?granularity=line'");
  inspect_verb.callback([request, &exit_code] { exit_code = inspect(*request, false); });
  auto& verify_verb =
      add_verb(blocks, "verify", "The same, and read all that carries a checksum", *request);
  verify_verb.footer(
      "Exit code 1 if anything is damaged; it names the place.\n"
      "Example:\n"
      "  holdfast blocks verify ./queue.region");
  verify_verb.callback([request, &exit_code] { exit_code = inspect(*request, true); });
  auto& dump_verb =
      add_verb(blocks, "dump", "Print the records of a log: LSN, a tab, the record", *request);
  dump_verb.add_option("--from", request->from, "From this LSN on");
  dump_verb.add_option("--limit", request->limit, "At most so many records; 0 is all");
  dump_verb.add_flag_callback(
      "--hex", [request] { request->output = Encoding::kHex; }, "Print bytes as hex digits");
  dump_verb.add_flag_callback(
      "--base64", [request] { request->output = Encoding::kBase64; }, "Print bytes as base64");
  dump_verb.footer(
      "Damaged records are left out and named on standard error; exit code 1 then.\n"
      "Examples:\n"
      "  holdfast blocks dump ./queue.region --limit 10\n"
      "  holdfast blocks dump ./queue.region --json | jq -r .record");
  dump_verb.callback([request, &exit_code] { exit_code = dump(*request); });
}

}  // namespace holdfast::tools
