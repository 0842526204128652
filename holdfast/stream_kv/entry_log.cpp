#include "entry_log.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/meminfo.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/compile/runtime/mark.hpp>

namespace holdfast::stream {
namespace {

constexpr std::size_t kSmallBytes = EntryLog::kBlockBytes / 4;

std::string_view view_of(query::Text text) { return {text.data, text.size}; }

}  // namespace

template <class Visit>
Status EntryLog::for_each_entry(std::string_view block, Visit visit) {
  query::Text rest{block.data(), block.size()}, key{}, state{};
  while (rest.size != 0) {
    Entry entry;
    entry.at = static_cast<std::uint32_t>(block.size() - rest.size);
    if (!query::take_raw(rest, entry.handle) || !query::take_block_entry(rest, key, state))
      return Error{Errc::kCorrupt, "a block of the state ends within an entry"};
    entry.bytes = static_cast<std::uint32_t>(block.size() - rest.size) - entry.at;
    entry.key = view_of(key);
    entry.state = view_of(state);
    HF_RETURN_IF_ERROR(visit(entry));
  }
  return {};
}

// visit(key of the record, block) -> Status, in the order in which they were put.
template <class Visit>
Status EntryLog::for_each_block(kv::Store<>& store, Visit visit) const {
  HF_ASSIGN_OR_RETURN(auto cursor, store.cursor());
  for (cursor.first(keys_.log_of_slice(slice_)); cursor; cursor.next()) {
    if (cursor.key().size() != keys_.log_bytes())
      return Error{Errc::kCorrupt, "a key of a block has " + std::to_string(cursor.key().size()) +
                                       " bytes, not " + std::to_string(keys_.log_bytes())};
    HF_RETURN_IF_ERROR(visit(cursor.key(), cursor.value()));
  }
  return cursor.status();
}

// ---- What the store has ----

Status EntryLog::load(kv::Store<>& store) {
  const std::uint64_t most_handles = memory_limit_bytes() / 2 / sizeof(Place);
  const auto load_one = [&](std::string_view key, std::string_view bytes) {
    const auto block = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({keys_.epoch_of_log(key), StateKeys::number_of_block(key),
                       static_cast<std::uint32_t>(bytes.size())});
    if (bytes.size() < kSmallBytes) small_.push_back(block);
    return load_block(block, bytes, most_handles);
  };
  HF_RETURN_IF_ERROR(for_each_block(store, load_one));
  for (std::uint32_t handle = 0; handle < places_.size(); ++handle) {
    const Place& place = places_[handle];
    if (place.copies == 0)
      free_handles_.push_back(handle);
    else if (is_needed(place))
      blocks_[place.block].wanted_bytes += place.bytes;
  }
  for (std::uint32_t block = 0; block < blocks_.size(); ++block)
    queue_if_wasteful(block);
  return {};
}

Status EntryLog::load_block(std::uint32_t block, std::string_view bytes,
                            std::uint64_t most_handles) {
  return for_each_entry(bytes, [&](const Entry& entry) -> Status {
    if (entry.handle >= most_handles)
      return Error{Errc::kCorrupt, "the handle " + std::to_string(entry.handle) +
                                       " of an entry of the state is beyond what fits memory"};
    if (entry.handle >= places_.size()) {
      query::make_room(places_, entry.handle + std::size_t{1});
      places_.resize(entry.handle + std::size_t{1});
    }
    set_newest(places_[entry.handle], block, entry);
    return {};
  });
}

void EntryLog::set_newest(Place& place, std::uint32_t block, const Entry& entry) {
  place.block = block;
  place.at = entry.at;
  place.bytes = entry.bytes;
  ++place.copies;
  place.tombstone = entry.state.empty() ? 1 : 0;
  const auto time = time_of(entry);
  blocks_[block].oldest_ms = std::min(blocks_[block].oldest_ms, time);
  if (time != kNever) blocks_[block].newest_ms = std::max(blocks_[block].newest_ms, time);
}

std::int64_t EntryLog::time_of(const Entry& entry) {
  if (entry.state.empty()) return kNever;
  query::Text state{entry.state.data(), entry.state.size()};
  std::int64_t time = kAlways;
  query::take_begin(state, time);
  return time;
}

bool EntryLog::is_needed(const Place& place) {
  return place.tombstone == 0 || place.copies > HF_MUTANT("KS10", 1u, 2u);
}

bool EntryLog::is_newest(const Entry& entry, std::uint32_t block) const {
  const Place& place = places_[entry.handle];
  return place.block == block && place.at == entry.at;
}

Status EntryLog::for_each(kv::Store<>& store, StateStore::VisitVersion visit) const {
  return for_each_block(store, [&](std::string_view name, std::string_view bytes) {
    const auto epoch = keys_.epoch_of_log(name);
    const auto number = StateKeys::number_of_block(name);
    return for_each_entry(bytes, [&](const Entry& entry) -> Status {
      const auto block = places_[entry.handle].block;
      const bool is_here = blocks_[block].epoch == epoch && blocks_[block].number == number;
      if (entry.state.empty() || !is_here || !is_newest(entry, block)) return {};
      return visit(entry.key, entry.state, entry.handle | kVersion);
    });
  });
}

std::uint64_t EntryLog::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& block : blocks_)
    bytes += block.bytes;
  return bytes;
}

