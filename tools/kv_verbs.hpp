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

struct KvTarget {
  std::string spec;
  bool json = false;
};

struct PutArguments {
  std::string key, value;  // "-": standard input.
  Encoding key_encoding = Encoding::kText, value_encoding = Encoding::kText;
  bool if_absent = false;
};
struct KeyArguments {
  std::string key;
  Encoding key_encoding = Encoding::kText;
  Encoding output = Encoding::kText;
};
struct ListArguments {
  std::string prefix;
  std::uint64_t limit = 0;  // 0: all.
  bool keys_only = false;
  Encoding output = Encoding::kText;
};
struct ImportArguments {
  std::string file = "-";
  std::optional<RecordFormat> format;  // Absent: told by the first character.
  std::vector<std::string> key_fields;
  std::uint64_t max_record_bytes = Limits{}.record_bytes;
  bool stop_on_error = false;
  std::uint64_t show_skipped = 10;
  kv::Durability durability = kv::Durability::kDefault;
};
struct ExportArguments {
  std::string file = "-";
  RecordFormat format = RecordFormat::kJsonLines;
  std::vector<std::string> key_fields;
  std::string prefix;
};

int kv_put(const KvTarget& target, const PutArguments& arguments);
int kv_get(const KvTarget& target, const KeyArguments& arguments);
int kv_erase(const KvTarget& target, const KeyArguments& arguments);
int kv_list(const KvTarget& target, const ListArguments& arguments);
int kv_count(const KvTarget& target);
int kv_import(const KvTarget& target, const ImportArguments& arguments);  // kv_transfer.cpp
int kv_export(const KvTarget& target, const ExportArguments& arguments);  // kv_transfer.cpp
int kv_stats(const KvTarget& target);                                     // kv_inspect.cpp
int kv_verify(const KvTarget& target);                                    // kv_inspect.cpp
int kv_reclaim(const KvTarget& target);                                   // kv_inspect.cpp

// --- Shared by the verbs, the tour and its child (kv_support.cpp).

// Read verbs: nothing of the store's own runs and nothing is written. `background`: for verbs that
// write for long. Errors are those of Store<>::open, and kInvalidOption for memory that dies with
// us.
Result<kv::Store<>> open_for_reading(const std::string& spec);
Result<kv::Store<>> open_for_writing(const std::string& spec, RegionAccess access, bool background,
                                     kv::Durability durability = kv::Durability::kDefault);

// Complains with what helps against this error, and returns the exit code.
int report_error(const std::string& command, const std::string& spec, const Error& error);

// After a read-only open: says on standard error that parts were not intact, so that nobody takes
// what follows for all there is. True if so.
bool warn_of_damage(const std::string& command, const std::string& spec, const kv::Store<>& store);

// What an acknowledged and synced record survives here: "power" or "process", and in words.
struct Survival {
  std::string level;
  std::string words;
};
Survival survival_of(const RegionReport& region);

}  // namespace holdfast::tools
