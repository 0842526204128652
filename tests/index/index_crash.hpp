// index_crash.hpp: an index under the crash checker: its operations, what a reader sees, and the
// dull model that says what may be seen. For any index with create(), open() and the verbs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/base/spin.hpp>
#include <holdfast/blocks/extent.hpp>
#include <holdfast/crash/checker.hpp>
#include <holdfast/memory/durable_writer.hpp>
#include <holdfast/memory/region.hpp>

namespace holdfast::index {

// What the harness has to know of an index. Here: of one with scan(). Others specialize it.
template <class Index>
struct IndexTraits {
  static constexpr bool kOrdered = true;
  // A test has names for keys: the keys themselves, unless the index hashes by its random id.
  static std::uint64_t key_of(const Region&, std::uint64_t name) { return name; }
  static std::uint64_t name_of(const Region&, std::uint64_t key) { return key; }
  // visit(key, value) for each record.
  template <class Visit>
  static Status each(const Index& index, Visit&& visit) {
    return index.scan(0, [&](std::uint64_t key, std::uint64_t value) {
      visit(key, value);
      return true;
    });
  }
};

struct IndexState {
  bool exists = true;
  std::map<std::uint64_t, std::uint64_t> records;  // By name.
  bool operator==(const IndexState&) const = default;
};

struct IndexOperation {
  enum Kind { kInsert, kUpdate, kErase, kRefused };
  std::uint64_t id;
  Kind kind;
  std::uint64_t key;  // By its name.

  void apply(IndexState& state) const {
    if (kind == kErase)
      state.records.erase(key);
    else if (kind != kRefused)
      state.records[key] = id;  // Each operation writes a value of its own.
  }
};

template <class Index>
void do_operation(Index& index, const Region& region, const IndexOperation& operation) {
  const auto key = IndexTraits<Index>::key_of(region, operation.key);
  switch (operation.kind) {
    case IndexOperation::kInsert: return index.insert(key, operation.id).value();
    case IndexOperation::kUpdate: return index.update(key, operation.id).value();
    case IndexOperation::kErase: return index.erase(key).value();
    case IndexOperation::kRefused:
      EXPECT_EQ(index.insert(key, operation.id).code(), Errc::kNoSpace);
      return;
  }
}

// Opens the index and reads it twice: by a look at everything, and by its keys.
template <class Index>
Result<IndexState> read_index(Region& region) {
  using Traits = IndexTraits<Index>;
  auto index = Index::open(region, blocks::whole(region));
  if (!index) {
    if (index.code() != Errc::kNotHoldfast) return std::move(index).error();
    return IndexState{false, {}};
  }
  IndexState state;
  bool twice = false, ascending = true;
  HF_RETURN_IF_ERROR(Traits::each(**index, [&](std::uint64_t key, std::uint64_t value) {
    const auto name = Traits::name_of(region, key);
    ascending &= state.records.empty() || name > state.records.rbegin()->first;
    twice |= !state.records.emplace(name, value).second;
  }));
  if (twice) return Error{Errc::kCorrupt, "a key is there twice"};
  if (Traits::kOrdered && !ascending) return Error{Errc::kCorrupt, "a scan does not ascend"};
  for (const auto& [name, value] : state.records) {
    HF_ASSIGN_OR_RETURN(const auto found, (*index)->find(Traits::key_of(region, name)));
    if (found != value) return Error{Errc::kCorrupt, "find() and a look at everything disagree"};
  }
  return state;
}

// `before` is done quietly, then `operations` one after the other, then, in each recovered index,
// `after`. Ids differ.
template <class Index, class Options>
struct IndexRun {
  using Traits = IndexTraits<Index>;
  Options options;
  std::vector<IndexOperation> before, operations, after;

  crash::Protocol<IndexState> protocol() const {
    crash::Protocol<IndexState> protocol;
    for (const auto& operation : before)
      operation.apply(protocol.initial);
    protocol.setup = [*this](Region& region) {
      const auto index = Index::create(region, blocks::whole(region), options).value();
      for (const auto& operation : before)
        do_operation(*index, region, operation);
    };
    protocol.workload = [*this](Region& region, crash::Workload& run) {
      // The first access to a node may repair it; that is no part of an operation.
      const auto index = Index::open(region, blocks::whole(region)).value();
      Traits::each(*index, [](std::uint64_t, std::uint64_t) {}).value();
      for (const auto& operation : operations)
        (void)index->find(Traits::key_of(region, operation.key));
      perform(*index, region, run, operations);
    };
    protocol.recover = read_index<Index>;
    protocol.check = [*this](const auto& past, const auto& seen) { return check(past, seen); };
    protocol.then = [*this](Region& region, crash::Workload& run, const IndexState&) {
      perform(*Index::open(region, blocks::whole(region)).value(), region, run, after);
    };
    protocol.print = [](const IndexState& state) {
      std::string text = state.exists ? "" : "no index";
      for (const auto& [key, value] : state.records)
        text += std::to_string(key) + "=" + std::to_string(value) + " ";
      return text;
    };
    return protocol;
  }

  static void perform(Index& index, Region& region, crash::Workload& run,
                      const std::vector<IndexOperation>& operations) {
    for (const auto& operation : operations) {
      run.begin(operation.id);
      do_operation(index, region, operation);
      if (operation.kind == IndexOperation::kRefused)
        run.withdraw(operation.id);
      else
        run.acknowledge(operation.id);
    }
  }