// ---- Groups ----

std::uint32_t EntryLog::group_hash(std::string_view key) const {
  return static_cast<std::uint32_t>(hash64(StateStore::group_of(key, grouping_)));
}

// Blocks come in the order in which they were put: of a handle that another key had before, the
// last one counts.
Status EntryLog::find_groups(kv::Store<>& store) {
  groups_.reserve(places_.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> hashes;  // Of a block, by handle.
  const auto take_block = [&](std::string_view, std::string_view bytes) -> Status {
    hashes.clear();
    HF_RETURN_IF_ERROR(for_each_entry(bytes, [&](const Entry& entry) -> Status {
      hashes.emplace_back(entry.handle, group_hash(entry.key));
      groups_.prefetch_chain(hashes.back().second);
      return {};
    }));
    for (const auto& [handle, hash] : hashes)
      groups_.prefetch_first(hash);
    for (const auto& [handle, hash] : hashes)
      groups_.set(handle, hash);
    return {};
  };
  HF_RETURN_IF_ERROR(for_each_block(store, take_block));
  finds_ = true;
  return {};
}

Status EntryLog::for_each_of_group(kv::Store<>& store, std::string_view group,
                                   StateStore::VisitVersion visit) {
  if (!finds_) HF_RETURN_IF_ERROR(find_groups(store));
  std::uint32_t block = kNone;  // That `pinned` is.
  kv::Pinned pinned;
  const auto hash = static_cast<std::uint32_t>(hash64(group));
  return groups_.for_each(hash, [&](std::uint32_t handle) -> Status {
    if (HF_MUTANT("KS13", places_[handle].tombstone != 0, false)) return {};
    HF_ASSIGN_OR_RETURN(const auto entry, read(store, handle, block, pinned));
    if (HF_MUTANT("KS14", StateStore::group_of(entry.key, grouping_) != group, false)) return {};
    return visit(entry.key, entry.state, handle | kVersion);
  });
}

Result<EntryLog::Entry> EntryLog::read(kv::Store<>& store, std::uint32_t handle,
                                       std::uint32_t& block, kv::Pinned& pinned) const {
  const Place& place = places_[handle];
  if (place.block != block) {
    HF_ASSIGN_OR_RETURN(pinned, store.get_pinned(key_of(blocks_[place.block])));
    block = place.block;
  }
  query::Text rest{pinned.value().data(), pinned.value().size()}, key{}, state{};
  Entry entry;
  if (place.at < rest.size) rest = {rest.data + place.at, rest.size - place.at};
  if (!query::take_raw(rest, entry.handle) || entry.handle != handle ||
      !query::take_block_entry(rest, key, state))
    return Error{Errc::kCorrupt, "an entry of the state is not where it was put"};
  entry.key = view_of(key);
  entry.state = view_of(state);
  return entry;
}

Status EntryLog::prepare_groups(kv::Store<>& store, PutBlock put,
                                FunctionRef<Status()> write_waiting) {
  HF_RETURN_IF_ERROR(write(put));
  HF_RETURN_IF_ERROR(write_waiting());
  return finds_ ? Status() : find_groups(store);
}

Status EntryLog::end_group(kv::Store<>& store, std::string_view group, std::uint64_t epoch,
                           PutBlock put) {
  std::uint32_t block = kNone;
  kv::Pinned pinned;
  const auto hash = static_cast<std::uint32_t>(hash64(group));
  return groups_.for_each(hash, [&](std::uint32_t handle) -> Status {
    const Place& place = places_[handle];
    // What has an entry of this checkpoint is of another group; its block may not be in the store.
    if (place.tombstone != 0 || blocks_[place.block].epoch == epoch) return {};
    HF_ASSIGN_OR_RETURN(const auto entry, read(store, handle, block, pinned));
    if (StateStore::group_of(entry.key, grouping_) != group) return {};
    return end_entry(handle, entry.key, epoch, put);
  });
}

Result<bool> EntryLog::has_group(kv::Store<>& store, std::string_view group) {
  std::uint32_t block = kNone;
  kv::Pinned pinned;
  bool found = false;
  const auto hash = static_cast<std::uint32_t>(hash64(group));
  HF_RETURN_IF_ERROR(groups_.for_each(hash, [&](std::uint32_t handle) -> Status {
    const Place& place = places_[handle];
    if (place.tombstone != 0 || found) return {};
    HF_ASSIGN_OR_RETURN(const auto entry, read(store, handle, block, pinned));
    found = HF_MUTANT("KS28", StateStore::group_of(entry.key, grouping_) == group, true);
    return {};
  }));
  return found;
}

// ---- Times ----

bool EntryLog::says_times() const {
  return std::none_of(blocks_.begin(), blocks_.end(),
                      [](const Block& block) { return block.oldest_ms == kAlways; });
}

Result<std::int64_t> EntryLog::for_each_of_times(kv::Store<>& store, std::int64_t from,
                                                 std::int64_t until,
                                                 StateStore::VisitVersion visit) const {
  std::int64_t beyond = kNever;
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    const Block& of = blocks_[block];
    if (of.oldest_ms == kNever) continue;  // Also of one that is free.
    if (HF_MUTANT("KS25", of.newest_ms < from, of.newest_ms <= from)) continue;
    if (of.oldest_ms > until) {
      beyond = std::min(beyond, of.oldest_ms);
      continue;
    }
    HF_ASSIGN_OR_RETURN(const auto pinned, store.get_pinned(key_of(of)));
    HF_RETURN_IF_ERROR(for_each_entry(pinned.value(), [&](const Entry& entry) -> Status {
      if (!is_newest(entry, block) || entry.state.empty()) return {};
      const auto time = time_of(entry);
      if (time > until) beyond = HF_MUTANT("KS24", std::min(beyond, time), beyond);
      if (time < from || time > until) return {};
      return visit(entry.key, entry.state, entry.handle | kVersion);
    }));
  }
  return beyond;
}

