#include "kv_state_store.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <holdfast/base/meminfo.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/stream/compile/runtime/blocks.hpp>
#include <holdfast/stream/compile/runtime/mark.hpp>

namespace holdfast::stream {
namespace {

constexpr std::uint64_t kHasFormat = std::uint64_t{1} << 63;
constexpr char kFormat = 4, kOldestFormat = 2;  // Without a byte: 1.
constexpr std::size_t kSmallBlock = 16384;      // Smaller ones share a fence.
// Of a block's number. Without the first it is of a build that knew no runs.
constexpr std::uint32_t kSaysRun = std::uint32_t{1} << 31, kInRun = 1;

}  // namespace

Result<std::shared_ptr<kv::Store<>>> KvStateStore::open_region(const std::string& spec,
                                                               RegionAccess access) {
  kv::StoreOptions options;
  options.access = access;
  options.order = true;
  options.verify_reads = true;  // Of few and long records: what a restart reads is what was put.
  HF_ASSIGN_OR_RETURN(auto store, kv::Store<>::open(spec, options));
  return std::make_shared<kv::Store<>>(std::move(store));
}

std::uint64_t KvStateStore::memory_for_each_of(std::size_t queries) {
  return memory_limit_bytes() / 4 / std::max<std::size_t>(queries, 1);
}

KvStateStore::KvStateStore(std::shared_ptr<kv::Store<>> store, std::uint32_t query,
                           std::uint64_t memory_bytes)
    : store_(std::move(store)),
      state_keys_(query),
      memory_bytes_(memory_bytes),
      keys_(kGroup),
      values_(kGroup) {}

Result<std::optional<Checkpoint>> KvStateStore::read_checkpoint() {
  std::string value;
  const auto found = store_->get(state_keys_.other('m'), value);
  if (!found && found.code() != Errc::kNotFound) return found.error();
  if (!found) return std::optional<Checkpoint>();
  if (value.size() < StateKeys::kEpochBytes)
    return Error{Errc::kCorrupt, "the region's record of the last checkpoint is too short"};
  const std::uint64_t number = StateKeys::number_at(value);
  std::string_view metadata = std::string_view(value).substr(StateKeys::kEpochBytes);
  if ((number & kHasFormat) == 0) return std::optional(Checkpoint{number, std::string(metadata)});
  const int format = metadata.empty() ? 0 : static_cast<unsigned char>(metadata.front());
  if (HF_MUTANT("KS7", format < kOldestFormat || format > kFormat, false)) {
    return Error{Errc::kNewerFormat, "the region's state has format " + std::to_string(format) +
                                         "; this build knows those up to " +
                                         std::to_string(kFormat)};
  }
  return std::optional(Checkpoint{number & ~kHasFormat, std::string(metadata.substr(1))});
}

Result<std::optional<Checkpoint>> KvStateStore::open() {
  HF_ASSIGN_OR_RETURN(auto checkpoint, read_checkpoint());
  if (checkpoint) epoch_ = checkpoint->epoch;
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
  for (cursor.first(state_keys_.blocks()); cursor; cursor.next()) {
    HF_RETURN_IF_ERROR(check_block(cursor.key()));
    if (HF_MUTANT("KS1", state_keys_.epoch_of_block(cursor.key()) > epoch_, false))
      later.emplace_back(cursor.key());
  }
  HF_RETURN_IF_ERROR(cursor.status());
  for (cursor.first(state_keys_.logs()); cursor; cursor.next()) {
    if (cursor.key().size() != state_keys_.log_bytes())
      return Error{Errc::kCorrupt, "the region has a record that is no log of a query"};
    if (HF_MUTANT("KS8", state_keys_.epoch_of_log(cursor.key()) > epoch_, false))
      later.emplace_back(cursor.key());
  }
  HF_RETURN_IF_ERROR(cursor.status());
  return remove(later);
}

// One seek per slice: its last key, then the first beyond it.
Result<std::vector<std::int64_t>> KvStateStore::slices() {
  std::set<std::int64_t> slices;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  const auto look = [&](const std::string& prefix, auto begin_of) -> Status {
    cursor.first(prefix);
    while (cursor && cursor.key().starts_with(prefix)) {
      const auto slice = state_keys_.slice_of(cursor.key());
      slices.insert(slice);
      if (slice == INT64_MAX) break;
      cursor.seek(begin_of(slice + 1));
    }
    return cursor.status();
  };
  const StateKeys& keys = state_keys_;
  HF_RETURN_IF_ERROR(look(keys.entries(), [&](std::int64_t of) { return keys.of_slice(of); }));
  HF_RETURN_IF_ERROR(
      look(keys.blocks(), [&](std::int64_t of) { return keys.blocks_of_slice(of); }));
  HF_RETURN_IF_ERROR(look(keys.logs(), [&](std::int64_t of) { return keys.log_of_slice(of); }));
  return std::vector(slices.begin(), slices.end());
}

Status KvStateStore::for_each_entry(std::int64_t slice, Visit visit) {
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

// `key`: of a block, as the store has it.
Status KvStateStore::check_block(std::string_view key) const {
  if (key.size() == state_keys_.block_bytes()) {
    // There is one behind each: a reader that goes on with it does not begin again.
    const auto generation = state_keys_.generation_of_block(key);
    if (generation != 0 && generation != UINT64_MAX &&
        StateKeys::number_of_block(key) != UINT32_MAX)
      return {};
    return Error{Errc::kCorrupt, "a block of the state has a generation or a number that none has"};
  }
  return Error{Errc::kCorrupt, "a key of a block has " + std::to_string(key.size()) +
                                   " bytes, not " + std::to_string(state_keys_.block_bytes())};
}

Status KvStateStore::next_generation(std::int64_t slice, std::uint64_t& generation,
                                     query::BlockPlace& run) {
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  cursor.seek(state_keys_.of_generation(slice, generation + 1));
  generation = 0;
  if (!cursor || !cursor.key().starts_with(state_keys_.blocks_of_slice(slice)))
    return cursor.status();
  HF_RETURN_IF_ERROR(check_block(cursor.key()));
  generation = state_keys_.generation_of_block(cursor.key());
  if (!cursor.last(state_keys_.of_generation(slice, generation))) return cursor.status();
  HF_RETURN_IF_ERROR(check_block(cursor.key()));
  constexpr auto kBoth = kSaysRun | kInRun;
  const bool in_run = (StateKeys::number_of_block(cursor.key()) & kBoth) == kBoth;
  run = {in_run ? state_keys_.epoch_of_block(cursor.key()) : 0, 0};
  return {};
}

Status KvStateStore::next_block(std::int64_t slice, std::uint64_t generation,
                                query::BlockPlace& place, std::string& block) {
  block.clear();
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  cursor.seek(state_keys_.of_block(slice, generation, place.epoch, place.number));
  if (!cursor || !cursor.key().starts_with(state_keys_.of_generation(slice, generation)))
    return cursor.status();
  HF_RETURN_IF_ERROR(check_block(cursor.key()));
  if (cursor.value().empty()) return Error{Errc::kCorrupt, "a block of the state is empty"};
  place = {state_keys_.epoch_of_block(cursor.key()), StateKeys::number_of_block(cursor.key()) + 1};
  block = cursor.value();
  return {};
}

// Those of a generation in the order of their keys, each with its last state.
Status KvStateStore::for_each(std::int64_t slice, Visit visit) {
  HF_RETURN_IF_ERROR(for_each_entry(slice, visit));
  std::map<std::string, std::string, std::less<>> newest;
  const auto end_generation = [&]() -> Status {
    for (const auto& [key, state] : newest)
      HF_RETURN_IF_ERROR(visit(key, state));
    newest.clear();
    return {};
  };
  query::BlockPlace run;
  for (std::uint64_t generation = 0;;) {
    HF_RETURN_IF_ERROR(next_generation(slice, generation, run));
    if (HF_MUTANT("KS4", true, generation == 0)) HF_RETURN_IF_ERROR(end_generation());
    if (generation == 0) break;
    query::BlockPlace place;
    for (std::string block;;) {
      HF_RETURN_IF_ERROR(next_block(slice, generation, place, block));
      if (block.empty()) break;
      query::Text rest{block.data(), block.size()}, key{}, state{};
      while (rest.size != 0) {
        if (!query::take_block_entry(rest, key, state))
          return Error{Errc::kCorrupt, "a block of the state ends within an entry"};
        newest[std::string(key.data, key.size)].assign(state.data, state.size);
      }
    }
  }
  HF_ASSIGN_OR_RETURN(const EntryLog* const log, log_of(slice));
  return log->for_each(*store_, [&](std::string_view key, std::string_view state, std::uint64_t) {
    return visit(key, state);
  });
}

Status KvStateStore::replace(std::int64_t slice, std::string_view key, std::string_view state,
                             std::uint64_t& version) {
  const std::uint64_t epoch = epoch_ + 1;
  if (version != 0 && !EntryLog::is_version(version)) {
    replaced_.push_back(state_keys_.of_entry(slice, key, version));
    version = 0;
    if (state.empty()) {
      new_tombstones_.push_back(state_keys_.of_entry(slice, key, epoch));
      return put_copy(slice, key, state, HF_MUTANT("KS3", epoch, epoch_));
    }
  }
  HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(slice));
  return log->replace(key, state, version, HF_MUTANT("KS9", epoch, epoch_),
                      std::bind_front(&KvStateStore::put_whole_block, this));
}

Result<EntryLog*> KvStateStore::log_of(std::int64_t slice) {
  const auto found = logs_.find(slice);
  if (found != logs_.end()) return &found->second;
  EntryLog log(state_keys_, slice);
  HF_RETURN_IF_ERROR(log.load(*store_));
  return &logs_.emplace(slice, std::move(log)).first->second;
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
  HF_RETURN_IF_ERROR(cursor.status());
  HF_ASSIGN_OR_RETURN(const EntryLog* const log, log_of(slice));
  return log->for_each(*store_, visit);
}

// ---- Groups ----

Result<std::uint64_t> KvStateStore::bytes_of_singles(std::int64_t slice, std::uint64_t most) {
  std::uint64_t bytes = 0;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(state_keys_.of_slice(slice)); cursor && bytes < most; cursor.next())
    bytes += cursor.key().size() + cursor.value().size();
  HF_RETURN_IF_ERROR(cursor.status());
  return bytes;
}

