// dash_crash.hpp: a Dash index under the crash checker: its operations, what a reader sees, and the
// dull model that says what may be seen.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <holdfast/crash/checker.hpp>

#include "dash_support.hpp"

namespace holdfast::index {

// What a reader sees, by hash, since keys go by the random id.
struct DashState {
  bool exists = true;
  std::map<std::uint64_t, std::uint64_t> records;
  bool operator==(const DashState&) const = default;
};

struct DashOperation {
  enum Kind { kInsert, kUpdate, kErase, kRefused };
  std::uint64_t id;
  Kind kind;
  std::uint64_t hash;

  void apply(DashState& state) const {
    if (kind == kErase) {
      state.records.erase(hash);
    } else if (kind != kRefused) {
      state.records[hash] = id;  // Each operation writes a value of its own.
    }
  }
};

inline void do_operation(Dash& dash, std::uint64_t index_id, const DashOperation& operation) {
  const auto key = key_of_hash(operation.hash, index_id);
  switch (operation.kind) {
    case DashOperation::kInsert: return dash.insert(key, operation.id).value();
    case DashOperation::kUpdate: return dash.update(key, operation.id).value();
    case DashOperation::kErase: return dash.erase(key).value();
    case DashOperation::kRefused:
      EXPECT_EQ(dash.insert(key, operation.id).code(), Errc::kNoSpace);
      return;
  }
}

// Opens the index and reads it twice: by a look at everything, and by its keys.
inline Result<DashState> read_dash(Region& region) {
  auto dash = Dash::open(region, blocks::whole(region));
  if (!dash) {
    if (dash.code() != Errc::kNotHoldfast) return std::move(dash).error();
    return DashState{false, {}};
  }
  DashState state;
  bool twice = false;
  const auto id = id_of(region);
  HF_RETURN_IF_ERROR((*dash)->for_each([&](std::uint64_t key, std::uint64_t value) {
    twice |= !state.records.emplace(hash_of_key(key, id), value).second;
  }));
  if (twice) return Error{Errc::kCorrupt, "a key is there twice"};
  for (const auto& [hash, value] : state.records) {
    HF_ASSIGN_OR_RETURN(const auto found, (*dash)->find(key_of_hash(hash, id)));
    if (found != value) return Error{Errc::kCorrupt, "find() and for_each() disagree"};
  }
  return state;
}

// `before` is done quietly, then `operations` one after the other, then, in each recovered index,
// `after`. Ids differ.
struct DashRun {
  DashOptions options;
  std::vector<DashOperation> before, operations, after;

  crash::Protocol<DashState> protocol() const {
    crash::Protocol<DashState> protocol;
    for (const auto& operation : before)
      operation.apply(protocol.initial);
    protocol.setup = [*this](Region& region) {
      const auto dash = Dash::create(region, blocks::whole(region), options).value();
      for (const auto& operation : before)
        do_operation(*dash, id_of(region), operation);
    };
    protocol.workload = [*this](Region& region, crash::Workload& run) {
      // The first access to each segment repairs it; that is no part of an operation.
      const auto dash = Dash::open(region, blocks::whole(region)).value();
      for (const auto& operation : operations)
        (void)dash->find(key_of_hash(operation.hash, id_of(region)));
      perform(*dash, region, run, operations);
    };
    protocol.recover = read_dash;
    protocol.check = [*this](const auto& past, const auto& seen) { return check(past, seen); };
    protocol.then = [*this](Region& region, crash::Workload& run, const DashState&) {
      perform(*Dash::open(region, blocks::whole(region)).value(), region, run, after);
    };
    protocol.print = [](const DashState& state) {
      std::string text = state.exists ? "" : "no index";
      for (const auto& [hash, value] : state.records)
        text += std::to_string(hash) + "=" + std::to_string(value) + " ";
      return text;
    };
    return protocol;
  }

  static void perform(Dash& dash, Region& region, crash::Workload& run,
                      const std::vector<DashOperation>& operations) {
    for (const auto& operation : operations) {
      run.begin(operation.id);
      do_operation(dash, id_of(region), operation);
      if (operation.kind == DashOperation::kRefused)
        run.withdraw(operation.id);
      else
        run.acknowledge(operation.id);
    }
  }

  // All that was acknowledged, and the one in flight wholly or not at all.
  std::string check(const crash::Past<DashState>& past, const DashState& seen) const {
    std::vector<DashState> allowed = {past.base};
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
};

inline crash::Options dash_medium(const crash::Model& model, std::uint64_t size_bytes = 16 * KiB) {
  crash::Options options;
  options.model = model;
  options.size_bytes = options.unit_bytes = options.max_size_bytes = size_bytes;
  options.states_per_point = 5'000;
  options.nested_states_per_point = 5'000;
  options.images_per_run = 60'000;
  return options;
}

inline const std::vector<crash::Model>& dash_models() {
  static const std::vector<crash::Model> models = {crash::kLine, crash::kLineStreaming,
                                                   crash::kByte};
  return models;
}

}  // namespace holdfast::index