// ---- What a checkpoint puts ----

std::uint32_t EntryLog::take_block(std::uint64_t epoch) {
  std::uint32_t block = static_cast<std::uint32_t>(blocks_.size());
  if (free_blocks_.empty()) {
    blocks_.emplace_back();
  } else {
    block = free_blocks_.back();
    free_blocks_.pop_back();
  }
  blocks_[block] = {epoch, next_number_++};
  return block;
}

std::uint32_t EntryLog::take_handle() {
  if (!free_handles_.empty()) {
    const auto handle = free_handles_.back();
    free_handles_.pop_back();
    return handle;
  }
  query::make_room(places_, places_.size() + 1);
  places_.emplace_back();
  return static_cast<std::uint32_t>(places_.size() - 1);
}

// The newest entry of a handle is no more wanted where it is.
void EntryLog::forget_bytes(const Place& place) {
  blocks_[place.block].wanted_bytes -= place.bytes;
  queue_if_wasteful(place.block);
}

void EntryLog::queue_if_wasteful(std::uint32_t block) {
  Block& of = blocks_[block];
  if (block == block_ || of.queued || of.wanted_bytes > of.bytes / 2) return;
  of.queued = true;
  wasteful_.push_back(block);
}

void EntryLog::append(std::uint32_t handle, std::string_view key, std::string_view state,
                      std::uint64_t epoch) {
  if (block_ == kNone) block_ = take_block(epoch);
  Place& place = places_[handle];
  if (place.copies != 0 && is_needed(place)) forget_bytes(place);
  Entry entry{handle, key, state, static_cast<std::uint32_t>(filling_.size()), 0};
  query::append_raw(handle, filling_);
  query::append_sized(filling_, [&](std::string& bytes) { bytes += key; });
  query::append_sized(filling_, [&](std::string& bytes) { bytes += state; });
  entry.bytes = static_cast<std::uint32_t>(filling_.size()) - entry.at;
  set_newest(place, block_, entry);
  blocks_[block_].bytes += entry.bytes;
  if (is_needed(place)) blocks_[block_].wanted_bytes += entry.bytes;
}