Result<bool> KvStateStore::group_by(std::int64_t slice, Grouping grouping,
                                    std::uint64_t least_bytes) {
  HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(slice));
  HF_ASSIGN_OR_RETURN(const auto bytes,
                      bytes_of_singles(slice, std::max<std::uint64_t>(least_bytes, 1)));
  if (log->bytes() + bytes < least_bytes) return false;
  if (HF_MUTANT("KS16", bytes != 0, false)) with_singles_[slice] = grouping;
  log->group_by(grouping);
  return true;
}

// The newest entry of each key of a group; the others are stale.
Result<KvStateStore::Singles> KvStateStore::singles_of_group(std::int64_t slice,
                                                             std::string_view group) {
  const auto grouping = with_singles_.at(slice);
  const std::string prefix = state_keys_.of_slice(slice);
  Singles newest;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(prefix + std::string(group)); cursor; cursor.next()) {
    std::string_view key = cursor.key().substr(prefix.size());
    if (key.size() < StateKeys::kEpochBytes)
      return Error{Errc::kCorrupt, "a key of the state is too short"};
    const auto epoch = StateKeys::epoch_of(key);
    key.remove_suffix(StateKeys::kEpochBytes);
    if (group_of(key, grouping) != group) continue;
    if (cursor.value().empty()) new_tombstones_.emplace_back(cursor.key());
    const auto [place, first] = newest.try_emplace(std::string(key));
    if (!first && !place->second.state.empty()) remove_version(slice, key, place->second.version);
    place->second = {std::string(cursor.value()), epoch};
  }
  HF_RETURN_IF_ERROR(cursor.status());
  return newest;
}

