#include "kv_state_store.hpp"

#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/cursor.hpp>

namespace holdfast::stream {

Result<std::shared_ptr<kv::Store<>>> KvStateStore::open_region(const std::string& spec) {
  kv::StoreOptions options;
  options.order = true;
  HF_ASSIGN_OR_RETURN(auto store, kv::Store<>::open(spec, options));
  return std::make_shared<kv::Store<>>(std::move(store));
}

KvStateStore::KvStateStore(std::shared_ptr<kv::Store<>> store, std::uint32_t query)
    : store_(std::move(store)), state_keys_(query), keys_(kGroup), states_(kGroup) {}

Result<std::optional<Checkpoint>> KvStateStore::open() {
  std::string value;
  const auto found = store_->get(state_keys_.other('m'), value);
  if (!found && found.code() != Errc::kNotFound) return found.error();
  std::optional<Checkpoint> checkpoint;
  if (found) {
    if (value.size() < StateKeys::kEpochBytes)
      return Error{Errc::kCorrupt, "the region's record of the last checkpoint is too short"};
    checkpoint = Checkpoint{StateKeys::number_at(value), value.substr(StateKeys::kEpochBytes)};
    epoch_ = checkpoint->epoch;
  }
  HF_RETURN_IF_ERROR(remove_later_epochs());
  return checkpoint;
}

Status KvStateStore::remove_later_epochs() {
  std::vector<std::string> later;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(state_keys_.entries()); cursor; cursor.next()) {
    if (cursor.key().size() < state_keys_.least_bytes())
      return Error{Errc::kCorrupt, "the region has a record that is no state of a query"};
    if (HF_MUTANT("ST11", StateKeys::epoch_of(cursor.key()) > epoch_, false))
      later.emplace_back(cursor.key());
  }
  HF_RETURN_IF_ERROR(cursor.status());
  const std::vector<std::string_view> views(later.begin(), later.end());
  std::vector<Errc> outcomes(later.size());
  return later.empty() ? Status() : store_->erase_many(views, outcomes);
}

// One seek per slice: its last key, then the first beyond it.
Result<std::vector<std::int64_t>> KvStateStore::slices() {
  std::vector<std::int64_t> slices;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  cursor.first(state_keys_.entries());
  while (cursor) {
    slices.push_back(state_keys_.slice_of(cursor.key()));
    cursor.seek(state_keys_.behind_slice(slices.back()));
    if (cursor && !cursor.key().starts_with(state_keys_.entries())) break;
  }
  HF_RETURN_IF_ERROR(cursor.status());
  return slices;
}

Status KvStateStore::for_each(std::int64_t slice, Visit visit) {
  const std::string prefix = state_keys_.of_slice(slice);
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(prefix); cursor; cursor.next()) {
    std::string_view key = cursor.key().substr(prefix.size());
    if (key.size() < StateKeys::kEpochBytes)
      return Error{Errc::kCorrupt, "a key of the state is too short"};
    key.remove_suffix(StateKeys::kEpochBytes);
    HF_RETURN_IF_ERROR(visit(key, cursor.value()));
  }
  return cursor.status();
}

Status KvStateStore::replace(std::int64_t slice, std::string_view key, std::string_view state,
                             std::uint64_t& version) {
  HF_RETURN_IF_ERROR(put(slice, key, state));
  const std::uint64_t epoch = epoch_ + 1;
  if (version != 0 && version != epoch) remove_version(slice, key, version);
  if (state.empty()) new_tombstones_.push_back(state_keys_.of_entry(slice, key, epoch));
  version = epoch;
  return {};
}

Status KvStateStore::for_each_version(std::int64_t slice, VisitVersion visit) {
  const std::string prefix = state_keys_.of_slice(slice);
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(prefix); cursor; cursor.next()) {
    std::string_view key = cursor.key().substr(prefix.size());
    if (key.size() < StateKeys::kEpochBytes)
      return Error{Errc::kCorrupt, "a key of the state is too short"};
    const auto epoch = StateKeys::epoch_of(key);
    if (cursor.value().empty()) new_tombstones_.emplace_back(cursor.key());
    key.remove_suffix(StateKeys::kEpochBytes);
    HF_RETURN_IF_ERROR(visit(key, cursor.value(), epoch));
  }
  return cursor.status();
}

void KvStateStore::remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) {
  replaced_.push_back(state_keys_.of_entry(slice, key, version));
}

Status KvStateStore::remove(std::vector<std::string>& keys) {
  if (keys.empty()) return {};
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<Errc> outcomes(keys.size());
  HF_RETURN_IF_ERROR(store_->erase_many(views, outcomes));
  keys.clear();
  return {};
}

Status KvStateStore::put(std::int64_t slice, std::string_view key, std::string_view state) {
  return put_copy(slice, key, state, HF_MUTANT("ST12", epoch_ + 1, epoch_));
}

// Each has an epoch of its own. Until complete() all of them are later than the last completed one.
Status KvStateStore::put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                              std::uint64_t number) {
  if (waiting_ == kGroup) HF_RETURN_IF_ERROR(write_group());
  keys_[waiting_] = state_keys_.of_entry(slice, key, number);
  states_[waiting_++] = state;
  return {};
}

Status KvStateStore::write_group() {
  const std::vector<std::string_view> keys(keys_.begin(), keys_.begin() + waiting_);
  const std::vector<std::string_view> states(states_.begin(), states_.begin() + waiting_);
  waiting_ = 0;
  return keys.empty() ? Status() : store_->put_many(keys, states);
}

Status KvStateStore::complete(const Checkpoint& checkpoint) {
  HF_RETURN_IF_ERROR(write_group());
  HF_RETURN_IF_ERROR(store_->sync());
  std::string value;
  StateKeys::append_number(checkpoint.epoch, value);
  value += checkpoint.metadata;
  const auto put = store_->put(state_keys_.other('m'), value);
  if (!put) return put.error();
  HF_RETURN_IF_ERROR(store_->sync());
  epoch_ = checkpoint.epoch;
  HF_RETURN_IF_ERROR(remove(HF_MUTANT("ST21", tombstones_, new_tombstones_)));
  tombstones_ = std::move(new_tombstones_);
  new_tombstones_.clear();
  HF_RETURN_IF_ERROR(remove(replaced_));
  for (const auto slice : dropped_) {
    const auto erased = store_->erase_prefix(state_keys_.of_slice(slice));
    if (!erased) return erased.error();
  }
  dropped_.clear();
  return {};
}

}  // namespace holdfast::stream
