#include "kv_state_store.hpp"

#include <bit>
#include <cstring>
#include <utility>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/cursor.hpp>

namespace holdfast::stream {
namespace {

constexpr std::size_t kSliceBytes = 8, kEpochBytes = 8;

void append_big_endian(std::uint64_t value, std::string& bytes) {
  for (int shift = 56; shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes.substr(0, 8))
    value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

// Negative slices come before positive ones.
std::uint64_t ordered(std::int64_t slice) {
  return static_cast<std::uint64_t>(slice) ^ (std::uint64_t{1} << 63);
}

std::uint64_t epoch_of(std::string_view key) {
  return big_endian(key.substr(key.size() - kEpochBytes));
}

}  // namespace

Result<std::shared_ptr<kv::Store<>>> KvStateStore::open_region(const std::string& spec) {
  kv::StoreOptions options;
  options.order = true;
  HF_ASSIGN_OR_RETURN(auto store, kv::Store<>::open(spec, options));
  return std::make_shared<kv::Store<>>(std::move(store));
}

KvStateStore::KvStateStore(std::shared_ptr<kv::Store<>> store, std::uint32_t query)
    : store_(std::move(store)), keys_(kGroup), states_(kGroup) {
  for (int shift = 24; shift >= 0; shift -= 8)
    entries_ += static_cast<char>(query >> shift);
  meta_ = entries_ + "m";
  entries_ += "e";
}

Result<std::optional<Checkpoint>> KvStateStore::open() {
  std::string value;
  const auto found = store_->get(meta_, value);
  if (!found && found.code() != Errc::kNotFound) return found.error();
  std::optional<Checkpoint> checkpoint;
  if (found) {
    if (value.size() < kEpochBytes)
      return Error{Errc::kCorrupt, "the region's record of the last checkpoint is too short"};
    checkpoint = Checkpoint{big_endian(value), value.substr(kEpochBytes)};
    epoch_ = checkpoint->epoch;
  }
  HF_RETURN_IF_ERROR(remove_later_epochs());
  return checkpoint;
}

Status KvStateStore::remove_later_epochs() {
  std::vector<std::string> later;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(entries_); cursor; cursor.next()) {
    if (cursor.key().size() < entries_.size() + kSliceBytes + kEpochBytes)
      return Error{Errc::kCorrupt, "the region has a record that is no state of a query"};
    if (HF_MUTANT("ST11", epoch_of(cursor.key()) > epoch_, false)) later.emplace_back(cursor.key());
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
  cursor.first(entries_);
  while (cursor) {
    const std::uint64_t slice = big_endian(cursor.key().substr(entries_.size()));
    slices.push_back(static_cast<std::int64_t>(slice ^ (std::uint64_t{1} << 63)));
    if (slice == ~std::uint64_t{0}) break;
    std::string next = entries_;
    append_big_endian(slice + 1, next);
    cursor.seek(next);
    if (cursor && !cursor.key().starts_with(entries_)) break;
  }
  HF_RETURN_IF_ERROR(cursor.status());
  return slices;
}

Status KvStateStore::for_each(std::int64_t slice, Visit visit) {
  std::string prefix = entries_;
  append_big_endian(ordered(slice), prefix);
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(prefix); cursor; cursor.next()) {
    std::string_view key = cursor.key().substr(prefix.size());
    if (key.size() < kEpochBytes) return Error{Errc::kCorrupt, "a key of the state is too short"};
    key.remove_suffix(kEpochBytes);
    HF_RETURN_IF_ERROR(visit(key, cursor.value()));
  }
  return cursor.status();
}

std::string KvStateStore::full_key(std::int64_t slice, std::string_view key,
                                   std::uint64_t epoch) const {
  std::string full = entries_;
  append_big_endian(ordered(slice), full);
  full += key;
  append_big_endian(epoch, full);
  return full;
}

Status KvStateStore::replace(std::int64_t slice, std::string_view key, std::string_view state,
                             std::uint64_t& version) {
  HF_RETURN_IF_ERROR(put(slice, key, state));
  const std::uint64_t epoch = epoch_ + 1;
  if (version != 0 && version != epoch) remove_version(slice, key, version);
  if (state.empty()) new_tombstones_.push_back(full_key(slice, key, epoch));
  version = epoch;
  return {};
}

Status KvStateStore::for_each_version(std::int64_t slice, VisitVersion visit) {
  std::string prefix = entries_;
  append_big_endian(ordered(slice), prefix);
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(prefix); cursor; cursor.next()) {
    std::string_view key = cursor.key().substr(prefix.size());
    if (key.size() < kEpochBytes) return Error{Errc::kCorrupt, "a key of the state is too short"};
    const auto epoch = epoch_of(key);
    if (cursor.value().empty()) new_tombstones_.emplace_back(cursor.key());
    key.remove_suffix(kEpochBytes);
    HF_RETURN_IF_ERROR(visit(key, cursor.value(), epoch));
  }
  return cursor.status();
}

void KvStateStore::remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) {
  replaced_.push_back(full_key(slice, key, version));
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
  if (waiting_ == kGroup) HF_RETURN_IF_ERROR(write_group());
  keys_[waiting_] = full_key(slice, key, HF_MUTANT("ST12", epoch_ + 1, epoch_));
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
  append_big_endian(checkpoint.epoch, value);
  value += checkpoint.metadata;
  const auto put = store_->put(meta_, value);
  if (!put) return put.error();
  HF_RETURN_IF_ERROR(store_->sync());
  epoch_ = checkpoint.epoch;
  HF_RETURN_IF_ERROR(remove(HF_MUTANT("ST21", tombstones_, new_tombstones_)));
  tombstones_ = std::move(new_tombstones_);
  new_tombstones_.clear();
  HF_RETURN_IF_ERROR(remove(replaced_));
  for (const auto slice : dropped_) {
    std::string prefix = entries_;
    append_big_endian(ordered(slice), prefix);
    const auto erased = store_->erase_prefix(prefix);
    if (!erased) return erased.error();
  }
  dropped_.clear();
  return {};
}

}  // namespace holdfast::stream
