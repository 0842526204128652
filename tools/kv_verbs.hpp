// kv_verbs.hpp: the verbs of `holdfast kv`, each a function from its arguments to an exit code.
//
// No parsing of command lines here, so no CLI11. Every verb reports its own errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>

#include "import/record_parser.hpp"
#include "text_encoding.hpp"

namespace holdfast::tools {

inline constexpr const char* kKvCommand = "holdfast kv";

struct KvTarget {
  std::string spec;
  std::string space;     // Empty: the store's own keys.
  bool at_mark = false;  // As it was at its mark.
  bool json = false;
  bool ordered = false;  // Keys are in order: list, export, script.
};

struct PutArguments {
  std::string key, value;  // "-": standard input.
  Encoding key_encoding = Encoding::kText, value_encoding = Encoding::kText;
  bool if_absent = false;
};
struct MergeArguments {
  std::string key;
  Encoding key_encoding = Encoding::kText;
  kv::MergeFunction function = kv::MergeFunction::kAdd;
  std::string number;
};
struct KeyArguments {
  std::string key;
  Encoding key_encoding = Encoding::kText;
  Encoding output = Encoding::kText;
  std::optional<std::string> default_value;  // get: printed where there is no such record.
  bool if_exists = false;                    // erase: no such record is no failure.
};
struct ListArguments {
  std::string prefix;
  Encoding key_encoding = Encoding::kText;  // Of prefix, and of the bounds of a scan.
  std::uint64_t limit = 0;                  // 0: all.
  bool keys_only = false;
  Encoding output = Encoding::kText;
};
struct ExpireArguments {
  kv::ExpiryRule rule;  // Its prefix as it was written.
  Encoding key_encoding = Encoding::kText;
};
struct ScanArguments : ListArguments {
  std::string from;               // Keys from this one on.
  std::optional<std::string> to;  // Keys below this one; absent: to the end.
  bool reverse = false;
};
struct ImportArguments {
  std::string file = "-";
  std::optional<RecordFormat> format;  // Absent: told by the file's name, or how it begins.
  std::vector<std::string> key_fields;
  bool header = false;
  std::uint64_t max_record_bytes = Limits{}.record_bytes;
  bool stop_on_error = false;
  std::uint64_t show_skipped = 10;
  kv::Durability durability = kv::Durability::kDefault;
};
struct ExportArguments {
  std::string file = "-";
  std::optional<RecordFormat> format;  // Absent: told by the file's name; else JSON lines.
  std::vector<std::string> key_fields;
  bool header = false;
  bool gzip = false;  // Whatever the file's name.
  std::string prefix;
  Encoding key_encoding = Encoding::kText;  // Of prefix.
};

struct BackupArguments {
  std::string directory;
  bool verify = false, list = false;  // Of the directory; no store is needed.
  std::uint32_t keep = 0;             // 0: all.
};
struct RestoreArguments {
  std::string directory, store;
  std::uint32_t number = 0;  // 0: the newest.
};

struct ScriptArguments {
  std::string file = "-";
};

int kv_put(const KvTarget& target, const PutArguments& arguments);
int kv_get(const KvTarget& target, const KeyArguments& arguments);
int kv_append(const KvTarget& target, const PutArguments& arguments);
int kv_merge(const KvTarget& target, const MergeArguments& arguments);
int kv_erase(const KvTarget& target, const KeyArguments& arguments);
int kv_list(const KvTarget& target, const ListArguments& arguments);
// In the order of the keys, whatever the store keeps.
int kv_scan(const KvTarget& target, const ScanArguments& arguments);
int kv_count(const KvTarget& target);
int kv_import(const KvTarget& target, const ImportArguments& arguments);    // kv_import.cpp
int kv_export(const KvTarget& target, const ExportArguments& arguments);    // kv_export.cpp
int kv_script(const KvTarget& target, const ScriptArguments& arguments);    // kv_script.cpp
int kv_backup(const KvTarget& target, const BackupArguments& arguments);    // kv_backup.cpp
int kv_restore(const KvTarget& target, const RestoreArguments& arguments);  // kv_backup.cpp
int kv_spaces(const KvTarget& target);                                      // kv_spaces.cpp
int kv_create_space(const KvTarget& target, const std::string& name);       // kv_spaces.cpp
int kv_expiry(const KvTarget& target);                                      // kv_expiry.cpp
int kv_expire(const KvTarget& target, const ExpireArguments& arguments);    // kv_expiry.cpp
int kv_clock(const KvTarget& target, std::uint64_t now);                    // kv_expiry.cpp
int kv_drop_space(const KvTarget& target, const std::string& name);         // kv_spaces.cpp
int kv_mark(const KvTarget& target, bool drop);                             // kv_mark.cpp
int kv_rewind(const KvTarget& target);                                      // kv_mark.cpp
// `prometheus`: as its text, else for people.
int kv_stats(const KvTarget& target, bool prometheus);  // kv_inspect.cpp
int kv_verify(const KvTarget& target);                  // kv_inspect.cpp
int kv_reclaim(const KvTarget& target);                 // kv_inspect.cpp

// --- Shared by the verbs, the tour and its child (kv_support.cpp).

// Read verbs: nothing of the store's own runs and nothing is written. `background`: for verbs that
// write for long. Errors are those of Store<>::open, and kInvalidOption for memory that dies with
// us. `typed`, if given, is set for a store of a program with fixed key and value types, which is
// then opened all the same: its bytes mean nothing to people.
Result<kv::Store<>> open_for_reading(const KvTarget& target, bool* typed = nullptr,
                                     bool order = false);  // As with target.ordered.
// `typed` as above: only for what writes no keys and values.
Result<kv::Store<>> open_for_writing(const std::string& spec, RegionAccess access, bool background,
                                     bool* typed = nullptr, bool order = false);
// For a verb that creates its store; never for the sake of a keyspace that is then not there.
inline RegionAccess access_to_put(const KvTarget& target) {
  return target.space.empty() ? RegionAccess::kOpenOrCreate : RegionAccess::kOpen;
}
// A typed one, too.
Result<kv::Store<>> open_for_reclaiming(const std::string& spec, bool at_mark = false);

// Whether a path is the directory or file, or lies in it, also by way of symbolic links.
bool lies_in(const std::string& path, const std::string& directory);
// The same of the store that a spec names.
bool lies_in_store(const std::string& path, const std::string& spec);

// Complains. With --json the same goes to standard output:
// {"error":{"kind":"busy","message":"…","remedy":"…"}}. Every verb ends with one of these if it does
// not do what was asked.
void print_error(const KvTarget& target, std::string_view kind, const std::string& message,
                 const std::string& help = {});
// The document of print_error(), with its newline.
std::string error_document(std::string_view kind, std::string_view message, std::string_view help);
// A request that cannot be meant: kind "invalid_option". Returns kExitBadRequest.
int refuse(const KvTarget& target, const std::string& message, const std::string& help = {});
// A file to read from that cannot be opened, by errno. Returns kExitBadRequest.
int report_unreadable(const KvTarget& target, const std::string& file, int error);
// With what helps against this error; returns the exit code.
int report_error(const KvTarget& target, const Error& error);
int report_error(const std::string& command, const std::string& spec, const Error& error);
// There is no such record; as JSON the kind is "no_record".
int report_miss(const KvTarget& target, std::string_view key, bool damaged, bool typed);

// After a read-only open: says on standard error that parts were not intact, so that nobody takes
// what follows for all there is. True if so.
bool warn_of_damage(const std::string& command, const std::string& spec, const kv::Store<>& store);

// What an acknowledged and synced record survives here: "power", "process", or "assumed" (power, if
// what the spec says of the medium is true); and in words.
struct Survival {
  std::string level;
  std::string words;
};
Survival survival_of(const RegionReport& region);
// What a verb has done, and what it survives; returns kExitDone.
int print_done(const KvTarget& target, std::string_view outcome, const Survival& survival);

// After a verb that wrote: makes it as durable as the medium allows, closes, and says what that is.
// An error here means that the acknowledged write may not survive, so it is an error of the verb.
Result<Survival> settle(kv::Store<>& store);

// What `write` returns; where it finds no space, what it returns after space was reclaimed.
template <class Write>
auto with_room(kv::Store<>& store, Write&& write) {
  auto done = write();
  if (done || done.code() != Errc::kNoSpace || !store.reclaim()) return done;
  return write();
}

}  // namespace holdfast::tools
