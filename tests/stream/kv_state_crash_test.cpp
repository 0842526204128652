// State in kv under the crash checker: after any crash a query finds one completed checkpoint, with
// the entries of that one and no others.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <holdfast/stream/compile/runtime/blocks.hpp>

#include "state_crash.hpp"

namespace holdfast::stream {
namespace {

// What each checkpoint of the workload holds. The third drops slice 60.
const std::vector<Found>& checkpoints() {
  static const std::vector<Found> all = {
      {},
      {1, "first", {"60:a=1", "60:b=2", "120:a=3"}},
      {2, "second", {"60:a=1", "60:b=2", "120:a=3", "60:a=4", "180:c=5"}},
      {3, "third", {"120:a=3", "180:c=5", "120:b=6"}}};
  return all;
}

void begin(Region& region) {
  Query query(std::move(region));
  query.state().put(60, "a", "1").value();
  query.state().put(60, "b", "2").value();
  query.state().put(120, "a", "3").value();
  query.state().complete({1, "first"}).value();
}

void go_on(Region& region, crash::Workload& run) {
  Query query(std::move(region));
  KvStateStore& state = query.state();
  run.perform(2, [&] {
    state.put(60, "a", "4").value();
    state.put(180, "c", "5").value();
    state.complete({2, "second"}).value();
  });
  run.perform(3, [&] {
    state.drop(60);
    state.put(120, "b", "6").value();
    state.complete({3, "third"}).value();
  });
}

bool is_of_dropped(const std::string& entry) { return entry.starts_with("60:"); }

// `may_linger`: the slice that the checkpoint dropped may be there yet, whole or in part.
std::string wrong_in(const Found& found, std::uint64_t least, bool may_linger) {
  if (found.epoch < least) return "an acknowledged checkpoint is lost";
  if (found.epoch >= checkpoints().size()) return "a checkpoint that never was";
  Found expected = checkpoints()[found.epoch];
  if (found.metadata != expected.metadata) return "metadata of another checkpoint";
  Found rest = found;
  if (found.epoch == 3) {
    const auto gone = std::erase_if(rest.entries, is_of_dropped);
    if (gone != 0 && !may_linger) return "a dropped slice is there after its checkpoint";
  }
  return rest.entries == expected.entries ? "" : "entries that are not those of the checkpoint";
}

using kv::medium_name;  // For the macro.
class KvStateCrash : public StateCrash {};
HOLDFAST_ON_EVERY_MEDIUM(KvStateCrash);

crash::Protocol<Found> protocol_of(bool paged) {
  crash::Protocol<Found> protocol;
  protocol.initial = checkpoints()[1];
  protocol.setup = begin;
  protocol.workload = go_on;
  protocol.recover = [](Region& region) -> Result<Found> {
    return Query(std::move(region)).found();
  };
  protocol.print = [](const Found& found) {
    std::string text = std::to_string(found.epoch) + " " + found.metadata;
    for (const auto& entry : found.entries)
      text += " " + entry;
    return text;
  };
  protocol.check = [paged](const crash::Past<Found>& past, const Found& found) {
    std::uint64_t least = past.base.epoch;
    bool removed = false;
    for (const auto& operation : past.operations) {
      if (!operation.acknowledged()) continue;
      least = std::max(least, operation.id);
      removed = removed || operation.id == 3;
    }
    // Files are not synced behind the removal: nothing needs it.
    return wrong_in(found, least, paged || !removed);
  };
  // The owner drops again what was given back, and goes on with the next epoch.
  protocol.then = [](Region& region, crash::Workload& run, const Found&) {
    Query query(std::move(region));
    if (query.epoch() != 3) return;
    query.state().drop(60);
    run.perform(3, [&] { query.state().complete({3, "third"}).value(); });
    EXPECT_EQ(query.found().entries, checkpoints()[3].entries);
  };
  return protocol;
}

TEST_P(KvStateCrash, OneCheckpointIsFoundWithItsEntriesOnly) {
  const bool paged = GetParam().granularity == Granularity::kPage;
  const auto report = crash::check(protocol_of(paged), check_options(600));
  EXPECT_TRUE(kv::holds(report));
  EXPECT_GT(report.images_in_all(), 50u);
  if (paged) return;
  EXPECT_EQ(report.operation(2).barriers(), 4u) << "a limit, a run; the entries, 'm'";
  EXPECT_EQ(report.operation(3).barriers(), 3u) << "the entries, 'm', the dropped slice";
}

// The small ones share a fence, each of the others has one; then that of 'm'. On files nothing but a
// sync orders them before 'm'.
TEST_P(KvStateCrash, BlocksAreThereBeforeTheCheckpoint) {
  const std::string large(25 * KiB, '1');
  constexpr std::size_t kLarge = 6, kSmall = 3;  // Of the large ones, three fill a block.
  crash::Protocol<Found> protocol;
  protocol.setup = begin;
  protocol.initial = checkpoints()[1];
  protocol.workload = [&large](Region& region, crash::Workload& run) {
    Query query(std::move(region));
    run.perform(2, [&] { query.state().complete({2, ""}).value(); });
    run.perform(3, [&] {
      for (std::size_t i = 0; i < kLarge; ++i)
        query.state().put(60, std::to_string(i), large).value();
      for (std::size_t i = 0; i < kSmall; ++i)
        query.state().put(static_cast<std::int64_t>(200 + i), "k", "1").value();
      query.state().complete({3, ""}).value();
    });
  };
  protocol.recover = [](Region& region) -> Result<Found> {
    return Query(std::move(region)).found();
  };
  protocol.check = [](const crash::Past<Found>& past, const Found& found) -> std::string {
    if (past.operations.back().acknowledged() && found.epoch != past.operations.back().id)
      return "the checkpoint is lost";
    const std::size_t entries =
        checkpoints()[1].entries.size() + (found.epoch == 3 ? kLarge + kSmall : 0);
    return found.entries.size() == entries ? "" : "entries are missing, or too many";
  };
  auto check = check_options(200);
  check.depth = 1;
  const auto report = crash::check(protocol, check);
  EXPECT_TRUE(kv::holds(report));
  EXPECT_GT(report.images_in_all(), 20u);
}

// ---- Generations of blocks ----

std::string block_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string block;
  for (const auto& [key, state] : entries) {
    query::append_sized(block, [&](std::string& bytes) { bytes += key; });
    query::append_sized(block, [&](std::string& bytes) { bytes += state; });
  }
  return block;
}

// The second writes what changed; the third all of its generation as a run, and the first of
// another; the fourth does without the slice.
const std::vector<Found>& generations() {
  static const std::vector<Found> all = {{},
                                         {1, "m", {"60:a=1", "60:b=2"}},
                                         {2, "m", {"60:a=3", "60:b=2"}},
                                         {3, "m", {"60:a=4", "60:b=5", "60:b=7"}},
                                         {4, "m", {"120:c=8"}}};
  return all;
}

void perform_generation(KvStateStore& state, std::uint64_t epoch, std::uint64_t& generation) {
  std::uint64_t other = 0;
  if (epoch == 1)
    state.put_block(60, block_of({{"a", "1"}, {"b", "2"}}), false, generation).value();
  if (epoch == 2) state.put_block(60, block_of({{"a", "3"}}), false, generation).value();
  if (epoch == 3) {
    state.put_block(60, block_of({{"a", "4"}}), true, generation).value();
    state.put_block(60, block_of({{"b", "5"}}), true, generation).value();
    state.drop_older(60, generation);
    state.put_block(60, block_of({{"b", "7"}}), false, other).value();
    EXPECT_NE(other, generation);
  }
  if (epoch == 4) {
    state.drop(60);
    state.put_block(120, block_of({{"c", "8"}}), false, other).value();
  }
  state.complete({epoch, "m"}).value();
}

// What a window reads of the first generation's run: none of its older blocks, which may be there.
// Empty: there is no run.
Result<std::string> run_of(KvStateStore& state) {
  std::uint64_t generation = 0;
  query::BlockPlace place;
  HF_RETURN_IF_ERROR(state.next_generation(60, generation, place));
  std::string read;
  for (std::string block; place.epoch != 0;) {
    HF_RETURN_IF_ERROR(state.next_block(60, generation, place, block));
    if (block.empty()) break;
    query::Text rest{block.data(), block.size()}, key{}, entry{};
    while (query::take_block_entry(rest, key, entry))
      read += std::string(key.data, key.size) + "=" + std::string(entry.data, entry.size) + " ";
  }
  return read;
}

crash::Protocol<Found> generations_protocol() {
  crash::Protocol<Found> protocol;
  protocol.initial = generations()[1];
  protocol.setup = [](Region& region) {
    Query query(std::move(region));
    std::uint64_t generation = 0;
    perform_generation(query.state(), 1, generation);
    EXPECT_EQ(generation, 1u);
  };
  const auto go_from = [](Region& region, crash::Workload& run, std::uint64_t epoch) {
    Query query(std::move(region));
    std::uint64_t generation = 1;
    for (auto next = epoch + 1; next < generations().size(); ++next)
      run.perform(next, [&] { perform_generation(query.state(), next, generation); });
    if (epoch < 3) {
      EXPECT_EQ(query.found().entries, generations().back().entries);
    }
  };
  protocol.workload = [go_from](Region& region, crash::Workload& run) { go_from(region, run, 1); };
  protocol.recover = [](Region& region) -> Result<Found> {
    Query query(std::move(region));
    HF_ASSIGN_OR_RETURN(const auto run, run_of(query.state()));
    const auto epoch = query.found().epoch;
    if (epoch < 4 && run != (epoch == 3 ? "a=4 b=5 " : ""))
      return Error{Errc::kCorrupt, "the run is '" + run + "'"};
    return query.found();
  };
  protocol.print = protocol_of(false).print;
  protocol.check = [](const crash::Past<Found>& past, const Found& found) -> std::string {
    std::uint64_t least = past.base.epoch;
    for (const auto& operation : past.operations) {
      if (operation.acknowledged()) least = std::max(least, operation.id);
    }
    if (found.epoch < least) return "an acknowledged checkpoint is lost";
    if (found.epoch >= generations().size()) return "a checkpoint that never was";
    Found rest = found;
    if (found.epoch == 4) std::erase_if(rest.entries, is_of_dropped);
    return rest == generations()[found.epoch] ? "" : "entries that are not those of the checkpoint";
  };
  protocol.then = [go_from](Region& region, crash::Workload& run, const Found& found) {
    go_from(region, run, found.epoch);
  };
  return protocol;
}

TEST_P(KvStateCrash, OfEachGenerationTheLastEntriesAreFound) {
  const auto report = crash::check(generations_protocol(), check_options(400));
  EXPECT_TRUE(kv::holds(report));
  EXPECT_GT(report.images_in_all(), 50u);
}

// ---- Entries that replace one another ----
using Values = std::map<std::string, std::string>;

struct Versions {
  std::uint64_t epoch = 0;
  Values values;
  bool operator==(const Versions&) const = default;
};

// What each checkpoint has. The second takes b away. What hides its entry has to move once, with the
// fourth, since the block of the first stays, for the sake of x, y and z. The fifth has b again.
const std::vector<Versions>& versions() {
  const auto with_others = [](Values values) {
    for (const auto* key : {"x", "y", "z"})
      values[key] = "0";
    return values;
  };
  static const std::vector<Versions> all = {{},
                                            {1, with_others({{"a", "1"}, {"b", "2"}})},
                                            {2, with_others({{"a", "3"}, {"c", "4"}})},
                                            {3, with_others({{"a", "3"}, {"c", "5"}})},
                                            {4, with_others({{"a", "6"}, {"c", "5"}})},
                                            {5, with_others({{"b", "7"}, {"c", "5"}})},
                                            {6, {{"b", "7"}}}};
  return all;
}

// A table as an operator keeps it (graph/state_table.hpp): values, and the versions they have. It
// reads all at once, or fetches what it looks at.
class TableOfQuery {
 public:
  TableOfQuery(Region&& region, bool fetches) : query_(std::move(region)), fetches_(fetches) {
    if (fetches) {
      EXPECT_TRUE(query_.state().group_by(kSlice, StateStore::Grouping::kKey, 0).value());
      return;
    }
    query_.state()
        .for_each_version(
            kSlice,
            [&](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
              const std::string name(key);
              if (known_.contains(name)) query_.state().remove_version(kSlice, key, known_[name]);
              known_.erase(name);
              values_.erase(name);
              if (!state.empty()) keep(key, state, version);
              return {};
            })
        .value();
  }
  Versions found() {
    for (const auto& checkpoint : versions()) {
      for (const auto& [key, state] : checkpoint.values)
        fetch(key);
    }
    return {query_.epoch(), values_};
  }
  std::uint64_t epoch() const { return query_.epoch(); }