Status EntryLog::replace(std::string_view key, std::string_view state, std::uint64_t& version,
                         std::uint64_t epoch, PutBlock put) {
  if (filling_.size() >= kBlockBytes) HF_RETURN_IF_ERROR(write(put));
  const auto handle =
      version == 0 ? take_handle() : static_cast<std::uint32_t>(version & ~kVersion);
  if (finds_ && HF_MUTANT("KS15", version == 0, false)) groups_.set(handle, group_hash(key));
  append(handle, key, state, epoch);
  put_bytes_ += places_[handle].bytes;
  version = state.empty() ? 0 : handle | kVersion;
  return {};
}

Status EntryLog::write(PutBlock put) {
  if (block_ == kNone) return {};
  const auto block = std::exchange(block_, kNone);
  HF_RETURN_IF_ERROR(put(key_of(blocks_[block]), filling_));
  if (filling_.size() < kSmallBytes) small_.push_back(block);
  filling_.clear();
  queue_if_wasteful(block);
  return {};
}

// ---- Idle ----

Status EntryLog::end_idle(kv::Store<>& store, std::int64_t oldest_ms, std::int64_t began_ms,
                          std::uint64_t epoch, PutBlock put, Ended ended) {
  const auto count = static_cast<std::uint32_t>(blocks_.size());  // Of those before.
  for (std::uint32_t block = 0; block < count; ++block) {
    const Block& of = blocks_[block];
    // One that has an entry without a time may have others that are older.
    if (of.oldest_ms == kNever || of.epoch == epoch || of.oldest_ms > oldest_ms) continue;
    HF_RETURN_IF_ERROR(end_idle_of(store, block, oldest_ms, began_ms, epoch, put, ended));
  }
  return {};
}