Status KvStateStore::for_each_of_group(std::int64_t slice, std::string_view group,
                                       VisitVersion visit) {
  HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(slice));
  if (!with_singles_.contains(slice)) return log->for_each_of_group(*store_, group, visit);
  HF_ASSIGN_OR_RETURN(auto singles, singles_of_group(slice, group));
  HF_RETURN_IF_ERROR(log->for_each_of_group(
      *store_, group, [&](std::string_view key, std::string_view state, std::uint64_t version) {
        if (const auto single = singles.find(key); single != singles.end()) {
          if (!single->second.state.empty()) remove_version(slice, key, single->second.version);
          singles.erase(single);
        }
        return visit(key, state, version);
      }));
  for (const auto& [key, single] : singles) {
    if (!single.state.empty()) HF_RETURN_IF_ERROR(visit(key, single.state, single.version));
  }
  return {};
}

Result<bool> KvStateStore::says_times(std::int64_t slice) {
  HF_ASSIGN_OR_RETURN(const EntryLog* const log, log_of(slice));
  HF_ASSIGN_OR_RETURN(const auto bytes, bytes_of_singles(slice, 1));
  return bytes == 0 && log->says_times();
}

Result<std::int64_t> KvStateStore::for_each_of_times(std::int64_t slice, std::int64_t from,
                                                     std::int64_t until, VisitVersion visit) {
  HF_ASSIGN_OR_RETURN(const EntryLog* const log, log_of(slice));
  return log->for_each_of_times(*store_, from, until, visit);
}

