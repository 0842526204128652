// The state of a stream query with any of it changed is resumed: as records of a store of kv that
// were put with good sums, or as entries of a checkpoint. What must hold: it is refused
// with an error, or the query goes on to its end, and its last checkpoint can be read.
//
// Input: byte 0 chooses the query, byte 1 whether records of the store change, or entries that are
// then in a file or in a store; whether that is the state of the run, or a savepoint that it begins
// with; and whether memory has all of it, or groups are fetched. Then changes of 2 bytes that choose
// one, one of kind, 4 of place and 8 of content.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/kv/store.hpp>
#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/savepoint.hpp>
#include <holdfast/stream/script.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

#include "fuzz_store.hpp"

namespace {

using namespace holdfast;  // NOLINT: a fuzz target of one file.
using namespace holdfast::stream;

using Records = std::map<std::string, std::string>;

const std::string kTumble =
    "TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '20' SECOND)) GROUP BY window_start, "
    "window_end, k";
const std::string kIdle = "SET 'table.exec.state.ttl' = '1 h';";
const std::string kQueries[] = {
    "INSERT INTO o SELECT window_start, k, COUNT(*) FROM " + kTumble,
    "SELECT window_start, k, COUNT(DISTINCT v), SUM(v), AVG(d), MIN(d), MAX(v), STDDEV(d), "
    "MEDIAN(v), FIRST_VALUE(v), LISTAGG(k) FROM " +
        kTumble,
    "SELECT k, COUNT(*), SUM(v), MIN(v), MAX(d), COUNT(DISTINCT v), MEDIAN(v), ARRAY_AGG(v), "
    "LISTAGG(k) FROM a GROUP BY k",
    "SELECT x.k, MIN(x.v), MAX(y.d), COUNT(DISTINCT y.v) FROM a x LEFT JOIN b y ON x.k = y.k AND "
    "x.v = y.v GROUP BY x.k",
    "SELECT a.ts, a.v, b.d FROM a FULL JOIN b ON a.k = b.k AND a.v = b.v",
    "SELECT a.ts, b.v FROM a LEFT JOIN b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '3' SECOND "
    "AND b.ts + INTERVAL '3' SECOND",
    "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, d) AS n "
    "FROM a) WHERE n <= 3",
    "SELECT k, v, n FROM (SELECT k, v, DENSE_RANK() OVER (ORDER BY v) AS n FROM (SELECT k, SUM(v) "
    "AS v FROM a GROUP BY k)) WHERE n <= 2",
    "SELECT window_start, k, COUNT(*), MAX(v) FROM TABLE(SESSION(TABLE a PARTITION BY k, "
    "DESCRIPTOR(ts), INTERVAL '2' SECOND)) GROUP BY window_start, window_end, k",
    "SELECT ts, k, LAG(v, 2) OVER w, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN "
    "INTERVAL '10' SECOND PRECEDING AND CURRENT ROW) FROM a WINDOW w AS (PARTITION BY k ORDER BY "
    "ts)",
    "SELECT a.ts, b.v FROM a LEFT JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k",
    "SELECT k, v FROM a WHERE v > (SELECT AVG(v) FROM b)",
    // Groups with more values than stand in an entry (compile/runtime/value_parts.hpp).
    "SELECT k, COUNT(DISTINCT s), COUNT(DISTINCT v) FROM c GROUP BY k",
    "SELECT k, MIN(s), MAX(v), COUNT(DISTINCT s) FROM (SELECT k, v, MAX(s) AS s FROM c GROUP BY "
    "k, v) GROUP BY k",
    // State that ends when it is idle.
    kIdle + "SELECT k, v, COUNT(*), SUM(d) FROM a GROUP BY k, v",
    kIdle + "SELECT k, MIN(s), COUNT(DISTINCT s) FROM c GROUP BY k",
    kIdle + "SELECT x.k, x.v, y.d FROM a x LEFT JOIN b y ON x.k = y.k AND x.v = y.v",
    kIdle +
        "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k, v ORDER BY d DESC) "
        "AS n FROM a) WHERE n <= 3",
    kIdle +
        "SELECT k, v, n FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n "
        "FROM (SELECT k, d, SUM(v) AS v FROM a GROUP BY k, d)) WHERE n <= 2",
    kIdle + "SELECT DISTINCT k, v FROM a",
};
constexpr std::size_t kFirstOfMany = 12;  // Two of them, and one that ends when idle.

// The checkpoint that is kept: the second, of a query of many values one that has parts of them.
bool has_many(unsigned query) {
  return query == kFirstOfMany || query == kFirstOfMany + 1 || query == kFirstOfMany + 3;
}
std::uint64_t kept_epoch(unsigned query) { return has_many(query) ? 9 : 2; }

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "stream_state_fuzz: %s\n", what.c_str());
  std::abort();
}

