// crafted_state.hpp: a state in kv with numbers that no run could have written: an operator refuses
// it, interpreted and compiled, and computes with none of them. A sum of two would overflow.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operator_twins.hpp"

namespace holdfast::stream::graph {

// Where a number stands: in the keys or the states of a table, so many bytes from the beginning, or
// from the end where it is below 0.
struct CraftedPlace {
  std::int64_t table;
  bool in_key;
  int at;
};
inline constexpr bool kInKey = true, kInState = false;

inline void craft(const std::string& region, const CraftedPlace& where, std::int64_t number) {
  KvStateStore store(KvStateStore::open_region(region).value(), 1);
  const auto found = store.open().value();
  ASSERT_TRUE(found);
  std::string key, state;
  std::uint64_t version = 0;
  const auto take = [&](std::string_view one, std::string_view value, std::uint64_t of) {
    if (version == 0) key = one, state = value, version = of;
    return Status();
  };
  const auto slice = kFirstSlice + where.table;
  store.for_each_version(slice, take).value();
  ASSERT_NE(version, 0u);
  std::string ordered;
  append_ordered(number, ordered);
  auto crafted = where.in_key ? key : state;
  const auto at = where.at < 0 ? crafted.size() - static_cast<std::size_t>(-where.at)
                               : static_cast<std::size_t>(where.at);
  crafted.replace(at, ordered.size(), ordered);
  if (where.in_key) {
    store.replace(slice, key, {}, version).value();
    version = 0;
  }
  store.replace(slice, where.in_key ? crafted : key, where.in_key ? state : crafted, version)
      .value();
  store.complete({found->epoch + 1, "m"}).value();
}

inline constexpr std::int64_t kCraftedWatermark = 900;

// Rows of six keys and 20 times, for each input: row(input, key, time).
template <class TakeRow>
void for_each_crafted_row(std::size_t inputs, const TakeRow& row) {
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::size_t input = 0; input < inputs; ++input)
      row(input, i % 6, 1'000 + 10 * i);
  }
}

// What an operator says that goes on with it, has more rows, and comes to its end.
inline Status go_on_interpreted(const Subject& subject, StateStore& store) {
  const auto one = subject.make(parts_of(subject, store));
  for (std::size_t input = 0; input < subject.inputs; ++input)
    one->set_watermark(input, kCraftedWatermark);
  HF_RETURN_IF_ERROR(one->restore());
  Status status;
  for_each_crafted_row(subject.inputs, [&](std::size_t input, std::int64_t key, std::int64_t time) {
    const sql::Row row{sql::Value::of(key), sql::Value::of(time)};
    if (status) status = one->take(input, RowKind::kInsert, row);
  });
  for (std::size_t input = 0; input < subject.inputs && status; ++input)
    status = one->advance(input, kEndOfTime);
  return status;
}

// The same of compiled code. False: it was refused.
template <class Compiled, bool kTwoInputs>
bool go_on_compiled(const Subject& subject, StateStore& store) {
  const auto before = subject.make(parts_of(subject, store));
  for (std::size_t input = 0; input < subject.inputs; ++input)
    before->set_watermark(input, kCraftedWatermark);
  if (!before->restore()) return false;
  StoreHost host(store);
  query::Output output;
  query::Run run{host, output};
  Compiled one(run);
  Shown rows;
  one.set_watermark(kCraftedWatermark);
  for (const auto slice : before->stored_slices())
    one.adopt_stored(slice - kFirstSlice);
  const auto adopt = [&](std::int64_t slice, std::string_view key, std::string_view state,
                         std::uint64_t version, bool changed) -> Status {
    if (one.adopt(
            {slice, {key.data(), key.size()}, {state.data(), state.size()}, version, changed}))
      return {};
    return Error{Errc::kCorrupt, "none of this query"};
  };
  if (!before->visit_state(adopt)) return false;
  for_each_crafted_row(subject.inputs, [&](std::size_t input, std::int64_t key, std::int64_t time) {
    const Row row(query::some(key), query::some(time));
    if (run.failed) return;
    if constexpr (!kTwoInputs)
      one.take(rows, query::Change::kInsert, row);
    else if (input == 0)
      one.template take<query::Side::kLeft>(rows, query::Change::kInsert, row);
    else
      one.template take<query::Side::kRight>(rows, query::Change::kInsert, row);
  });
  if (!run.failed) one.pass(rows, kCraftedWatermark, kEndOfTime);
  return !run.failed;
}

template <class Compiled, bool kTwoInputs = false>
void check_crafted(const Subject& subject, const std::vector<CraftedPlace>& places) {
  test_idle_ms = 0;
  constexpr std::uint64_t kNoMemory = 200;
  const auto in_store = [](const std::string& region, const auto& run) {
    KvStateStore store(KvStateStore::open_region(region).value(), 1, kNoMemory);
    EXPECT_TRUE(store.open().value());
    return run(store);
  };
  for (const auto& where : places) {
    for (const auto number : {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX}) {
      SCOPED_TRACE(std::to_string(where.table) + (where.in_key ? " key " : " state ") +
                   std::to_string(where.at) + ": " + std::to_string(number));
      Place place;
      const auto region = place / "one";
      {
        World world(region, kNoMemory);
        world.begin(subject, begin_interpreted);
        for_each_crafted_row(subject.inputs,
                             [&](std::size_t input, std::int64_t key, std::int64_t time) {
                               world.process->take(input, RowKind::kInsert, key, time);
                             });
        for (std::size_t input = 0; input < subject.inputs; ++input)
          world.process->advance(input, kCraftedWatermark);
        world.complete();
        world.close();
      }
      const auto interpreted = [&](StateStore& store) { return go_on_interpreted(subject, store); };
      const auto compiled = [&](StateStore& store) {
        return go_on_compiled<Compiled, kTwoInputs>(subject, store);
      };
      ASSERT_TRUE(in_store(region, interpreted)) << "as it was";
      ASSERT_TRUE(in_store(region, compiled)) << "as it was";
      craft(region, where, number);
      EXPECT_EQ(in_store(region, interpreted).code(), Errc::kCorrupt);
      EXPECT_FALSE(in_store(region, compiled));
    }
  }
}

}  // namespace holdfast::stream::graph