// Removed before the next checkpoint is complete: that one may take the key away, and then nothing
// would hide this entry. Versions of the log are the log's own affair.
void KvStateStore::remove_version(std::int64_t slice, std::string_view key, std::uint64_t version) {
  if (!EntryLog::is_version(version)) stale_.push_back(state_keys_.of_entry(slice, key, version));
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
  const bool goes_on = !put_slices_.empty() && slice == block_slice_;
  if (!block_.empty() && (!goes_on || block_.size() >= query::kBlockBytes))
    HF_RETURN_IF_ERROR(write_block(!goes_on));
  block_slice_ = slice;
  ascends_ = goes_on ? ascends_ && last_key_ < key : put_slices_.insert(slice).second;
  last_key_ = key;
  query::append_sized(block_, [&](std::string& bytes) { bytes += key; });
  query::append_sized(block_, [&](std::string& bytes) { bytes += state; });
  return {};
}

// `last`: of its slice in this checkpoint.
Status KvStateStore::write_block(bool last) {
  if (block_.empty()) return {};
  std::uint64_t generation = 0;
  const auto status = put_block(block_slice_, block_, last && ascends_, generation);
  block_.clear();
  return status;
}

Status KvStateStore::put_block(std::int64_t slice, std::string_view block, bool in_run,
                               std::uint64_t& generation) {
  const std::uint64_t epoch = HF_MUTANT("ST12", epoch_ + 1, epoch_);
  if (generation == 0) generation = HF_MUTANT("KS5", epoch_ + 1, epoch_);
  const std::uint32_t number =
      kSaysRun | HF_MUTANT("KS6", blocks_++, 0) << 1 | (in_run ? kInRun : 0);
  std::string key = state_keys_.of_block(slice, generation, epoch, number);
  return put_whole_block(std::move(key), block);
}

Status KvStateStore::put_whole_block(std::string key, std::string_view block) {
  if (block.size() < kSmallBlock) return put_record(std::move(key), block);
  const std::string_view keys[] = {key}, values[] = {block};
  return store_->put_many(keys, values);
}

