#include "kv_command.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include <holdfast/base/format.hpp>

#include "console.hpp"
#include "kv_bench_command.hpp"
#include "kv_verbs.hpp"

namespace holdfast::tools {
namespace {

struct KvState {
  KvTarget target;
  PutArguments put, append;
  MergeArguments merge;
  KeyArguments get, erase;
  ListArguments list;
  ScanArguments scan;
  ImportArguments import;
  ExportArguments export_;
  BackupArguments backup;
  RestoreArguments restore;
  ScriptArguments script;
  bool prometheus = false;
  std::string space;  // That is created or dropped.
  ExpireArguments expire;
  std::uint64_t clock = 0;
  bool drop_mark = false;
};

template <class T>
using Words = std::vector<std::pair<std::string, T>>;

// A choice between words.
template <class T>
CLI::Option* add_choice(CLI::App* app, const std::string& name, const Words<T>& words,
                        const std::function<void(T)>& set, const std::string& help) {
  std::string allowed;
  for (const auto& [word, value] : words)
    allowed += (allowed.empty() ? "" : "|") + word;
  const auto choose = [name, words, set, allowed](const std::string& given) {
    for (const auto& [word, value] : words) {
      if (word == given) return set(value);
    }
    throw CLI::ValidationError(name, "'" + given + "' is none of " + allowed);
  };
  return app->add_option_function<std::string>(name, choose, help)->type_name(allowed);
}

void add_encoding(CLI::App* app, const std::string& name, Encoding& encoding,
                  const std::string& help) {
  const Words<Encoding> words{
      {"text", Encoding::kText}, {"hex", Encoding::kHex}, {"base64", Encoding::kBase64}};
  add_choice<Encoding>(app, name, words, [&encoding](Encoding chosen) { encoding = chosen; }, help);
}

// The formats that a file can have; import knows two more than export.
void add_format(CLI::App* app, std::optional<RecordFormat>& format, bool import) {
  Words<RecordFormat> words{{"jsonl", RecordFormat::kJsonLines},
                            {"control", RecordFormat::kControl},
                            {"csv", RecordFormat::kCsv},
                            {"tsv", RecordFormat::kTsv}};
  if (import) {
    words.emplace_back("mdb-dump", RecordFormat::kMdbDump);
    words.emplace_back("ldb-dump", RecordFormat::kLdbDump);
  }
  add_choice<RecordFormat>(
      app, "--format", words, [&format](RecordFormat chosen) { format = chosen; },
      import ? "Default: told by the suffix of FILE, or by how it begins (csv and tsv are not)"
             : "Default: told by the suffix of FILE; else jsonl");
}

// Names from other stores that people type.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"set", "put"},  {"del", "erase"}, {"delete", "erase"},
    {"rm", "erase"}, {"ls", "list"},   {"size", "count"}};

// Adds a verb of `kv` that runs `run`.
using AddVerb =
    std::function<CLI::App*(const char* name, const char* help, std::function<int()> run)>;

void add_output_encodings(CLI::App* verb, Encoding& output) {
  auto* hex = verb->add_flag_callback(
      "--hex", [&output] { output = Encoding::kHex; }, "Print bytes as hex digits");
  auto* base64 = verb->add_flag_callback(
      "--base64", [&output] { output = Encoding::kBase64; }, "Print bytes as base64");
  hex->excludes(base64);
}

void add_put(KvState& state, const AddVerb& verb) {
  auto* put = verb("put", "Insert or overwrite one record; creates the store",
                   [&] { return kv_put(state.target, state.put); });
  put->add_option("KEY", state.put.key, "The key; - for standard input")->required();
  put->add_option("VALUE", state.put.value, "The value; - for standard input, byte for byte")
      ->required();
  add_encoding(put, "--key-as", state.put.key_encoding, "How KEY is written");
  add_encoding(put, "--value-as", state.put.value_encoding, "How VALUE is written");
  put->add_flag("--if-absent", state.put.if_absent, "Leave an existing record alone (exit code 1)");
  put->footer(
      "Examples:\n"
      "  holdfast kv ./users put ada lovelace\n"
      "  holdfast kv ./users put photo - < photo.jpg\n"
      "  holdfast kv ./users put --key-as hex 00ff 'any value'\n"
      "  holdfast kv ./users put -- -7 'a key that begins with a dash'");
}

void add_append_and_merge(KvState& state, const AddVerb& verb) {
  auto* append = verb("append", "Add bytes to the value of one record; creates both",
                      [&] { return kv_append(state.target, state.append); });
  append->add_option("KEY", state.append.key, "The key; - for standard input")->required();
  append->add_option("VALUE", state.append.value, "What is added; - for standard input")
      ->required();
  add_encoding(append, "--key-as", state.append.key_encoding, "How KEY is written");
  add_encoding(append, "--value-as", state.append.value_encoding, "How VALUE is written");
  append->footer(
      "Writes what is added, not the value again.\n"
      "Examples:\n"
      "  holdfast kv ./users append log:7 'one more line'\n"
      "  dmesg | holdfast kv ./users append kernel -");

  auto* merge = verb("merge", "Combine a number with the value of one record; creates both",
                     [&] { return kv_merge(state.target, state.merge); });
  merge->add_option("KEY", state.merge.key, "The key; - for standard input")->required();
  add_choice<kv::MergeFunction>(
      merge, "FUNCTION",
      {{"add", kv::MergeFunction::kAdd},
       {"min", kv::MergeFunction::kMin},
       {"max", kv::MergeFunction::kMax},
       {"add-double", kv::MergeFunction::kAddDouble},
       {"min-unsigned", kv::MergeFunction::kMinUnsigned},
       {"max-unsigned", kv::MergeFunction::kMaxUnsigned},
       {"or", kv::MergeFunction::kOr}},
      [&state](kv::MergeFunction chosen) { state.merge.function = chosen; },
      "What becomes of the two")
      ->required();
  merge->add_option("NUMBER", state.merge.number, "The number")->required();
  add_encoding(merge, "--key-as", state.merge.key_encoding, "How KEY is written");
  merge->footer(
      "Values are 8 bytes, little-endian: whole numbers of 64 bits, or doubles. Prints the new "
      "number.\n"
      "Examples:\n"
      "  holdfast kv ./users merge visits add 1\n"
      "  holdfast kv ./users merge coldest min -- -12");
}

void add_get_and_erase(KvState& state, const AddVerb& verb) {
  auto* get =
      verb("get", "Print the value of one record", [&] { return kv_get(state.target, state.get); });
  get->add_option("KEY", state.get.key, "The key; - for standard input")->required();
  add_encoding(get, "--key-as", state.get.key_encoding, "How KEY is written");
  add_output_encodings(get, state.get.output);
  get->add_option(
      "--default", state.get.default_value,
      "Print this where there is no such record: exit code 0, so that any other is a failure");
  get->footer(
      "To a file or pipe go the value's bytes and nothing else. Exit code 1 if there is no such "
      "record.\n"
      "Examples:\n"
      "  holdfast kv ./users get ada\n"
      "  holdfast kv ./users get photo > photo.jpg\n"
      "  holdfast kv ./users get --json ada      "
      "# {\"key\":\"ada\",\"value\":\"lovelace\",\"version\":17}");

  auto* erase =
      verb("erase", "Erase one record", [&] { return kv_erase(state.target, state.erase); });
  erase->add_option("KEY", state.erase.key, "The key; - for standard input")->required();
  add_encoding(erase, "--key-as", state.erase.key_encoding, "How KEY is written");
  erase->add_flag("--if-exists", state.erase.if_exists,
                  "No such record is no failure: exit code 0, so that any other is one");
  erase->footer(
      "Exit code 1 if there is no such record.\nExample:\n  holdfast kv ./users erase ada");
}

void add_list_and_scan(KvState& state, const AddVerb& verb) {
  auto* list = verb("list", "Print records, one per line, in no order",
                    [&] { return kv_list(state.target, state.list); });
  list->add_option("--prefix", state.list.prefix, "Only keys that begin with this");
  add_encoding(list, "--key-as", state.list.key_encoding, "How --prefix is written");
  list->add_option("--limit", state.list.limit, "At most so many records; 0 is all");
  list->add_flag("--keys-only", state.list.keys_only, "Leave the values out");
  add_output_encodings(list, state.list.output);
  list->footer(
      "KEY, a tab, VALUE; control characters and bytes that are no text as \\t, \\n, \\x00 …\n"
      "Examples:\n"
      "  holdfast kv ./users list --prefix user: --limit 20\n"
      "  holdfast kv ./users list --keys-only | sort\n"
      "  holdfast kv ./users list --json | jq -r .value");

  auto* scan = verb("scan", "Print records in the order of their keys",
                    [&] { return kv_scan(state.target, state.scan); });
  scan->add_option("--from", state.scan.from, "Keys from this one on")->type_name("KEY");
  scan->add_option("--to", state.scan.to, "Keys below this one; default: to the last")
      ->type_name("KEY");
  scan->add_option("--prefix", state.scan.prefix, "Only keys that begin with this");
  add_encoding(scan, "--key-as", state.scan.key_encoding,
               "How --from, --to and --prefix are written");
  scan->add_flag("--reverse", state.scan.reverse, "From the last key down");
  scan->add_option("--limit", state.scan.limit, "At most so many records; 0 is all");
  scan->add_flag("--keys-only", state.scan.keys_only, "Leave the values out");
  add_output_encodings(scan, state.scan.output);
  scan->footer(
      "Keys are compared as unsigned bytes. The store is on its medium in no order: each call "
      "puts the keys in order first, in memory, and says so.\n"
      "Examples:\n"
      "  holdfast kv ./users scan --from a --to c\n"
      "  holdfast kv ./users scan --prefix user: --reverse --limit 10");
}

void add_record_verbs(KvState& state, const AddVerb& verb) {
  add_put(state, verb);
  add_append_and_merge(state, verb);
  add_get_and_erase(state, verb);
  add_list_and_scan(state, verb);
  verb("count", "Print the number of records", [&] {
    return kv_count(state.target);
  })->footer("Example:\n  holdfast kv ./users count");
}

void add_import(KvState& state, const AddVerb& verb) {
  auto* import = verb("import", "Put the records of a file; creates the store",
                      [&] { return kv_import(state.target, state.import); });
  import
      ->add_option("FILE", state.import.file,
                   "JSON lines, CSV, TSV, control stanzas, or what mdb_dump or ldb printed; gzip "
                   "is undone; - for standard input")
      ->capture_default_str();
  add_format(import, state.import.format, true);
  import->add_option("--key", state.import.key_fields, "Member or fields that make the key")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  import->add_flag("--header", state.import.header, "The first line of csv or tsv is no record");
  import
      ->add_option_function<std::string>(
          "--max-record",
          [&state](const std::string& text) {
            const auto bytes = parse_bytes(text, "value");
            if (!bytes) throw CLI::ValidationError("--max-record", bytes.error().detail);
            state.import.max_record_bytes = *bytes;
          },
          "A longer line or stanza is skipped")
      ->type_name("BYTES")
      ->default_str("256M");
  add_choice<bool>(
      import, "--on-error", {{"stop", true}, {"skip", false}},
      [&state](bool stop) { state.import.stop_on_error = stop; },
      "At what is no record (default skip)");
  import
      ->add_option("--show-skipped", state.import.show_skipped, "So many skipped pieces are shown")
      ->capture_default_str();
  add_choice<kv::Durability>(
      import, "--durability",
      {{"process", kv::Durability::kProcess}, {"power", kv::Durability::kPower}},
      [&state](kv::Durability durability) { state.import.durability = durability; },
      "Of each batch; the end is always synced");
  import->footer(
      "JSON lines      {\"key\": \"ada\", \"value\": \"lovelace\"}   bytes: \"key64\", \"value64\" "
      "in base64; whole objects with --key NAME: the key is that member, the value the object\n"
      "csv             KEY,VALUE; quotes as in RFC 4180; a field \\x00ff is bytes as hex digits\n"
      "tsv             KEY, a tab, VALUE, as `list` prints; \\t \\n \\r \\\\ \\0 \\x00 stand for "
      "bytes\n"
      "mdb-dump        of `mdb_dump` (LMDB), with -p or without; the first database\n"
      "ldb-dump        of `ldb dump --hex` (RocksDB)\n"
      "stanzas         the key is the field Package, or --key Package,Version,Architecture joined "
      "by _; the value is the stanza's text\n"
      "Exit code 1 if anything was skipped.\n"
      "Examples:\n"
      "  holdfast kv ./users import users.jsonl\n"
      "  holdfast kv ./users import users.csv.gz --header\n"
      "  holdfast kv ./events import events.jsonl.gz --key id --on-error stop\n"
      "  mdb_dump ./lmdb | holdfast kv ./users import -\n"
      "  ldb --db=./rocks dump --hex | holdfast kv ./users import -\n"
      "  apt-cache dumpavail | holdfast kv ./packages import - --key Package,Version");
}

void add_export(KvState& state, const AddVerb& verb) {
  auto* export_ = verb("export", "Write all records, as import reads them",
                       [&] { return kv_export(state.target, state.export_); });
  export_
      ->add_option("FILE", state.export_.file,
                   "Replaced when complete; …csv, …tsv, …jsonl, each with .gz or without; - for "
                   "standard output")
      ->capture_default_str();
  add_format(export_, state.export_.format, false);
  export_->add_flag("--header", state.export_.header, "csv and tsv begin with key,value");
  export_->add_flag("--gzip", state.export_.gzip, "Compress, whatever FILE is called");
  export_
      ->add_option("--key", state.export_.key_fields,
                   "As for import: whole objects, or the fields of the key")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  export_->add_option("--prefix", state.export_.prefix, "Only keys that begin with this");
  add_encoding(export_, "--key-as", state.export_.key_encoding, "How --prefix is written");
  export_->footer(
      "A consistent snapshot, in no order. Bytes that are no text: base64 as \"key64\" in jsonl, a "
      "field \\x00ff in csv, \\xNN in tsv. Exit code 1 if a record does not fit the format.\n"
      "Examples:\n"
      "  holdfast kv ./users export backup.jsonl.gz\n"
      "  holdfast kv ./users export users.csv --header\n"
      "  holdfast kv ./packages export - --format control --key Package,Version | grep ^Section: | "
      "sort | uniq -c");
}

void add_backup_verbs(KvState& state, const AddVerb& verb) {
  auto* backup = verb("backup", "Copy the store into a directory; the next time only what is new",
                      [&] { return kv_backup(state.target, state.backup); });
  backup->add_option("DIR", state.backup.directory, "Made if it is not there")->required();
  backup->add_option("--keep", state.backup.keep, "So many backups stay; 0 is all")
      ->capture_default_str();
  auto* check = backup->add_flag("--verify", state.backup.verify,
                                 "Read and check all backups in DIR instead; no STORE");
  backup->add_flag("--list", state.backup.list, "List the backups in DIR instead; no STORE")
      ->excludes(check);
  backup->footer(
      "A backup is whole or not there, whatever interrupts it. Programs back up an open store "
      "with kv/backup.hpp.\n"
      "Examples:\n"
      "  holdfast kv ./users backup /backups/users --keep 7\n"
      "  holdfast kv backup --verify /backups/users\n"
      "  holdfast kv backup --list /backups/users");
  auto* restore = verb("restore", "Make a store from a backup",
                       [&] { return kv_restore(state.target, state.restore); });
  restore->add_option("DIR", state.restore.directory, "Of `backup`")->required();
  restore->add_option("NEW", state.restore.store, "The new store; must not exist")->required();
  restore->add_option("--backup", state.restore.number, "Which one; 0 is the newest")
      ->type_name("NUMBER")
      ->capture_default_str();
  restore->footer(
      "Examples:\n"
      "  holdfast kv restore /backups/users ./users-again\n"
      "  holdfast kv restore /backups/users ./users-before --backup 3");
}

void add_space_verbs(KvState& state, const AddVerb& verb) {
  verb("spaces", "The keyspaces of the store: sets of keys of their own",
       [&] { return kv_spaces(state.target); })
      ->footer(
          "NAME, a tab, its records, a tab, their bytes.\nExample:\n  holdfast kv ./shop spaces");
  auto* create = verb("create-space", "Create a keyspace; creates the store",
                      [&] { return kv_create_space(state.target, state.space); });
  create->add_option("NAME", state.space, "1 to 255 bytes")->required();
  create->footer(
      "Examples:\n"
      "  holdfast kv ./shop create-space users\n"
      "  holdfast kv ./shop --space users put ada lovelace");
  auto* drop = verb("drop-space", "Drop a keyspace with all its records",
                    [&] { return kv_drop_space(state.target, state.space); });
  drop->add_option("NAME", state.space, "As `spaces` lists it")->required();
  drop->footer(
      "Its medium is free at once, however many records it has.\n"
      "Example:\n  holdfast kv ./shop drop-space users");
}

void add_expiry_verbs(KvState& state, const AddVerb& verb) {
  verb("expiry", "The rules by which records end, and the clock that they are judged by", [&] {
    return kv_expiry(state.target);
  })->footer("Example:\n  holdfast kv ./users expiry");
  auto* expire = verb("expire", "Add a rule by which records end; creates the store",
                      [&] { return kv_expire(state.target, state.expire); });
  kv::ExpiryRule& rule = state.expire.rule;
  expire->add_option("--prefix", rule.prefix, "Of the keys; the longest that fits a key counts");
  add_encoding(expire, "--key-as", state.expire.key_encoding, "How --prefix is written");
  expire->add_option("--ttl", rule.ttl, "How long a record lives, in the unit of its stamp")
      ->required()
      ->type_name("TIME");
  expire->add_option("--offset", rule.offset_bytes, "Of the stamp in the value")
      ->type_name("BYTES")
      ->capture_default_str();
  expire->add_option("--width", rule.width_bytes, "Of the stamp: 4 or 8")
      ->type_name("BYTES")
      ->capture_default_str();
  expire->add_flag_callback(
      "--big-endian", [&rule] { rule.order = std::endian::big; }, "The order of its bytes");
  expire->footer(
      "A record has expired when the clock has reached its stamp + TIME. Rules stay as they are.\n"
      "Example:\n"
      "  holdfast kv ./users expire --prefix session: --ttl 3600");
  auto* clock = verb("clock", "Set the clock; what has expired by it is absent from then on",
                     [&] { return kv_clock(state.target, state.clock); });
  clock->add_option("NOW", state.clock, "In the unit of the stamps")->required();
  clock->footer(
      "It never runs backwards: `expiry` tells where it is.\n"
      "Example:\n  holdfast kv ./users clock $(date +%s)");
}

void add_mark_verbs(KvState& state, const AddVerb& verb) {
  auto* mark = verb("mark", "Make a savepoint in the store, in place of the one before",
                    [&] { return kv_mark(state.target, state.drop_mark); });
  mark->add_flag("--drop", state.drop_mark, "Take it away instead");
  mark->footer(
      "No record is copied. What the mark needs is kept until the next one, so the store may take "
      "twice its size.\n"
      "Examples:\n"
      "  holdfast kv ./users mark\n"
      "  holdfast kv ./users --at-mark get ada\n"
      "  holdfast kv ./users rewind");
  verb("rewind", "Set the store back to its mark; what came behind it is gone", [&] {
    return kv_rewind(state.target);
  })->footer("Example:\n  holdfast kv ./users rewind");
}

// Those that --at-mark is for.
constexpr std::string_view kVerbsAtMark[] = {"get",    "list",   "scan",   "count", "export",
                                             "verify", "spaces", "expiry", "stats"};

// Those that --space is for.
constexpr std::string_view kVerbsOfSpaces[] = {"put",    "append", "merge",  "get",    "erase",
                                               "list",   "scan",   "count",  "import", "export",
                                               "script", "verify", "expire", "expiry", "stats"};

// Those that --ordered is for.
constexpr std::string_view kVerbsInOrder[] = {"list", "scan", "export", "script"};

void add_store_verbs(KvState& state, const AddVerb& verb) {
  auto* stats = verb("stats", "What the store holds, takes and promises",
                     [&] { return kv_stats(state.target, state.prometheus); });
  stats->add_flag("--prometheus", state.prometheus, "As metrics in Prometheus' text format")
      ->excludes("--json");
  stats->footer(
      "Examples:\n"
      "  holdfast kv ./users stats --json | jq .used_bytes\n"
      "  holdfast kv ./shop --space users stats\n"
      "  holdfast kv ./users stats --prometheus > /var/lib/node_exporter/users.prom");
  verb("verify", "Read and check everything; name each defect",
       [&] { return kv_verify(state.target); })
      ->footer(
          "Changes nothing. Exit code 1 if there is damage.\nExample:\n  holdfast kv ./users "
          "verify");
  auto* script = verb("script", "Verbs from standard input or a file, with one open of the store",
                      [&] { return kv_script(state.target, state.script); });
  script->add_option("FILE", state.script.file, "One verb per line; - for standard input")
      ->capture_default_str();
  script->footer(
      "put KEY VALUE, put-if-absent KEY VALUE, append KEY VALUE, get KEY, erase KEY, count, "
      "list [PREFIX], sync; words "
      "as in a shell: \"…\", '…', \\ and # are known.\n"
      "The end is synced. Exit code 1 if a record that was asked for is not there.\n"
      "Examples:\n"
      "  printf 'put ada lovelace\\nget ada\\n' | holdfast kv ./users script\n"
      "  holdfast kv ./users script changes.txt");
  verb("reclaim", "Give back the space of overwritten and erased records", [&] {
    return kv_reclaim(state.target);
  })->footer("Example:\n  holdfast kv ./users reclaim");
}

// Whether the verb can be what is asked; else says why not.
bool goes_with(const KvState& state, const char* name) {
  const bool of_directory =
      name == std::string_view("restore") || state.backup.verify || state.backup.list;
  if (state.target.spec.empty() && !of_directory) {
    (void)refuse(state.target, std::string{"STORE is missing before '"} + name + "'",
                 std::string{"Example: holdfast kv ./mystore "} + name +
                     (name == std::string{"put"}                                   ? " ada lovelace"
                      : name == std::string{"get"} || name == std::string{"erase"} ? " ada"
                      : name == std::string{"backup"}                              ? " ./backups"
                                                                                   : ""));
    return false;
  }
  if (!state.target.space.empty() && std::find(std::begin(kVerbsOfSpaces), std::end(kVerbsOfSpaces),
                                               name) == std::end(kVerbsOfSpaces)) {
    (void)refuse(
        state.target, std::string{"--space does not go with '"} + name + "'",
        "It is for put, append, merge, get, erase, list, scan, count, import, export, script, "
        "verify, expire, expiry and stats; `spaces` tells what each keyspace holds.");
    return false;
  }
  if (state.target.ordered && std::find(std::begin(kVerbsInOrder), std::end(kVerbsInOrder), name) ==
                                  std::end(kVerbsInOrder)) {
    (void)refuse(
        state.target, std::string{"--ordered does not go with '"} + name + "'",
        "It is for list, scan, export and script, which then go by the order of the keys.");
    return false;
  }
  if (state.target.at_mark &&
      std::find(std::begin(kVerbsAtMark), std::end(kVerbsAtMark), name) == std::end(kVerbsAtMark)) {
    (void)refuse(state.target, std::string{"--at-mark does not go with '"} + name + "'",
                 "It is for verbs that read; `rewind` sets the store back to its mark.");
    return false;
  }
  return true;
}

}  // namespace

