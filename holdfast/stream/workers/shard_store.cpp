#include "shard_store.hpp"

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/stream/compile/runtime/changes.hpp>
#include <holdfast/stream/graph/keys.hpp>

namespace holdfast::stream {
namespace {

constexpr std::size_t kTime = 8;  // Bytes of a time in front of a key.

Error none_of_this_query() {
  return {Errc::kCorrupt, "an entry of the state is none of this query"};
}

}  // namespace

StateOwners::StateOwners(const sql::Plan& plan, const ShardKeys& keys) : plan_(plan), keys_(keys) {}

const sql::Node& StateOwners::node_of(std::int64_t slice) const {
  return plan_.nodes[static_cast<std::size_t>(query::node_of_slice(slice))];
}

// NextNumber.
bool StateOwners::is_of_all(std::int64_t slice) const {
  const auto at = slice - query::first_slice(query::node_of_slice(slice));
  const auto& node = node_of(slice);
  if (const auto* join = std::get_if<sql::Join>(&node.what))
    return join->form == sql::JoinForm::kWindow && at == 2;
  const auto* rank = std::get_if<sql::Rank>(&node.what);
  return rank != nullptr && rank->by_columns && at == 1;
}

// What each operator says of its state, in its header.
StateOwners::Layout StateOwners::layout_of(std::int64_t slice) const {
  const auto number = query::node_of_slice(slice);
  const auto& node = node_of(slice);
  Layout layout;
  layout.columns = keys_.columns[static_cast<std::size_t>(number)];
  for (const auto& key : *state_keys_of(node))
    layout.types.push_back(key->type);
  layout.first_part = true;
  if (const auto* group = std::get_if<sql::Group>(&node.what)) {
    const bool running = !group->windowed && group->row_size == 0;
    // Parts of the values of a group.
    layout.first_part = running && slice != query::first_slice(number);
    if (group->by_columns) layout.skipped = 2 * kTime;
  } else if (const auto* join = std::get_if<sql::Join>(&node.what)) {
    if (join->form == sql::JoinForm::kWindow) layout.skipped = kTime + 1;
  } else if (const auto* rank = std::get_if<sql::Rank>(&node.what)) {
    if (rank->by_columns) layout.skipped = kTime;
  }
  return layout;
}

Result<std::string> StateOwners::Layout::values_in(std::string_view key) const {
  if (key.size() < skipped) return none_of_this_query();
  key.remove_prefix(skipped);
  std::string_view values = key;
  if (first_part && !graph::take_part(key, values)) return none_of_this_query();
  std::vector<std::string_view> parts;
  for (const auto& type : types) {
    const auto before = values;
    sql::Value value;
    if (!sql::take_bytes(values, type, value)) return none_of_this_query();
    parts.push_back(before.substr(0, before.size() - values.size()));
  }
  std::string bytes;
  for (const auto column : columns)
    bytes += parts[column];
  return bytes;
}

// ---- The store, for all ----

namespace {

// Entries that are visited when the store has been left.
struct Entries {
  struct Entry {
    std::string key, state;
    std::uint64_t version;
  };
  std::vector<Entry> all;

  auto taker(SharedStore::Owns owns) {
    return [this, owns](std::string_view key, std::string_view state,
                        std::uint64_t version) -> Status {
      HF_ASSIGN_OR_RETURN(const bool own, owns(key));
      if (own) all.push_back({std::string(key), std::string(state), version});
      return {};
    };
  }
  Status visit(StateStore::VisitVersion visit) const {
    for (const auto& entry : all)
      HF_RETURN_IF_ERROR(visit(entry.key, entry.state, entry.version));
    return {};
  }
};

}  // namespace

Result<std::vector<std::int64_t>> SharedStore::slices() {
  const Lock lock(mutex_);
  return store_.slices();
}

Status SharedStore::for_each_own(std::int64_t slice, Owns owns, Visit visit) {
  Entries entries;
  {
    const Lock lock(mutex_);
    HF_RETURN_IF_ERROR(store_.for_each(slice, [&](std::string_view key, std::string_view state) {
      return entries.taker(owns)(key, state, 0);
    }));
  }
  return entries.visit([&](std::string_view key, std::string_view state, std::uint64_t) {
    return visit(key, state);
  });
}

Status SharedStore::put(std::int64_t slice, std::string_view key, std::string_view state) {
  const Lock lock(mutex_);
  return store_.put(slice, key, state);
}

Status SharedStore::put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                             std::uint64_t number) {
  const Lock lock(mutex_);
  return store_.put_copy(slice, key, state, number);
}