  void copy_first() {
    for (const auto& [key, state] : versions()[1].values)
      query_.state().put_copy(kSlice, key, state, 1).value();
    query_.state().complete({1, "m"}).value();
  }
  // From what the checkpoint before has to what checkpoint `epoch` has.
  void go_to(std::uint64_t epoch) {
    const Values& before = versions()[epoch - 1].values;
    const Values& wanted = versions()[epoch].values;
    const auto is_same = [&](const std::string& key) {
      return before.contains(key) && wanted.contains(key) && before.at(key) == wanted.at(key);
    };
    for (const auto* values : {&before, &wanted}) {
      for (const auto& [key, state] : *values) {
        if (!is_same(key)) fetch(key);
      }
    }
    for (const auto& [key, state] : wanted) {
      if (is_same(key)) continue;
      query_.state().replace(kSlice, key, state, known_[key]).value();
      values_[key] = state;
    }
    for (const auto& [key, state] : before) {
      if (wanted.contains(key)) continue;
      query_.state().replace(kSlice, key, {}, known_[key]).value();
      known_.erase(key);
      values_.erase(key);
    }
    query_.state().complete({epoch, "m"}).value();
  }

 private:
  static constexpr std::int64_t kSlice = 7;

  void keep(std::string_view key, std::string_view state, std::uint64_t version) {
    known_[std::string(key)] = version;
    values_[std::string(key)] = state;
  }
  // Not between two entries of a checkpoint.
  void fetch(const std::string& key) {
    if (!fetches_ || !fetched_.insert(key).second) return;
    query_.state()
        .for_each_of_group(
            kSlice, key,
            [&](std::string_view name, std::string_view state, std::uint64_t version) -> Status {
              keep(name, state, version);
              return {};
            })
        .value();
  }