  // All that was acknowledged, and each that was in flight wholly or not at all.
  std::string check(const crash::Past<IndexState>& past, const IndexState& seen) const {
    std::vector<IndexState> allowed = {past.base};
    for (const auto& done : past.operations) {
      auto next = allowed;
      for (const auto* list : {&operations, &after}) {
        for (const auto& operation : *list) {
          if (operation.id != done.id) continue;
          for (auto& state : next)
            operation.apply(state);
        }
      }
      if (done.acknowledged())
        allowed = next;
      else
        allowed.insert(allowed.end(), next.begin(), next.end());
    }
    for (const auto& state : allowed) {
      if (state == seen) return "";
    }
    return "neither what was acknowledged nor that and all of what was in flight";
  }

  // `count` inserts into `before`, of keys from `first` on in steps.
  void add_before(std::uint64_t first, unsigned count, std::uint64_t step = 10) {
    for (unsigned i = 0; i < count; ++i)
      before.push_back({1'000 + before.size(), IndexOperation::kInsert, first + i * step});
  }
};

// A process that created the index was killed when the magic was in a cache, and nothing waited for
// it. Another process opens the index and inserts: what is acknowledged is there for good.
template <class Index, class Options>
crash::Protocol<IndexState> created_by_a_killed_process(IndexRun<Index, Options> run,
                                                        std::uint64_t magic) {
  using Run = IndexRun<Index, Options>;
  for (const std::uint64_t id : {1, 2, 3})
    run.operations.push_back({id, IndexOperation::kInsert, 70 + id});
  auto protocol = run.protocol();
  protocol.initial.exists = false;
  protocol.setup = [create = protocol.setup](Region& region) {
    create(region);
    const DurableWriter writer(region);
    writer.put_word(0, 0).value();
    writer.order().value();
  };
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    workload.begin(99);
    std::unique_ptr<Index> index;
    // A fence of the thread that inserts does not wait for what another one has written back.
    std::thread([&] {
      region.persist().store(reinterpret_cast<std::uint64_t*>(region.data()), magic);
      index = Index::open(region, blocks::whole(region)).value();
    }).join();
    workload.acknowledge(99);
    Run::perform(*index, region, workload, run.operations);
  };
  protocol.check = [run](const crash::Past<IndexState>& past,
                         const IndexState& seen) -> std::string {
    const bool opened = past.operations.front().acknowledged();
    if (!seen.exists) return opened ? "the index is gone" : "";
    auto records = seen;
    records.exists = past.base.exists;
    return run.check(past, records);
  };
  protocol.then = nullptr;
  return protocol;
}

// Some orders of threads by seeds, then all with one preemption, as far as the number goes.
inline constexpr crash::Schedules kIndexSchedules{3, 1, 16};

inline crash::Options index_medium(const crash::Model& model, std::uint64_t size_bytes) {
  crash::Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = options.max_size_bytes = size_bytes;
  options.states_per_point = 5'000;
  options.nested_states_per_point = 5'000;
  options.images_per_run = 60'000;
  return options;
}

inline const std::vector<crash::Model>& index_models() {
  static const std::vector<crash::Model> models = {crash::kLine, crash::kLineStreaming,
                                                   crash::kByte};
  return models;
}

// Threads side by side: each list of operations by one, the keys of different lists apart. With
// `watched`, one thread more looks for that operation's key, and acknowledges the operation, which
// its writer never does, when it has seen its value.
template <class Index, class Options>
crash::Protocol<IndexState> side_by_side(IndexRun<Index, Options> run,
                                         std::vector<std::vector<IndexOperation>> lists,
                                         std::optional<IndexOperation> watched = {}) {
  using Run = IndexRun<Index, Options>;
  for (const auto& list : lists)
    run.operations.insert(run.operations.end(), list.begin(), list.end());
  if (watched) run.operations.push_back(*watched);
  auto protocol = run.protocol();
  protocol.workload = [=](Region& region, crash::Workload& workload) {
    const auto index = Index::open(region, blocks::whole(region)).value();
    {
      const auto quiet = workload.quiet();
      Run::Traits::each(*index, [](std::uint64_t, std::uint64_t) {}).value();
    }
    std::vector<std::function<void()>> bodies;
    for (std::uint32_t session = 0; session < lists.size(); ++session) {
      bodies.push_back([&, session] {
        for (const auto& operation : lists[session]) {
          workload.begin(operation.id, session);
          do_operation(*index, region, operation);
          workload.acknowledge(operation.id);
        }
      });
    }
    if (watched) {
      const auto key = Run::Traits::key_of(region, watched->key);
      bodies.push_back([&, key] {
        workload.begin(watched->id, static_cast<std::uint32_t>(lists.size()));
        do_operation(*index, region, *watched);
      });
      bodies.push_back([&, key] {
        for (unsigned i = 0; i < 30; ++i) {
          if (index->find(key).value_or(0) != watched->id) {
            SpinWait()();
            continue;
          }
          workload.acknowledge(watched->id);
          return;
        }
      });
    }
    workload.threads(std::move(bodies));
  };
  return protocol;
}

// Checked under each model; returns the report under kLine.
inline crash::Report check_index(const crash::Protocol<IndexState>& protocol,
                                 std::uint64_t size_bytes = 16 * KiB,
                                 const crash::Schedules& schedules = {},
                                 std::uint64_t images = 60'000) {
  crash::Report first;
  for (const auto& model : index_models()) {
    auto options = index_medium(model, size_bytes);
    options.schedules = schedules;
    options.images_per_run = images;
    const auto report = crash::check(protocol, options);
    EXPECT_TRUE(report.ok()) << report;
    EXPECT_GE(report.images_in_all(), 5u);
    if (&model == &index_models().front()) first = report;
  }
  return first;
}

}  // namespace holdfast::index
