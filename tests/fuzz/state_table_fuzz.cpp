// Two tables of an operator over one state store, against maps: entries come, change, go, and end
// when they are idle; checkpoints, runs that stop without one, and savepoints that the next run
// begins with. What must hold: each key has the value that the map has.
//
// Input: byte 0 chooses the store, a file or one that keeps entries, and whether memory has all of
// them; then steps of 3 bytes: what to do, which key, and how (a size, a time).
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/kv/store.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/graph/state_table.hpp>
#include <holdfast/stream/savepoint.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

#include "fuzz_store.hpp"

namespace {

using namespace holdfast;                 // NOLINT: a fuzz target of one file.
using namespace holdfast::stream;         // NOLINT
using namespace holdfast::stream::graph;  // NOLINT

constexpr std::int64_t kIdleMs = 100;
std::int64_t now_ms = 0;
std::int64_t now() { return now_ms; }

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "state_table_fuzz: %s\n", what);
  std::abort();
}

struct TextCodec {
  static void encode(const std::string& value, std::string& bytes) { bytes += value; }
  static bool decode(std::string_view& bytes, std::string& value) {
    value = bytes;
    bytes = {};
    return true;
  }
};
using TextTable = StateTable<std::string, TextCodec>;

struct Known {
  std::string value;
  std::int64_t used_ms = 0;
};
using Model = std::map<std::string, Known>;

const std::string& directory() {
  static const struct Own {
    std::string path = "/dev/shm/holdfast_state_table_fuzz_" + std::to_string(::getpid());
    Own() { std::filesystem::create_directories(path); }
    ~Own() { std::filesystem::remove_all(path); }
  } own;
  return own.path;
}

// What metadata_of_beginning() takes.
std::string metadata() {
  ByteWriter bytes;
  for (int text = 0; text < 3; ++text)
    bytes.text("");
  for (int number = 0; number < 5; ++number)
    bytes.number(0);
  return bytes.take();
}

class Query {
 public:
  // `form`: bit 0, the state is in a file; 1, entries end when they are idle; 2, memory has all.
  explicit Query(unsigned form) : form_(form) {
    now_ms = 1000;
    std::filesystem::remove(file());
    if (!in_file()) region_ = empty_fuzz_store(4 * MiB);
    begin();
  }
  void step(unsigned what, unsigned which, unsigned how) {
    const std::size_t table = what >> 7;
    switch (what % 16) {
      case 0:
      case 1:
      case 2:
      case 3: return set(table, which, how);
      case 4:
      case 5: return erase(table, which);
      case 6:
      case 7: return compare(table, key_of(table, which));
      case 8: return sweep(table);
      case 9: now_ms += how % 80; return;
      case 10:
      case 11:
      case 12: return checkpoint();
      case 13: return begin();
      case 14: return begin_from_savepoint(which % 2 == 0);
      default: return compare_all();
    }
  }
  void compare_all() {
    for (const std::size_t table : {0, 1}) {
      for (unsigned which = 0; which < kKeys; ++which)
        compare(table, key_of(table, which));
    }
  }
  void checkpoint() {
    for (auto& table : tables_) {
      table->put_all().value();
      if (table->wants_room()) table->leave().value();
    }
    store_->complete({++epoch_, metadata()}).value();
    for (const std::size_t table : {0, 1})
      completed_[table] = models_[table];
  }
  // Another run, behind one that stopped without a checkpoint.
  void begin() {
    for (auto& table : tables_)
      table.reset();
    store_ = open();
    const auto found = store_->open().value();
    epoch_ = found ? found->epoch : 0;
    for (const std::size_t table : {0, 1}) {
      Retention retention;
      if (ends()) retention = {kIdleMs, now};
      const auto grouping =
          table == 0 ? StateStore::Grouping::kKey : StateStore::Grouping::kFirstPart;
      tables_[table] = std::make_unique<TextTable>(store_.get(), 5 + static_cast<int>(table),
                                                   TextCodec(), retention, grouping);
      tables_[table]->restore().value();
      models_[table] = completed_[table];
    }
  }

 private:
  static constexpr unsigned kKeys = 24;