  Query query_;
  const bool fetches_;
  std::set<std::string> fetched_;
  Values values_;
  std::map<std::string, std::uint64_t> known_;
};

// `copied`: the first is a copy of a checkpoint, which has a key for each entry.
crash::Protocol<Versions> versions_protocol(bool copied, bool fetches) {
  crash::Protocol<Versions> protocol;
  protocol.initial = versions()[1];
  protocol.setup = [copied, fetches](Region& region) {
    TableOfQuery table(std::move(region), fetches);
    copied ? table.copy_first() : table.go_to(1);
  };
  protocol.workload = [fetches](Region& region, crash::Workload& run) {
    TableOfQuery table(std::move(region), fetches);
    for (const std::uint64_t epoch : {2u, 3u, 4u, 5u, 6u})
      run.perform(epoch, [&] { table.go_to(epoch); });
  };
  protocol.recover = [fetches](Region& region) -> Result<Versions> {
    return TableOfQuery(std::move(region), fetches).found();
  };
  protocol.print = [](const Versions& found) {
    std::string text = std::to_string(found.epoch);
    for (const auto& [key, value] : found.values)
      text += " " + key + "=" + value;
    return text;
  };
  protocol.check = [](const crash::Past<Versions>& past, const Versions& found) -> std::string {
    std::uint64_t least = past.base.epoch;
    for (const auto& operation : past.operations) {
      if (operation.acknowledged()) least = std::max(least, operation.id);
    }
    if (found.epoch < least) return "an acknowledged checkpoint is lost";
    if (found.epoch >= versions().size()) return "a checkpoint that never was";
    return found == versions()[found.epoch] ? "" : "values that are not those of the checkpoint";
  };
  // It goes on from where it is, and all that was replaced goes.
  protocol.then = [fetches](Region& region, crash::Workload& run, const Versions& found) {
    TableOfQuery table(std::move(region), fetches);
    for (auto epoch = found.epoch + 1; epoch < versions().size(); ++epoch)
      run.perform(epoch, [&] { table.go_to(epoch); });
  };
  return protocol;
}

// A checkpoint has a fence for its entries and one for itself; where a block became superfluous, one
// for its removal, which on pages waits for the next sync.
TEST_P(KvStateCrash, TheNewestVersionOfAKeyIsFoundAndNoneThatWasTakenAway) {
  for (const auto& [copied, fetches] :
       {std::pair(false, false), {true, false}, {false, true}, {true, true}}) {
    const auto report = crash::check(versions_protocol(copied, fetches), check_options(400));
    EXPECT_TRUE(kv::holds(report)) << (copied ? "copied " : "") << (fetches ? "fetches" : "");
    EXPECT_GT(report.images_in_all(), 50u);
    if (copied) continue;  // Its entries have a key each: others go one by one.
    const std::uint64_t removal = GetParam().granularity == Granularity::kPage ? 0 : 1;
    EXPECT_EQ(report.operation(3).barriers(), 2u);
    for (const std::uint64_t epoch : {4u, 5u, 6u})
      EXPECT_EQ(report.operation(epoch).barriers(), 2u + removal) << epoch;
  }
}

}  // namespace
}  // namespace holdfast::stream