// Each has an epoch of its own. Until complete() all of them are later than the last completed one.
Status KvStateStore::put_copy(std::int64_t slice, std::string_view key, std::string_view state,
                              std::uint64_t number) {
  return put_record(state_keys_.of_entry(slice, key, number), state);
}

Status KvStateStore::put_record(std::string key, std::string_view value) {
  if (waiting_ == kGroup) HF_RETURN_IF_ERROR(write_group());
  keys_[waiting_] = std::move(key);
  values_[waiting_++] = value;
  return {};
}

Status KvStateStore::write_group() {
  const std::vector<std::string_view> keys(keys_.begin(), keys_.begin() + waiting_);
  const std::vector<std::string_view> values(values_.begin(), values_.begin() + waiting_);
  waiting_ = 0;
  return keys.empty() ? Status() : store_->put_many(keys, values);
}

Status KvStateStore::end_idle_entries(std::uint64_t epoch) {
  const auto put = std::bind_front(&KvStateStore::put_whole_block, this);
  for (const auto& [slice, idle] : idle_) {
    const bool has_parts = idle.parts != query::kNoSlice;
    HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(slice));
    if (has_parts) HF_RETURN_IF_ERROR(prepare_groups(idle.parts));
    const auto ended = [&, parts = idle.parts](std::string_view key) {
      return HF_MUTANT("KS26", has_parts, false) ? end_parts(parts, key) : Status();
    };
    // Of these first: what the log has of their keys is to be found yet.
    if (with_singles_.contains(slice))
      HF_RETURN_IF_ERROR(has_parts ? end_idle_singles_with_parts(slice, idle)
                                   : end_idle_singles(slice, idle));
    HF_RETURN_IF_ERROR(log->end_idle(*store_, idle.oldest_ms, idle.began_ms, epoch, put, ended));
  }
  idle_.clear();
  return {};
}

Status KvStateStore::prepare_groups(std::int64_t slice) {
  HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(slice));
  return log->prepare_groups(*store_, std::bind_front(&KvStateStore::put_whole_block, this),
                             [this] { return write_group(); });
}

Status KvStateStore::end_idle_singles(std::int64_t slice, const Idle& idle) {
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(state_keys_.of_slice(slice)); cursor; cursor.next()) {
    query::Text state{cursor.value().data(), cursor.value().size()};
    std::int64_t time = idle.began_ms;
    if (query::take_begin(state, time) && HF_MUTANT("KS23", time <= idle.oldest_ms, false))
      replaced_.emplace_back(cursor.key());
  }
  return cursor.status();
}

// An entry must not be there without its parts, nor they without it, should a crash leave one of
// the records. Of a key that has a later entry the parts are those of that one.
Status KvStateStore::end_idle_singles_with_parts(std::int64_t slice, const Idle& idle) {
  std::map<std::string, std::uint64_t> ended;
  const std::string prefix = state_keys_.of_slice(slice);
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (cursor.first(prefix); cursor; cursor.next()) {
    std::string_view key = cursor.key().substr(prefix.size());
    if (key.size() < StateKeys::kEpochBytes)
      return Error{Errc::kCorrupt, "a key of the state is too short"};
    const auto epoch = StateKeys::epoch_of(key);
    key.remove_suffix(StateKeys::kEpochBytes);
    query::Text state{cursor.value().data(), cursor.value().size()};
    std::int64_t time = idle.began_ms;
    if (query::take_begin(state, time) && time <= idle.oldest_ms)
      ended[std::string(key)] = epoch;
    else
      ended.erase(std::string(key));
  }
  HF_RETURN_IF_ERROR(cursor.status());
  if (ended.empty()) return {};
  HF_RETURN_IF_ERROR(prepare_groups(slice));
  HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(slice));
  for (auto& [key, version] : ended) {
    HF_ASSIGN_OR_RETURN(const bool has_later, log->has_group(*store_, key));
    if (has_later) {
      remove_version(slice, key, version);
      continue;
    }
    HF_RETURN_IF_ERROR(end_parts(idle.parts, key));
    HF_RETURN_IF_ERROR(replace(slice, key, {}, version));
  }
  return {};
}

