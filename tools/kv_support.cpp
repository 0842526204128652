#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "console.hpp"
#include "kv_verbs.hpp"

namespace holdfast::tools {
namespace {

Status check_outlives_us(const std::string& spec) {
  if (spec == "dram" || spec.starts_with("dram?") || spec.starts_with("node:")) {
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

std::string remedy(const std::string& spec, const Error& error) {
  switch (error.code) {
    case Errc::kBusy:
      return "Readers share a store, a writer needs it alone: end that process, or try again when "
             "it is done.";
    case Errc::kNotFound:
      return fmt::format("`holdfast kv {} put KEY VALUE` or `… import FILE` creates a store.",
                         spec);
    case Errc::kNotHoldfast:
      return "Name a store, or for a new one a path that does not exist or an empty directory.";
    case Errc::kNewerFormat:
      return "Read it with the version that wrote it, or build a newer holdfast; nothing was "
             "changed.";
    case Errc::kWrongType:
      return "It was made by a program with fixed key and value types; open it with that program.";
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

}  // namespace

Result<kv::Store<>> open_for_reading(const std::string& spec) {
  HF_RETURN_IF_ERROR(check_outlives_us(spec));
  kv::StoreOptions options;
  options.access = RegionAccess::kOpenReadOnly;
  options.background = false;
  options.reclaim.background = false;
  return kv::Store<>::open(spec, options);
}

Result<kv::Store<>> open_for_writing(const std::string& spec, RegionAccess access, bool background,
                                     kv::Durability durability) {
  HF_RETURN_IF_ERROR(check_outlives_us(spec));
  kv::StoreOptions options;
  options.access = access;
  options.background = background;
  options.reclaim.background = background;
  options.durability = durability;
  return kv::Store<>::open(spec, options);
}

int report_error(const std::string& command, const std::string& spec, const Error& error) {
  // Which store it is about, where the message does not say so itself.
  const bool named = spec.empty() || error.detail.find(spec) != std::string::npos;
  complain(command, (named ? "" : spec + ": ") + error.message(), remedy(spec, error));
  return exit_code_of(error.code);
}

bool warn_of_damage(const std::string& command, const std::string& spec, const kv::Store<>& store) {
  const std::vector<kv::Defect>& defects = store.recovery().defects;
  if (defects.empty()) return false;
  complain(
      command,
      fmt::format("{} is damaged in {} places; what is intact follows. The first, at byte {}: {}",
                  spec, defects.size(), defects.front().offset, visible(defects.front().what)),
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
      return {"power",
              fmt::format("survives power loss ({}, {})", place, region.granularity_source)};
  }
}

}  // namespace holdfast::tools