// Two tables of 96 rows each in files of this process, one of many values, and a table for rows.
class Tables {
 public:
  Tables() : directory_("/dev/shm/holdfast_state_fuzz_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(directory_);
    for (const unsigned table : {1u, 2u}) {
      std::string text;
      for (unsigned row = 0; row < 96; ++row) {
        const auto second = std::to_string(row / 4 % 60);
        text += "2026-01-01 00:0" + std::to_string(row / 240) + ":" +
                (second.size() < 2 ? "0" : "") + second + "," + "k" +
                std::to_string(row * table % 7) + "," + std::to_string(row * 5 * table % 11) + "," +
                std::to_string(row % 13) + ".25\n";
      }
      replace_file(path(table == 1 ? "a" : "b"), text).value();
    }
    std::string many;
    for (unsigned row = 0; row < 640; ++row) {
      const auto number = std::to_string(1000 + row % 600);
      many += std::string(row % 8 == 0 ? "k1," : "k0,") + number + ",text of many bytes " + number +
              std::string(60, 'x') + "\n";
    }
    replace_file(path("c"), many).value();
  }
  ~Tables() { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string definitions() const {
    std::string text;
    for (const std::string table : {"a", "b"})
      text += "CREATE TABLE " + table +
              " (ts TIMESTAMP(3), k STRING, v BIGINT, d DOUBLE, WATERMARK FOR ts AS ts - INTERVAL "
              "'2' SECOND" +
              (table == "b" ? ", PRIMARY KEY (k) NOT ENFORCED" : "") +
              ") WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '" + path(table) +
              "');";
    return text +
           "CREATE TABLE c (k STRING, v BIGINT, s STRING) WITH ('connector' = 'filesystem', " +
           "'format' = 'csv', 'path' = '" + path("c") + "');" +
           "CREATE TABLE o (t TIMESTAMP(3), k STRING, n BIGINT) WITH ('connector' = 'filesystem', "
           "'format' = 'csv', 'path' = '" +
           path("o") + "');";
  }

 private:
  std::string directory_;
};

const Tables& tables() {
  static const Tables all;
  return all;
}

std::shared_ptr<kv::Store<>> store_of(const Records& records) {
  auto store = empty_fuzz_store(2 * MiB);
  for (const auto& [key, value] : records)
    store->put(key, value).value();
  return store;
}

Records records_of(kv::Store<>& store) {
  Records records;
  store.snapshot()
      .for_each([&](std::string_view key, std::string_view value, kv::Version) {
        return records.emplace(key, value), true;
      })
      .value();
  return records;
}

// Runs the query from what `store` has to its end.
Status run(unsigned query, std::unique_ptr<StateStore> store) {
  static std::vector<Script> scripts = [] {
    std::vector<Script> prepared;
    for (const auto& text : kQueries)
      prepared.push_back(Script::prepare(tables().definitions() + text).value());
    return prepared;
  }();
  ScriptOptions options;
  int rows = 0;
  options.output = Output([&](std::string_view) {
    return ++rows < 20'000 ? Status() : Error{Errc::kNoSpace, "more rows than a query can have"};
  });
  options.open_state = [&](std::size_t, const std::string&) {
    return Result<std::unique_ptr<StateStore>>(std::move(store));
  };
  const std::atomic<bool> stop{false};
  return scripts[query].run(options, stop);
}

// Asks for a checkpoint after each batch of rows, and keeps what one of them left.
template <class Store, class Keep>
class AsksOften final : public Store {
 public:
  AsksOften(std::uint64_t kept_epoch, Keep keep, auto... arguments)
      : Store(std::move(arguments)...), kept_epoch_(kept_epoch), keep_(std::move(keep)) {
    this->ask_for_checkpoint();
  }
  Status complete(const Checkpoint& checkpoint) override {
    HF_RETURN_IF_ERROR(Store::complete(checkpoint));
    if (checkpoint.epoch == kept_epoch_) keep_();
    this->ask_for_checkpoint();
    return {};
  }

