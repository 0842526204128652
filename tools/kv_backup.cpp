// backup, restore: a store into a directory, and back.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <holdfast/kv/backup.hpp>
#include <nlohmann/json.hpp>

#include "console.hpp"
#include "kv_keys.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

using Json = nlohmann::ordered_json;
std::string bytes_text(std::uint64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

// What a copy shows while it runs.
class CopyProgress {
 public:
  explicit CopyProgress(const char* verb) : verb_(verb) {}
  void operator()(std::uint64_t done, std::uint64_t all) {
    if (!line_.due()) return;
    line_.show(fmt::format("{} {} of {}, {} %", verb_, bytes_text(done), bytes_text(all),
                           all == 0 ? 100 : done * 100 / all));
  }
  void finish() { line_.finish(); }

 private:
  const char* verb_;
  ProgressLine line_{true};
};

// Of what went wrong in a directory of backups, or between it and `store`, which may be empty.
int report_directory(const KvTarget& target, const std::string& directory, const Error& error,
                     const std::string& store = {}) {
  const bool named = error.detail.find(directory) != std::string::npos ||
                     (!store.empty() && error.detail.find(store) != std::string::npos);
  std::string help;
  std::error_code unknown;
  const auto parent =
      std::filesystem::absolute(directory, unknown).lexically_normal().parent_path();
  if (error.code == Errc::kNotFound && !std::filesystem::exists(parent, unknown))
    help = fmt::format("Its directory does not exist: mkdir -p {}", parent.string());
  else if (error.code == Errc::kNotFound)
    help =
        "`holdfast kv STORE backup DIR` makes backups; `holdfast kv backup --list DIR` names them.";
  if (error.code == Errc::kCorrupt)
    help = "`holdfast kv backup --verify DIR` names all damage; older backups may be sound.";
  print_error(target, kind_of(error.code), (named ? "" : directory + ": ") + plain(error), help);
  return exit_code_of(error.code);
}

// Whatever takes the store must not take its backups.
Status check_is_elsewhere(const std::string& spec, const std::string& directory) {
  if (directory.empty())
    return Error{Errc::kInvalidOption, "DIR is empty; name a directory for the backups"};
  if (!lies_in_store(directory, spec)) return {};
  return Error{
      Errc::kInvalidOption,
      fmt::format("{} is in the store {}, and would go with it; name a directory elsewhere",
                  directory, spec)};
}

int print_backups(const KvTarget& target, const std::string& directory) {
  const auto backups = kv::list_backups(directory);
  if (!backups) return report_directory(target, directory, backups.error());
  bool sound = true;
  for (const kv::BackupInfo& backup : *backups) {
    sound = sound && backup.defect.empty();
    if (target.json && !backup.defect.empty()) {
      out("{}\n", Json{{"backup", backup.number}, {"defect", backup.defect}}.dump(
                      -1, ' ', false, Json::error_handler_t::replace));
    } else if (!backup.defect.empty()) {
      out("{}\t{}: {}\n", backup.number, ink(stdout, Ink::kBad, "damage"), visible(backup.defect));
    } else if (target.json) {
      out("{}\n", Json{{"backup", backup.number},
                       {"version", backup.version},
                       {"runs", backup.runs},
                       {"bytes", backup.bytes},
                       {"medium_bytes", backup.medium_bytes}}
                      .dump());
    } else {
      out("{}\t{}\t{}\n", backup.number, counted(backup.runs, "run"), bytes_text(backup.bytes));
    }
  }
  return sound ? kExitDone : kExitFailed;
}

int verify(const KvTarget& target, const std::string& directory) {
  CopyProgress progress("checked");
  const auto verified = kv::verify_backup(directory, kv::Progress(progress));
  progress.finish();
  if (!verified) return report_directory(target, directory, verified.error());
  if (target.json) {
    out("{}\n", Json{{"directory", directory},
                     {"ok", verified->defects.empty()},
                     {"backups", verified->backups},
                     {"runs", verified->runs},
                     {"bytes", verified->bytes},
                     {"defects", verified->defects}}
                    .dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    for (const std::string& defect : verified->defects)
      out("{}: {}\n", ink(stdout, Ink::kBad, "damage"), visible(defect));
    out("{}: {}, {}, {} read and checked\n",
        verified->defects.empty()
            ? ink(stdout, Ink::kGood, "sound")
            : ink(stdout, Ink::kBad, counted(verified->defects.size(), "defect")),
        counted(verified->backups, "backup"), counted(verified->runs, "run"),
        bytes_text(verified->bytes));
  }
  return verified->defects.empty() ? kExitDone : kExitFailed;
}

}  // namespace

int kv_backup(const KvTarget& target, const BackupArguments& arguments) {
  if (arguments.list) return print_backups(target, arguments.directory);
  if (arguments.verify) return verify(target, arguments.directory);
  if (const auto elsewhere = check_is_elsewhere(target.spec, arguments.directory); !elsewhere)
    return report_directory(target, arguments.directory, elsewhere.error());
  auto store = open_for_reclaiming(target.spec);
  if (!store) return report_error(target, store.error());
  CopyProgress progress("copied");
  kv::BackupOptions options;
  options.keep = arguments.keep;
  options.progress.emplace(progress);
  const auto report = kv::backup(*store, arguments.directory, options);
  progress.finish();
  if (!report) return report_directory(target, arguments.directory, report.error());
  if (const Status closed = store->close(); !closed) return report_error(target, closed.error());
  if (target.json) {
    out("{}\n", Json{{"store", target.spec},
                     {"directory", arguments.directory},
                     {"backup", report->number},
                     {"version", report->version},
                     {"runs", report->runs},
                     {"bytes", report->bytes},
                     {"copied_runs", report->copied_runs},
                     {"copied_bytes", report->copied_bytes},
                     {"removed_backups", report->removed_backups},
                     {"checkpoint_seconds", report->checkpoint_seconds},
                     {"rested_seconds", report->rested_seconds},
                     {"seconds", report->seconds}}
                    .dump(2, ' ', false, Json::error_handler_t::replace));
    return kExitDone;
  }
  out("backup {} of {}, {}; copied {}, {}, in {}\n", report->number, counted(report->runs, "run"),
      bytes_text(report->bytes), counted(report->copied_runs, "run"),
      bytes_text(report->copied_bytes), human_seconds(report->seconds));
  if (report->removed_backups != 0)
    out("removed {} older\n", counted(report->removed_backups, "backup"));
  return kExitDone;
}

int kv_restore(const KvTarget& target, const RestoreArguments& arguments) {
  const KvTarget restored_store{arguments.store, {}, false, target.json};
  if (lies_in(arguments.store, arguments.directory)) {
    return refuse(target, fmt::format("{} is in {}, which is for backups; name a store elsewhere",
                                      arguments.store, arguments.directory));
  }
  std::error_code unknown;
  const bool was_there = std::filesystem::exists(arguments.store, unknown);
  CopyProgress progress("restored");
  const auto restored = kv::restore_backup(arguments.directory, arguments.store, arguments.number,
                                           {}, kv::Progress(progress));
  progress.finish();
  if (!restored) {
    const int code =
        report_directory(target, arguments.directory, restored.error(), arguments.store);
    const bool of_another =  // Another process, which was faster.
        restored.code() == Errc::kBusy || restored.code() == Errc::kAlreadyExists;
    if (!was_there && !of_another && std::filesystem::exists(arguments.store, unknown))
      note("{} was begun and holds no store; remove it before the next try\n", arguments.store);
    return code;
  }
  // Another process may be at it already: one that was to restore there, too, and looks what it is.
  bool typed = false;  // Of a program with fixed types: counted like any other.
  auto store = open_for_reading(restored_store, &typed);
  if (!store && store.code() != Errc::kBusy) return report_error(restored_store, store.error());
  if (target.json) {
    out("{}\n", Json{{"store", arguments.store},
                     {"directory", arguments.directory},
                     {"backup", restored->number},
                     {"version", restored->version},
                     {"records", store ? Json(records_of(*store)) : Json()},
                     {"bytes", restored->bytes}}
                    .dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    out("restored backup {} into {}: {}, {}\n", restored->number, arguments.store,
        store ? counted(records_of(*store), "record") : "another process has it open",
        bytes_text(restored->bytes));
  }
  return kExitDone;
}

}  // namespace holdfast::tools