void add_kv_command(CLI::App& root, int& exit_code) {
  const auto state = std::make_shared<KvState>();
  auto* kv =
      root.add_subcommand("kv", "Records that survive: put, get, import, verify … on a store");
  kv->add_option(
      "STORE,--store", state->target.spec,
      "Directory, file, or /dev/daxX.Y; …?huge=2M and the like as in `holdfast mem --help`");
  kv->add_flag("--json", state->target.json, "Machine-readable result, errors too");
  kv->add_option("--space", state->target.space,
                 "The keys of this keyspace: put, append, merge, get, erase, list, scan, count, "
                 "import, export, script, verify, expire, expiry, stats")
      ->type_name("NAME")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return name.empty() ? "a keyspace has a name of 1 to 255 bytes" : "";
          },
          ""));
  kv->add_flag("--at-mark", state->target.at_mark,
               "The store as it was at its mark: get, list, scan, count, export, verify, spaces, "
               "expiry, stats");
  kv->add_flag("--ordered", state->target.ordered,
               "Put the keys in order, in memory: list, export, and list in a script go by it");
  kv->require_subcommand(1);
  kv->footer(
      "Examples:\n"
      "  holdfast kv ./users put ada lovelace\n"
      "  holdfast kv ./users get ada\n"
      "  apt-cache dumpavail | holdfast kv ./packages import -\n"
      "  holdfast kv ./packages verify\n"
      "  printf 'put ada lovelace\\nget ada\\n' | holdfast kv ./users script\n"
      "Other names: set (put), del, delete, rm (erase), ls (list), size (count)\n"
      "With --json an error is {\"error\":{\"kind\":\"busy\",…}} on standard output; \"no_record\" "
      "is a key that has "
      "no record.\n"
      "More: holdfast kv VERB --help");

  const auto verb = [kv, state, &exit_code](const char* name, const char* help,
                                            std::function<int()> run) {
    auto* app = kv->add_subcommand(name, help);
    for (const auto& [other, meant] : kOtherNames) {
      if (meant == name) app->alias(std::string(other));
    }
    app->add_flag("--json", state->target.json, "Machine-readable result, errors too");
    app->final_callback([state, run = std::move(run), &exit_code, name] {
      exit_code = goes_with(*state, name) ? run() : kExitBadRequest;
    });
    return app;
  };
  add_record_verbs(*state, verb);
  add_expiry_verbs(*state, verb);
  add_import(*state, verb);
  add_export(*state, verb);
  add_backup_verbs(*state, verb);
  add_mark_verbs(*state, verb);
  add_space_verbs(*state, verb);
  add_store_verbs(*state, verb);
  add_kv_bench_command(*kv, exit_code);
}

}  // namespace holdfast::tools
