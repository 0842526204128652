#include "window_state.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream {

Status WindowState::restore() {
  if (store_ == nullptr) return {};
  HF_ASSIGN_OR_RETURN(const auto slices, store_->slices());
  for (const auto slice : slices) {
    if (store_->keeps_entries()) {
      stored_.insert(slice);
      continue;
    }
    GroupMap& groups = memory_[slice];
    const auto take = [&](std::string_view key, std::string_view state) -> Status {
      Accumulators accumulators;
      HF_RETURN_IF_ERROR(read(state, accumulators));
      merge(groups[std::string(key)], accumulators);  // A savepoint has a delta of each checkpoint.
      return {};
    };
    HF_RETURN_IF_ERROR(store_->for_each(slice, take));
  }
  return {};
}

Accumulators& WindowState::at(std::int64_t slice, const std::string& key) {
  if (last_ == nullptr || last_slice_ != slice) {
    last_ = &memory_[slice];
    last_slice_ = slice;
  }
  auto& accumulators = (*last_)[key];
  if (accumulators.empty()) {
    accumulators.resize(aggregates_.size());
    if (++groups_ >= look_at_) look_at_room();
  }
  return accumulators;
}

// Each group that is new since the last look counts.
void WindowState::look_at_room() {
  constexpr std::uint64_t kGroupsBetweenLooks = 4096;
  // What the map allocates for a group, beside what a key and accumulators have.
  constexpr std::uint64_t kOfMap = sizeof(GroupMap::value_type) + 64;
  look_at_ = groups_ + kGroupsBetweenLooks;
  std::uint64_t room = 0;
  if (store_ == nullptr || !store_->takes_blocks(room)) return;
  if (entries() * (kOfMap + aggregates_.size() * sizeof(sql::Accumulator)) > room)
    store_->ask_for_checkpoint();
}

void WindowState::merge(Accumulators& into, const Accumulators& from) const {
  into.resize(aggregates_.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    into[i].merge(aggregates_[i], from[i]);
}

Status WindowState::read(std::string_view bytes, Accumulators& accumulators) const {
  accumulators.resize(aggregates_.size());
  for (std::size_t i = 0; i < aggregates_.size(); ++i) {
    if (!accumulators[i].take_bytes(aggregates_[i], bytes))
      return Error{Errc::kCorrupt, "an entry of the state is none of this query"};
  }
  if (!bytes.empty()) return Error{Errc::kCorrupt, "an entry of the state has bytes left over"};
  return {};
}

Status WindowState::read_stored(std::int64_t slice, std::map<std::string, Accumulators>& merged) {
  return store_->for_each(slice, [&](std::string_view key, std::string_view state) -> Status {
    Accumulators accumulators;
    HF_RETURN_IF_ERROR(read(state, accumulators));
    merge(merged[std::string(key)], accumulators);
    return {};
  });
}

Status WindowState::gather(std::span<const std::int64_t> slices,
                           FunctionRef<Status(std::string_view key, const Accumulators&)> visit) {
  std::map<std::string, Accumulators> merged;
  for (const auto slice : slices) {
    if (HF_MUTANT("ST10", stored_.contains(slice), false))
      HF_RETURN_IF_ERROR(read_stored(slice, merged));
    const auto found = memory_.find(slice);
    if (found == memory_.end()) continue;
    for (const auto& [key, accumulators] : found->second)
      merge(merged[key], accumulators);
  }
  for (const auto& [key, accumulators] : merged)
    HF_RETURN_IF_ERROR(visit(key, accumulators));
  return {};
}

void WindowState::drop(std::int64_t slice) {
  last_ = nullptr;
  memory_.erase(slice);
  if (HF_MUTANT("ST09", stored_.erase(slice) != 0, false)) store_->drop(slice);
}

std::set<std::int64_t> WindowState::slices() const {
  std::set<std::int64_t> slices = stored_;
  for (const auto& [slice, groups] : memory_)
    slices.insert(slice);
  return slices;
}

Status WindowState::visit_entries(
    FunctionRef<Status(std::int64_t slice, std::string_view key, std::string_view state)> visit)
    const {
  std::string bytes;
  std::vector<const GroupMap::value_type*> in_order;  // As kv wants them, to read them in parts.
  for (const auto& [slice, groups] : memory_) {
    in_order.clear();
    for (const auto& group : groups)
      in_order.push_back(&group);
    std::sort(in_order.begin(), in_order.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    for (const auto* group : in_order) {
      bytes.clear();
      for (std::size_t i = 0; i < aggregates_.size(); ++i)
        group->second[i].append_bytes(aggregates_[i], bytes);
      HF_RETURN_IF_ERROR(visit(slice, group->first, bytes));
    }
  }
  return {};
}

Status WindowState::put_all() {
  if (store_ == nullptr) return {};
  HF_RETURN_IF_ERROR(
      visit_entries([this](std::int64_t slice, std::string_view key, std::string_view state) {
        return store_->put(slice, key, state);
      }));
  if (HF_MUTANT("ST08", !store_->keeps_entries(), true)) return {};
  for (const auto& [slice, groups] : memory_)
    stored_.insert(slice);
  last_ = nullptr;
  memory_.clear();
  groups_ = look_at_ = 0;
  return {};
}

std::uint64_t WindowState::entries() const {
  std::uint64_t count = 0;
  for (const auto& [slice, groups] : memory_)
    count += groups.size();
  return count;
}

std::uint64_t WindowState::bytes() const {
  constexpr std::uint64_t kSample = 16;
  std::string sample;
  std::uint64_t count = 0;
  for (const auto& [slice, groups] : memory_) {
    for (const auto& [key, accumulators] : groups) {
      if (count == kSample) break;
      sample += key;
      for (std::size_t i = 0; i < aggregates_.size(); ++i)
        accumulators[i].append_bytes(aggregates_[i], sample);
      ++count;
    }
  }
  return count == 0 ? 0 : sample.size() * entries() / count;
}

SliceMap WindowState::take_slices(std::int64_t last) {
  SliceMap taken;
  while (!memory_.empty() && memory_.begin()->first <= last)
    taken.insert(memory_.extract(memory_.begin()));
  last_ = nullptr;
  return taken;
}

void WindowState::absorb(SliceMap slices) {
  last_ = nullptr;
  for (auto& [slice, groups] : slices) {
    GroupMap& ours = memory_[slice];
    if (ours.size() < groups.size()) ours.swap(groups);
    for (const auto& [key, accumulators] : groups)
      merge(ours[key], accumulators);
  }
}

}  // namespace holdfast::stream