 private:
  std::uint64_t kept_epoch_;
  Keep keep_;
};

// Keys of entries here: slice (8 bytes), whether later ones replace it, a number (4), the key. Of
// metadata: "m".
constexpr std::size_t kBefore = 13;

// Entries of a block that have a state: visit(state). The number of a key beyond bounds: false.
bool for_each_in_block(const std::string& block,
                       const std::function<void(std::string_view)>& visit) {
  query::Text rest{block.data(), block.size()}, of_key{}, state{};
  std::uint32_t handle = 0;
  while (query::take_raw(rest, handle) && query::take_block_entry(rest, of_key, state)) {
    if (handle > 1'000'000) return false;
    if (state.size != 0) visit({state.data, state.size});
  }
  return true;
}

struct Good {
  Records records, entries;  // Of the store; of the checkpoint.
};

// Of a block of entries that say when they changed: every other one did so long ago.
void age_some(std::string& block) {
  constexpr std::uint64_t kLongMs = 2 * 3600 * 1000;
  bool aged = false;
  for_each_in_block(block, [&](std::string_view state) {
    if (state[0] != 2 || (aged = !aged)) return;
    const auto at = static_cast<std::size_t>(state.data() - block.data()) + 1;
    std::string time;
    StateKeys::append_number(StateKeys::number_at(state.substr(1)) - kLongMs, time);
    block.replace(at, time.size(), time);
  });
}

// What the state says is believed in two places, since nothing bounds it: how often a row is there,
// which is the first number of such an entry; and the numbers of the keys of a log, which take 16
// bytes of memory each.
bool is_bounded(std::string_view state) {
  constexpr std::uint64_t kManyMs = 1'000'000'000'000;
  const std::size_t begin = !state.empty() && state[0] == 2 ? 9 : 1;
  if (state.size() < begin + 8 || (state[0] != 1 && state[0] != 2)) return true;
  const auto times = StateKeys::number_at(state.substr(begin)) ^ std::uint64_t{1} << 63;
  const bool is_time = state.size() == begin + 8 && times > kManyMs;  // A watermark.
  return times < 1000 || is_time || times > INT64_MAX;                // Below 0.
}

bool is_bounded(const Records& records, bool of_store) {
  for (const auto& [key, value] : records) {
    const char kind = !of_store ? 'e' : key.size() < 5 ? '\0' : key[4];
    if (key != "m" && kind == 'e' && !is_bounded(std::string_view(value))) return false;
    if (kind != 'v') continue;
    bool bounded = true;
    const auto look = [&](std::string_view state) { bounded = bounded && is_bounded(state); };
    if (!for_each_in_block(value, look) || !bounded) return false;
  }
  return true;
}

Good good_state(unsigned query) {
  Good good;
  const auto store = store_of({});
  const auto keep = [&] { good.records = records_of(*store); };
  run(query,
      std::make_unique<AsksOften<KvStateStore, decltype(keep)>>(kept_epoch(query), keep, store, 1u))
      .value();
  for (auto& [key, value] : good.records)
    if (key.size() >= 5 && key[4] == 'v') age_some(value);
  KvStateStore state(store_of(good.records), 1);
  good.entries["m"] = state.open().value()->metadata;
  std::uint32_t number = 0;
  const auto slices = state.slices().value();
  for (const auto slice : slices) {
    const auto log = StateKeys(1).log_of_slice(slice);
    const auto first = good.records.lower_bound(log);
    const bool replaced = first != good.records.end() && first->first.starts_with(log);
    state
        .for_each(slice,
                  [&](std::string_view key, std::string_view value) -> Status {
                    std::string before(kBefore, '\0');
                    std::memcpy(before.data(), &slice, sizeof slice);
                    before[8] = static_cast<char>(replaced);
                    std::memcpy(before.data() + 9, &++number, sizeof number);
                    good.entries[before + std::string(key)] = value;
                    return {};
                  })
        .value();
  }
  require(number > 1, "a query has no state");
  require(is_bounded(good.records, true) && is_bounded(good.entries, false), "a good state");
  return good;
}

// A checkpoint of them.
void put(StateStore& store, const Records& entries) {
  static_cast<void>(store.open().value());
  std::string metadata;
  for (const auto& [key, state] : entries) {
    std::int64_t slice = 0;
    std::uint64_t version = 0;
    if (key.size() < kBefore) {
      metadata = state;
      continue;
    }
    std::memcpy(&slice, key.data(), sizeof slice);
    const auto name = std::string_view(key).substr(kBefore);
    if (key[8] != 0)
      store.replace(slice, name, state, version).value();
    else
      store.put(slice, name, state).value();
  }
  store.complete({2, metadata}).value();
}

void change(std::string& bytes, unsigned kind, std::uint32_t at, const char* content) {
  const std::size_t count = std::size_t{1} << (kind >> 4 & 3);
  if (bytes.empty()) bytes = " ";
  at %= bytes.size();
  switch (kind & 3) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ content[0]); break;
    case 1: bytes.replace(at, count, content, std::min(count, bytes.size() - at)); break;
    case 2: bytes.insert(at, content, count); break;
    default: bytes.erase(at, count); break;
  }
}