Status EntryLog::end_idle_of(kv::Store<>& store, std::uint32_t block, std::int64_t oldest_ms,
                             std::int64_t began_ms, std::uint64_t epoch, PutBlock put,
                             Ended ended) {
  HF_ASSIGN_OR_RETURN(const auto pinned, store.get_pinned(key_of(blocks_[block])));
  auto oldest = kNever;  // Of what stays.
  const auto look_at = [&](const Entry& entry) -> Status {
    if (!is_newest(entry, block) || entry.state.empty()) return {};
    const auto time = time_of(entry);
    if (HF_MUTANT("KS21", (time == kAlways ? began_ms : time) > oldest_ms, time > oldest_ms)) {
      oldest = std::min(oldest, time);
      return {};
    }
    HF_RETURN_IF_ERROR(end_entry(entry.handle, entry.key, epoch, put));
    return ended(entry.key);
  };
  HF_RETURN_IF_ERROR(for_each_entry(pinned.value(), look_at));
  blocks_[block].oldest_ms = HF_MUTANT("KS22", oldest, kNever);
  return {};
}

Status EntryLog::end_entry(std::uint32_t handle, std::string_view key, std::uint64_t epoch,
                           PutBlock put) {
  if (filling_.size() >= kBlockBytes) HF_RETURN_IF_ERROR(write(put));
  append(handle, key, {}, epoch);
  put_bytes_ += places_[handle].bytes;
  return {};
}

// ---- Space ----

Status EntryLog::finish(kv::Store<>& store, std::uint64_t epoch, PutBlock put) {
  if (small_.size() >= kMostSmall) {
    for (const auto block : small_) {
      if (!std::exchange(blocks_[block].queued, true)) wasteful_.push_back(block);
    }
    small_.clear();
  }
  std::uint64_t budget = std::max(2 * put_bytes_, kLeastBudget);
  std::vector<std::uint32_t> later;
  for (const auto block : std::exchange(wasteful_, {})) {
    // A block of this checkpoint may not be in the store yet.
    if (budget == 0 || blocks_[block].epoch == epoch) {
      later.push_back(block);
      continue;
    }
    budget -= std::min<std::uint64_t>(budget, blocks_[block].wanted_bytes);
    HF_RETURN_IF_ERROR(compact(store, block, epoch, put));
  }
  wasteful_.insert(wasteful_.end(), later.begin(), later.end());
  HF_RETURN_IF_ERROR(write(put));
  put_bytes_ = 0;
  next_number_ = 0;
  return {};
}

Status EntryLog::compact(kv::Store<>& store, std::uint32_t block, std::uint64_t epoch,
                         PutBlock put) {
  std::erase(small_, block);
  const auto pinned = store.get_pinned(key_of(blocks_[block]));
  if (!pinned) return pinned.error();
  Obsolete gone{block, {}};
  const auto take = [&](const Entry& entry) -> Status {
    gone.handles.push_back(entry.handle);
    const bool wanted = is_newest(entry, block) && is_needed(places_[entry.handle]);
    if (HF_MUTANT("KS11", !wanted, true)) return {};
    if (filling_.size() >= kBlockBytes) HF_RETURN_IF_ERROR(write(put));
    append(entry.handle, entry.key, entry.state, epoch);
    return {};
  };
  HF_RETURN_IF_ERROR(for_each_entry(pinned->value(), take));
  obsolete_.push_back(std::move(gone));
  return {};
}

std::vector<std::string> EntryLog::obsolete() const {
  std::vector<std::string> keys;
  for (const auto& gone : obsolete_)
    keys.push_back(key_of(blocks_[gone.block]));
  return keys;
}

void EntryLog::erased() {
  for (const auto& gone : obsolete_) {
    for (const auto handle : gone.handles) {
      Place& place = places_[handle];
      const bool was_needed = is_needed(place);
      --place.copies;
      if (place.copies == 0) {
        place = {};
        if (finds_) groups_.erase(handle);
        free_handles_.push_back(handle);
      } else if (was_needed && !is_needed(place)) {
        forget_bytes(place);  // It hides nothing any more.
      }
    }
    blocks_[gone.block] = {};
    free_blocks_.push_back(gone.block);
  }
  obsolete_.clear();
}

}  // namespace holdfast::stream