Status KvStateStore::end_parts(std::int64_t parts, std::string_view key) {
  std::string group;
  query::append_size(key.size(), group);
  group += key;
  HF_ASSIGN_OR_RETURN(EntryLog* const log, log_of(parts));
  HF_RETURN_IF_ERROR(log->end_group(*store_, group, epoch_ + 1,
                                    std::bind_front(&KvStateStore::put_whole_block, this)));
  if (!with_singles_.contains(parts)) return {};
  HF_ASSIGN_OR_RETURN(auto singles, singles_of_group(parts, group));
  for (auto& [of_part, single] : singles) {
    if (!single.state.empty()) HF_RETURN_IF_ERROR(replace(parts, of_part, {}, single.version));
  }
  return {};
}

Status KvStateStore::finish_logs(std::uint64_t epoch) {
  const auto put = std::bind_front(&KvStateStore::put_whole_block, this);
  for (auto& [slice, log] : logs_)
    HF_RETURN_IF_ERROR(log.finish(*store_, epoch, put));
  return {};
}

Status KvStateStore::remove_obsolete_blocks() {
  std::vector<std::string> keys;
  for (const auto& [slice, log] : logs_) {
    for (auto& key : log.obsolete())
      keys.push_back(std::move(key));
  }
  HF_RETURN_IF_ERROR(remove(keys));
  for (auto& [slice, log] : logs_)
    log.erased();
  return {};
}

Status KvStateStore::complete(const Checkpoint& checkpoint) {
  HF_RETURN_IF_ERROR(HF_MUTANT("KS12", remove(stale_), ok_status()));
  HF_RETURN_IF_ERROR(end_idle_entries(epoch_ + 1));
  HF_RETURN_IF_ERROR(finish_logs(epoch_ + 1));
  HF_RETURN_IF_ERROR(write_block(true));
  HF_RETURN_IF_ERROR(write_group());
  HF_RETURN_IF_ERROR(store_->sync());
  std::string value;
  StateKeys::append_number(checkpoint.epoch | kHasFormat, value);
  value += kFormat;
  value += checkpoint.metadata;
  const auto put = store_->put(state_keys_.other('m'), value);
  if (!put) return put.error();
  HF_RETURN_IF_ERROR(store_->sync());
  epoch_ = checkpoint.epoch;
  blocks_ = 0;
  put_slices_.clear();
  HF_RETURN_IF_ERROR(remove(HF_MUTANT("ST21", tombstones_, new_tombstones_)));
  tombstones_ = std::move(new_tombstones_);
  new_tombstones_.clear();
  HF_RETURN_IF_ERROR(remove(replaced_));
  HF_RETURN_IF_ERROR(remove_obsolete_blocks());
  return remove_dropped();
}

Status KvStateStore::remove_dropped() {
  std::vector<std::string> keys;
  HF_ASSIGN_OR_RETURN(auto cursor, store_->cursor());
  for (const auto& [slice, generation] : older_) {
    for (cursor.first(state_keys_.of_generation(slice, generation)); cursor; cursor.next()) {
      if (HF_MUTANT("KS2", state_keys_.epoch_of_block(cursor.key()) < epoch_, true))
        keys.emplace_back(cursor.key());
    }
    HF_RETURN_IF_ERROR(cursor.status());
  }
  older_.clear();
  HF_RETURN_IF_ERROR(remove(keys));
  for (const auto slice : dropped_) {
    logs_.erase(slice);
    with_singles_.erase(slice);
    idle_.erase(slice);
    for (const auto& prefix : {state_keys_.of_slice(slice), state_keys_.blocks_of_slice(slice),
                               state_keys_.log_of_slice(slice)}) {
      const auto erased = store_->erase_prefix(prefix);
      if (!erased) return erased.error();
    }
  }
  dropped_.clear();
  return {};
}

}  // namespace holdfast::stream