  bool in_file() const { return (form_ & 1) != 0; }
  bool ends() const { return (form_ & 2) != 0; }
  static std::string file() { return directory() + "/state"; }
  std::unique_ptr<StateStore> open() const {
    if (in_file()) return std::make_unique<SnapshotStore>(file());
    return std::make_unique<KvStateStore>(region_, 1, (form_ & 4) != 0 ? 1 << 30 : 1);
  }
  static std::string key_of(std::size_t table, unsigned which) {
    which %= kKeys;
    if (table == 0) return which == 0 ? std::string() : std::string(which % 3, 'k') + char(which);
    std::string key;
    append_part(which % 4 == 0 ? "" : std::string(which % 4, 'g'), key);
    return key + std::string(which / 4, 'x');
  }
  void fetch(std::size_t table, const std::string& key) {
    const auto grouping =
        table == 0 ? StateStore::Grouping::kKey : StateStore::Grouping::kFirstPart;
    tables_[table]->fetch(StateStore::group_of(key, grouping)).value();
  }
  void set(std::size_t table, unsigned which, unsigned how) {
    const auto key = key_of(table, which);
    fetch(table, key);
    std::string value =
        std::to_string(++changes_) + std::string(how % 4 == 0 ? 12 * how : how % 20, 'v');
    tables_[table]->at(key) = value;
    models_[table][key] = {std::move(value), now_ms};
  }
  void erase(std::size_t table, unsigned which) {
    const auto key = key_of(table, which);
    fetch(table, key);
    const auto found = tables_[table]->find(key);
    require((found != tables_[table]->end()) == models_[table].contains(key), "a key to erase");
    if (found != tables_[table]->end()) tables_[table]->erase(found);
    models_[table].erase(key);
  }
  void compare(std::size_t table, const std::string& key) {
    fetch(table, key);
    const auto found = tables_[table]->find(key);
    const auto wanted = models_[table].find(key);
    if (wanted == models_[table].end())
      return require(found == tables_[table]->end(), "a key is there that has gone");
    require(found != tables_[table]->end(), "a key has gone");
    require(found->second.value == wanted->second.value, "a key has another value");
    if (ends()) require(found->second.used_ms == wanted->second.used_ms, "a key has another time");
  }
  void sweep(std::size_t table) {
    if (!ends()) return;
    const auto oldest = now_ms - kIdleMs;
    auto& model = models_[table];
    tables_[table]->sweep(oldest, [&](const std::string& key, const std::string&) {
      require(model.contains(key), "a key ends that is not there");
    });
    std::erase_if(model, [&](const auto& entry) { return entry.second.used_ms <= oldest; });
  }
  void begin_from_savepoint(bool in_a_file) {
    checkpoint();
    for (auto& table : tables_)
      table.reset();
    store_.reset();
    const auto path = directory() + "/savepoint";
    std::filesystem::remove(path);
    SnapshotStore savepoint(path), again(path);
    auto from = open();
    if (in_a_file) {
      copy_checkpoint(*from, savepoint).value();
      from = std::make_unique<SnapshotStore>(path);
    }
    if (in_file()) {
      SnapshotStore other(directory() + "/other");
      std::filesystem::remove(directory() + "/other");
      copy_checkpoint(*from, other).value();
      std::filesystem::rename(directory() + "/other", file());
    } else {
      const auto region = empty_fuzz_store(4 * MiB);
      KvStateStore to(region, 1);
      copy_checkpoint(*from, to).value();
      from.reset();
      region_ = region;
    }
    begin();
  }

  const unsigned form_;
  std::shared_ptr<kv::Store<>> region_;
  std::unique_ptr<StateStore> store_;
  std::unique_ptr<TextTable> tables_[2];
  Model models_[2], completed_[2];
  std::uint64_t epoch_ = 0;
  unsigned changes_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  Query query(data[0]);
  for (std::size_t i = 1; i + 3 <= size && i < 600; i += 3)
    query.step(data[i], data[i + 1], data[i + 2]);
  query.checkpoint();
  query.begin();
  query.compare_all();
  return 0;
}
