#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/kv/format.hpp>
#include <holdfast/memory/spec.hpp>

#include "console.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

Status check_outlives_us(const std::string& spec) {
  if (ends_with_us(spec)) {
    return Error{
        Errc::kInvalidOption,
        fmt::format(
            "store '{}' is memory that ends with this command; name a path or a /dev/daxX.Y (a "
            "directory called so: ./{})",
            spec, spec)};
  }
  if (spec.empty())
    return Error{Errc::kInvalidOption,
                 "the store's path is empty; name a directory, file or device"};
  return ok_status();
}

// The path in a spec: without its options.
std::string path_of(const std::string& spec) {
  const auto parsed = RegionSpec::parse(spec);
  return parsed && parsed->kind == RegionSpec::Kind::kPath ? parsed->path : std::string();
}

// A file of somebody else is told by its first bytes, whatever its size: it is not damaged, it is
// no store. (Bytes of zero are a file that was made to become one.)
Status check_is_no_other_file(const std::string& spec) {
  const std::string path = path_of(spec);
  struct stat status{};
  if (path.empty() || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size == 0)
    return ok_status();
  std::uint64_t first = 0;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&first), sizeof first);
  if (first == kv::kMagic || first == kv::kRestoringMagic) return ok_status();
  if (status.st_size % 4096 == 0 && first == 0) return ok_status();
  return Error{Errc::kNotHoldfast,
               fmt::format("{} is a file of {} that does not begin as a Holdfast store does", path,
                           counted(static_cast<std::uint64_t>(status.st_size), "byte"))};
}

std::string remedy_of_absence(const std::string& spec) {
  std::error_code unknown;
  const auto parent = std::filesystem::absolute(path_of(spec), unknown).parent_path();
  if (parent.string().starts_with("/dev")) return {};  // The message names the devices.
  if (!unknown && !std::filesystem::exists(parent, unknown))
    return fmt::format("Its directory does not exist: mkdir -p {}", parent.string());
  return fmt::format("`holdfast kv {} put KEY VALUE` or `… import FILE` creates a store.", spec);
}

std::string remedy(const std::string& spec, const Error& error) {
  switch (error.code) {
    case Errc::kBusy:
      return "Readers share a store, a writer needs it alone: end that process, or try again when "
             "it is done.";
    case Errc::kNotFound:
      if (error.detail.starts_with("there is no keyspace"))
        return fmt::format(
            "`holdfast kv {0} create-space NAME` creates one, `… spaces` lists them.", spec);
      if (error.detail.find("has no mark") != std::string::npos)
        return fmt::format("`holdfast kv {} mark` makes one, of the present moment.", spec);
      return remedy_of_absence(spec);
    case Errc::kNotHoldfast:
      return "Name a store, or for a new one a path that does not exist or an empty directory.";
    case Errc::kNewerFormat:
      return "Read it with the version that wrote it, or build a newer holdfast; nothing was "
             "changed.";
    case Errc::kWrongType:
      return "A program with fixed key and value types made it, and that program writes to it. "
             "Here get, list, scan, count, export, erase, expiry, stats, verify, reclaim, mark, "
             "rewind, backup and restore work.";
    case Errc::kCorrupt:
      return fmt::format(
          "`holdfast kv {0} verify` names the damage; `holdfast kv {0} export` saves what is "
          "intact.",
          spec);
    case Errc::kNoSpace:
      return "Reads and erases still work; erase records or make room, then try again.";
    case Errc::kReadOnly:
      return "If a sync failed, close every user of the store and open it again to see what is "
             "there.";
    default: return {};
  }
}

// A store of programs with fixed types answers kWrongType first: `typed` tells that it was one.
Result<kv::Store<>> open_any(const std::string& spec, kv::StoreOptions options, bool* typed) {
  auto store = kv::Store<>::open(spec, options);
  if (store || store.code() != Errc::kWrongType || typed == nullptr) return store;
  *typed = true;
  options.any_shape = true;
  return kv::Store<>::open(spec, options);
}

}  // namespace

std::string error_document(std::string_view kind, std::string_view message, std::string_view help) {
  std::string text = "{\"error\":{";
  append_json_member(text, "kind", kind);
  // A path may be any bytes; a program looks for "message", whatever they are.
  text += ",\"message\":";
  append_json_string(text, is_valid_utf8(message) ? std::string(message) : visible(message));
  if (!help.empty()) {
    text += ",\"remedy\":";
    append_json_string(text, is_valid_utf8(help) ? std::string(help) : visible(help));
  }
  return text + "}}\n";
}

void print_error(const KvTarget& target, std::string_view kind, const std::string& message,
                 const std::string& help) {
  complain(kKvCommand, message, help);
  if (target.json) standard_output().write(error_document(kind, message, help));
}

int refuse(const KvTarget& target, const std::string& message, const std::string& help) {
  print_error(target, kind_of(Errc::kInvalidOption), message, help);
  return kExitBadRequest;
}

Result<kv::Store<>> open_for_reading(const KvTarget& target, bool* typed, bool order) {
  HF_RETURN_IF_ERROR(check_outlives_us(target.spec));
  HF_RETURN_IF_ERROR(check_is_no_other_file(target.spec));
  kv::StoreOptions options;
  options.at_mark = target.at_mark;
  options.access = RegionAccess::kOpenReadOnly;
  options.verify_reads = true;  // What is printed is what was put.
  options.order = order || target.ordered;
  options.background = false;
  options.reclaim.background = false;
  return open_any(target.spec, options, typed);
}