Status SharedStore::replace(std::int64_t slice, std::string_view key, std::string_view state,
                            std::uint64_t& version) {
  const Lock lock(mutex_);
  return store_.replace(slice, key, state, version);
}

void SharedStore::remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) {
  const Lock lock(mutex_);
  store_.remove_version(slice, key, version);
}

Result<bool> SharedStore::group_by(std::int64_t slice, Grouping grouping,
                                   std::uint64_t least_bytes) {
  const Lock lock(mutex_);
  return store_.group_by(slice, grouping, least_bytes);
}

Status SharedStore::for_each_of_group(std::int64_t slice, std::string_view group,
                                      VisitVersion visit) {
  Entries entries;
  {
    const Lock lock(mutex_);
    HF_RETURN_IF_ERROR(store_.for_each_of_group(slice, group, entries.taker(every_key)));
  }
  return entries.visit(visit);
}

void SharedStore::end_idle(std::int64_t slice, std::int64_t oldest_ms, std::int64_t began_ms,
                           std::int64_t parts) {
  const Lock lock(mutex_);
  store_.end_idle(slice, oldest_ms, began_ms, parts);
}

Result<bool> SharedStore::says_times(std::int64_t slice) {
  const Lock lock(mutex_);
  return store_.says_times(slice);
}

Result<std::int64_t> SharedStore::for_each_own_of_times(std::int64_t slice, std::int64_t from,
                                                        std::int64_t until, Owns owns,
                                                        VisitVersion visit) {
  Entries entries;
  std::int64_t beyond = 0;
  {
    const Lock lock(mutex_);
    HF_ASSIGN_OR_RETURN(beyond, store_.for_each_of_times(slice, from, until, entries.taker(owns)));
  }
  HF_RETURN_IF_ERROR(entries.visit(visit));
  return beyond;
}

void SharedStore::drop(std::int64_t slice) {
  const Lock lock(mutex_);
  store_.drop(slice);
}

// ---- A shard's ----

// Names the keys of a slice that are this shard's.
class ShardStore::Own {
 public:
  Own(const ShardStore& store, std::int64_t slice)
      : store_(store), of_all_(store.owners_.is_of_all(slice)) {
    if (!of_all_) layout_ = store.owners_.layout_of(slice);
  }
  Result<bool> operator()(std::string_view key) const {
    if (of_all_) return true;
    HF_ASSIGN_OR_RETURN(const auto values, layout_.values_in(key));
    return HF_MUTANT("ST154", shard_of(values, store_.shards_) == store_.number_, true);
  }

 private:
  const ShardStore& store_;
  const bool of_all_;
  StateOwners::Layout layout_;
};

Status ShardStore::for_each(std::int64_t slice, Visit visit) {
  const Own own(*this, slice);
  return store_.for_each_own(slice, own, visit);
}

Status ShardStore::replace(std::int64_t slice, std::string_view key, std::string_view state,
                           std::uint64_t& version) {
  if (number_ != 0 && owners_.is_of_all(slice)) return {};
  return store_.replace(slice, key, state, version);
}

Status ShardStore::for_each_version(std::int64_t slice, VisitVersion visit) {
  const Own own(*this, slice);
  return store_.for_each_version(
      slice, [&](std::string_view key, std::string_view state, std::uint64_t version) -> Status {
        HF_ASSIGN_OR_RETURN(const bool is_own, own(key));
        return is_own ? visit(key, state, version) : Status();
      });
}

Result<std::int64_t> ShardStore::for_each_of_times(std::int64_t slice, std::int64_t from,
                                                   std::int64_t until, VisitVersion visit) {
  const Own own(*this, slice);
  return store_.for_each_own_of_times(slice, from, until, own, visit);
}

}  // namespace holdfast::stream
