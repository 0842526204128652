// shard_keys.hpp: which operators of a plan can run in shards, each over the rows of its keys, and
// which columns of its tables say where a row goes: docs/stream_workers.md.
//
// Guarantee  All rows that an operator in a shard must see together come to one shard: rows whose
//            columns have equal values, NULL among them. What is not in shards reads what comes out
//            of them, and no shard reads it.
// Threads    Any.   Errors  kUnsupported: why a plan has no shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/sql/plan.hpp>

namespace holdfast::stream {

struct ShardKeys {
  // By node: whether each shard has it. The others are there once.
  std::vector<bool> sharded;
  // By node. Of a scan in shards: the columns whose values name the shard of a row; none: any shard
  // will do. Of an operator with state there: which of its own keys are these columns, in the same
  // order.
  std::vector<std::vector<std::uint32_t>> columns;
};

Result<ShardKeys> shard_keys(const sql::Plan& plan);

// The keys by which an operator with state keeps its rows apart; of a join those of its left side.
// Null: it has none.
const std::vector<sql::ExpressionPointer>* state_keys_of(const sql::Node& node);

}  // namespace holdfast::stream