Result<kv::Store<>> open_for_writing(const std::string& spec, RegionAccess access, bool background,
                                     bool* typed, bool order) {
  HF_RETURN_IF_ERROR(check_outlives_us(spec));
  HF_RETURN_IF_ERROR(check_is_no_other_file(spec));
  kv::StoreOptions options;
  options.access = access;
  options.verify_reads = true;
  options.order = order;
  options.background = background;
  options.reclaim.background = background;
  return open_any(spec, options, typed);
}

Result<kv::Store<>> open_for_reclaiming(const std::string& spec, bool at_mark) {
  HF_RETURN_IF_ERROR(check_outlives_us(spec));
  HF_RETURN_IF_ERROR(check_is_no_other_file(spec));
  kv::StoreOptions options;
  options.access = RegionAccess::kOpen;
  options.at_mark = at_mark;
  options.background = false;
  options.reclaim.background = false;
  bool typed = false;
  return open_any(spec, options, &typed);
}

int report_unreadable(const KvTarget& target, const std::string& file, int error) {
  print_error(target, kind_of(error == ENOENT ? Errc::kNotFound : Errc::kIo),
              fmt::format("cannot read '{}': {}", file, std::strerror(error)));
  return kExitBadRequest;
}

int report_error(const KvTarget& target, const Error& error) {
  // Which store it is about, where the message does not say so itself.
  const bool named = target.spec.empty() || error.detail.find(target.spec) != std::string::npos;
  print_error(target, kind_of(error.code), (named ? "" : target.spec + ": ") + plain(error),
              remedy(target.spec, error));
  return exit_code_of(error.code);
}

int print_done(const KvTarget& target, std::string_view outcome, const Survival& survival) {
  if (target.json)
    out("{{\"outcome\":\"{}\",\"durability\":\"{}\"}}\n", outcome, survival.level);
  else
    out("{}; {}\n", outcome, survival.words);
  return kExitDone;
}

int report_error(const std::string& command, const std::string& spec, const Error& error) {
  const bool named = spec.empty() || error.detail.find(spec) != std::string::npos;
  complain(command, (named ? "" : spec + ": ") + plain(error), remedy(spec, error));
  return exit_code_of(error.code);
}

int report_miss(const KvTarget& target, std::string_view key, bool damaged, bool typed) {
  print_error(target, "no_record",
              fmt::format("no {}record '{}'", damaged ? "intact " : "", visible(key)),
              typed ? "The store has keys of one size, made by a program: write KEY as hex digits "
                      "with --key-as hex."
                    : "");
  return kExitFailed;
}

bool lies_in(const std::string& path, const std::string& directory) {
  std::error_code unknown;
  const auto outer = std::filesystem::weakly_canonical(directory, unknown);
  const auto inner = std::filesystem::weakly_canonical(path, unknown);
  return !outer.empty() &&
         std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

bool lies_in_store(const std::string& path, const std::string& spec) {
  return lies_in(path, path_of(spec));
}

bool warn_of_damage(const std::string& command, const std::string& spec, const kv::Store<>& store) {
  const std::vector<kv::Defect>& defects = store.recovery().defects;
  if (defects.empty()) return false;
  complain(command,
           fmt::format("{} is damaged in {}; what is intact follows. The first, at byte {}: {}",
                       spec, counted(defects.size(), "place"), defects.front().offset,
                       visible(defects.front().what)),
           fmt::format("`holdfast kv {} verify` names them all.", spec));
  return true;
}

Survival survival_of(const RegionReport& region) {
  const std::string place = region.file_system.empty() ? region.kind : region.file_system;
  switch (region.granularity) {
    case Granularity::kNone:
      return {"process",
              fmt::format("survives the death of the process; no power durability ({})", place)};
    case Granularity::kPage:
      return {"power", fmt::format("survives power loss (synced to {})", place)};
    default:
      if (region.power_is_assumed()) {
        return {
            "assumed",
            fmt::format("survives the death of the process; survives power loss ONLY IF {} keeps "
                        "what was flushed from the CPU, as the store was told ({})",
                        place, region.granularity_source)};
      }
      return {"power",
              fmt::format("survives power loss ({}, {})", place, region.granularity_source)};
  }
}

namespace {

// Nothing runs in the background of a command that writes one record, and each leaves a block
// behind that holds no more than that record. So it tidies up itself once such blocks outweigh what
// is live.
Status tidy(kv::Store<>& store) {
  const kv::StoreStats stats = store.stats();
  if (stats.used_bytes <= 2 * stats.live_bytes + 8 * MiB) return ok_status();
  return store.reclaim();
}

}  // namespace

Result<Survival> settle(kv::Store<>& store) {
  HF_RETURN_IF_ERROR(store.sync());
  const Survival survival = survival_of(store.region_report());
  // No room to tidy up in is no failure of a write that is already durable.
  if (const Status tidied = tidy(store); !tidied && tidied.code() != Errc::kNoSpace)
    return tidied.error();
  HF_RETURN_IF_ERROR(store.close());
  return survival;
}

}  // namespace holdfast::tools