void change(Records& records, std::uint16_t which, unsigned kind, std::uint32_t at,
            const char* content) {
  if (records.empty()) return;
  const auto record = std::next(records.begin(), which % records.size());
  if ((kind & 0xc0) != 0xc0) return change(record->second, kind, at, content);
  // Its key, or both.
  std::string key = record->first;
  const std::string value = record->second;
  if ((kind & 4) != 0) records.erase(record);
  change(key, kind, at, content);
  if ((kind & 8) == 0) records[key] = value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::map<unsigned, Good> known;
  if (size < 2) return 0;
  const unsigned query = data[0] % std::size(kQueries);
  const bool by_record = data[1] % 4 == 0, in_file = data[1] % 4 == 1;
  const auto found = known.find(query);
  const Good& good =
      found != known.end() ? found->second : known.emplace(query, good_state(query)).first->second;
  Records all = by_record ? good.records : good.entries;
  for (std::size_t i = 2; i + 15 <= size; i += 15) {
    std::uint16_t which = 0;
    std::uint32_t at = 0;
    std::memcpy(&which, data + i, sizeof which);
    std::memcpy(&at, data + i + 3, sizeof at);
    change(all, which, data[i + 2], at, reinterpret_cast<const char*>(data + i + 7));
  }
  std::filesystem::remove_all(tables().path("o"));
  if (!is_bounded(all, by_record)) return 0;
  const bool is_savepoint = (data[1] & 8) != 0;
  const std::uint64_t memory = (data[1] & 4) != 0 ? 1 : KvStateStore::memory_for_each_of(1);
  auto region = store_of(by_record ? all : Records());
  const auto path = tables().path("state");
  const auto open = [&]() -> std::unique_ptr<StateStore> {
    if (in_file && !is_savepoint) return std::make_unique<SnapshotStore>(path);
    return std::make_unique<KvStateStore>(region, 1, memory);
  };
  std::filesystem::remove(path);
  SnapshotStore file(path);
  if (!by_record) put(in_file ? file : *open(), all);
  Status status;
  if (is_savepoint) {
    SnapshotStore from_file(path);
    KvStateStore from_region(region, 1);
    const auto to = store_of({});
    KvStateStore copy(to, 1);
    status = copy_checkpoint(in_file ? static_cast<StateStore&>(from_file) : from_region, copy);
    region = to;
  }
  if (status) status = run(query, open());
  require(status || size >= 17, status ? "" : "a good state is refused: " + status.error().detail);
  if (status) require(run(query, open()).has_value(), "what was written is refused");
  return 0;
}
