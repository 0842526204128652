// shard_store.hpp: the state store of a query, as one of its shards sees it.
//
// A checkpoint has what that of one worker has: the keys of entries say whose they are. So a run
// resumes with any number of workers. A shard reads all entries of a slice and keeps its own.
//
// Errors  Those of the store; kCorrupt: an entry is none of this query.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/lock.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/state_store.hpp>
#include <holdfast/stream/workers/shard_keys.hpp>

namespace holdfast::stream {

// Of the values of a row's columns, or of a key of the state, as sql::append_bytes() writes them.
inline std::uint32_t shard_of(std::string_view values, std::uint32_t shards) {
  return static_cast<std::uint32_t>((hash64(values) & 0xFFFFFFFF) * shards >> 32);
}

// Which values in the keys of a query's state say whose an entry is.
class StateOwners {
 public:
  StateOwners(const sql::Plan& plan, const ShardKeys& keys);

  // What the keys of a slice begin with, and the types of the values behind that.
  struct Layout {
    std::size_t skipped = 0;
    bool first_part = false;  // The values are a part with its length (graph/keys.hpp).
    std::vector<sql::Type> types;
    std::vector<std::uint32_t> columns;

    // The bytes of these values. Errors: kCorrupt, the key is none of this query.
    Result<std::string> values_in(std::string_view key) const;
  };

  // The slice has a number that all shards begin with, and the first one writes.
  bool is_of_all(std::int64_t slice) const;
  // Of any other slice.
  Layout layout_of(std::int64_t slice) const;

 private:
  const sql::Node& node_of(std::int64_t slice) const;

  const sql::Plan& plan_;
  const ShardKeys& keys_;
};

// The store, for several threads. What is visited has left it by then: a visit may ask it again.
//
// Threads  Any number; those that call for_each_version() and open() are alone.
class SharedStore final : public StateStore {
 public:
  explicit SharedStore(StateStore& store) : store_(store) {}

  Result<std::optional<Checkpoint>> open() override { return store_.open(); }
  Result<std::vector<std::int64_t>> slices() override;
  Status for_each(std::int64_t slice, Visit visit) override {
    return for_each_own(slice, every_key, visit);
  }
  // Only what `owns` names is copied out of the store, and visited when others may use it.
  using Owns = FunctionRef<Result<bool>(std::string_view key)>;
  static Result<bool> every_key(std::string_view) { return true; }
  Status for_each_own(std::int64_t slice, Owns owns, Visit visit);
  Result<std::int64_t> for_each_own_of_times(std::int64_t slice, std::int64_t from,
                                             std::int64_t until, Owns owns, VisitVersion visit);
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override;
  Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                  std::uint64_t number) override;
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t& version) override;
  Status for_each_version(std::int64_t slice, VisitVersion visit) override {
    return store_.for_each_version(slice, visit);
  }
  void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) override;
  bool finds_groups(std::uint64_t& memory_bytes) const override {
    return store_.finds_groups(memory_bytes);
  }
  Result<bool> group_by(std::int64_t slice, Grouping grouping, std::uint64_t least_bytes) override;
  Status for_each_of_group(std::int64_t slice, std::string_view group, VisitVersion visit) override;
  void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                std::int64_t parts) override;
  Result<bool> says_times(std::int64_t slice) override;
  Result<std::int64_t> for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                                         VisitVersion visit) override {
    return for_each_own_of_times(slice, from, until, every_key, visit);
  }
  void drop(std::int64_t slice) override;
  Status complete(const Checkpoint& checkpoint) override { return store_.complete(checkpoint); }
  bool keeps_entries() const override { return store_.keeps_entries(); }

 private:
  KernelMutex mutex_;
  StateStore& store_;
};

class ShardStore final : public StateStore {
 public:
  // Both outlive it. `number`: of `shards`, from 0 on.
  ShardStore(SharedStore& store, const StateOwners& owners, std::uint32_t number,
             std::uint32_t shards)
      : store_(store), owners_(owners), number_(number), shards_(shards) {}

  Result<std::optional<Checkpoint>> open() override { return std::optional<Checkpoint>(); }
  Result<std::vector<std::int64_t>> slices() override { return store_.slices(); }
  Status for_each(std::int64_t slice, Visit visit) override;
  Status put(std::int64_t slice, std::string_view key, std::string_view state) override {
    return store_.put(slice, key, state);
  }
  Status put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                  std::uint64_t number) override {
    return store_.put_copy(slice, key, state, number);
  }
  Status replace(std::int64_t slice, std::string_view key, std::string_view state,
                 std::uint64_t& version) override;
  Status for_each_version(std::int64_t slice, VisitVersion visit) override;
  void remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) override {
    store_.remove_version(slice, key, version);
  }
  bool finds_groups(std::uint64_t& memory_bytes) const override {
    const bool finds = store_.finds_groups(memory_bytes);
    memory_bytes /= shards_;
    return finds;
  }
  Result<bool> group_by(std::int64_t slice, Grouping grouping, std::uint64_t least_bytes) override {
    return store_.group_by(slice, grouping, least_bytes);
  }
  // All of a group are of one shard.
  Status for_each_of_group(std::int64_t slice, std::string_view group,
                           VisitVersion visit) override {
    return store_.for_each_of_group(slice, group, visit);
  }
  void end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                std::int64_t parts) override {
    store_.end_idle(slice, oldest_ms, began_ms, parts);
  }
  Result<bool> says_times(std::int64_t slice) override { return store_.says_times(slice); }
  Result<std::int64_t> for_each_of_times(std::int64_t slice, std::int64_t from, std::int64_t until,
                                         VisitVersion visit) override;
  void drop(std::int64_t slice) override { store_.drop(slice); }
  Status complete(const Checkpoint&) override { return {}; }
  bool keeps_entries() const override { return store_.keeps_entries(); }

 private:
  class Own;

  SharedStore& store_;
  const StateOwners& owners_;
  const std::uint32_t number_, shards_;
};

}  // namespace holdfast::stream
