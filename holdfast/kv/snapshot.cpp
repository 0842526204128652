// Snapshots: older versions stay reachable, from newer to older, while somebody may ask for them.
//
// The chains live in DRAM, since snapshots do not outlive the process: while one is open, whoever
// supersedes a record notes which one, instead of marking it dead; an erased key stays indexed by
// its tombstone. Reclamation neither moves nor frees anything meanwhile.
#include <holdfast/kv/store_core.hpp>

#include <algorithm>

namespace holdfast::kv {

Snapshot StoreCore::snapshot() {
  const std::lock_guard lock(snapshot_mutex_);
  versions_held_.fetch_add(1, std::memory_order_seq_cst);
  snapshots_open_.fetch_add(1, std::memory_order_seq_cst);
  // Sequences that lanes have in reserve lapse, so that none below ours is used from here on, ...
  sequence_epoch_.fetch_add(1, std::memory_order_seq_cst);
  const Version version = next_sequence_.fetch_add(1, std::memory_order_acq_rel);
  // ... and who drew one before is done when this returns.
  epochs_.synchronize();
  snapshot_versions_.push_back(version);
  return {this, version};
}

void StoreCore::release_snapshot(Version version) {
  const std::lock_guard lock(snapshot_mutex_);
  snapshot_versions_.erase(
      std::find(snapshot_versions_.begin(), snapshot_versions_.end(), version));
  snapshots_open_.fetch_sub(1, std::memory_order_seq_cst);
  if (snapshot_versions_.empty()) epochs_.synchronize();  // Who still notes versions is done.
  prune_versions();
  // Only now may what the versions lie in be moved and freed: pruning reads it.
  versions_held_.fetch_sub(1, std::memory_order_seq_cst);
  background_wake_.notify_one();
}

void StoreCore::retire_version(Line newer, Line older) {
  VersionShard& shard = version_shard(newer);
  const std::lock_guard lock(shard.mutex);
  shard.older.emplace(newer, older);
}

Line StoreCore::older_version(Line newer) const {
  VersionShard& shard = version_shard(newer);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.older.find(newer);
  return found == shard.older.end() ? kNoLine : found->second;
}

Line StoreCore::visible_at(Line line, Version version) const {
  while (line && record_at(line).sequence() > version)
    line = older_version(line);
  return line && record_at(line).kind() == RecordKind::kPut ? line : kNoLine;
}

// Under snapshot_mutex_. What no open snapshot can reach is dead: the record behind one that the
// oldest snapshot sees.
void StoreCore::prune_versions() {
  const Version oldest = snapshot_versions_.empty() ? ~Version{0} : snapshot_versions_.front();
  for (VersionShard& shard : versions_) {
    const std::lock_guard lock(shard.mutex);
    std::erase_if(shard.older, [&](const auto& pair) {
      const auto& [newer, older] = pair;
      if (record_at(newer).sequence() > oldest) return false;
      const RecordView dead = record_at(older);
      if (dead.kind() == RecordKind::kPut) {
        table_.mark_dead(older.number * kCacheLineBytes, dead.header().ordinal,
                         dead.padded_bytes());
      }
      return true;
    });
  }
  std::vector<Line> tombstones;
  {
    const std::lock_guard lock(tombstones_mutex_);
    std::erase_if(tombstones_indexed_, [&](Line line) {
      if (record_at(line).sequence() > oldest) return false;
      tombstones.push_back(line);
      return true;
    });
  }
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  for (const Line line : tombstones) {
    auto latched = index_->latch(hash64(std::as_bytes(std::span(record_at(line).key()))));
    if (const auto entry = latched.find([&](Line other) { return other == line; })) {
      latched.remove(entry);
      indexed_tombstones_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

Result<Version> StoreCore::snapshot_get(Version version, Bytes key, std::string& value) const {
  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  Line line = index_->find(hash64(key), matches(key));
  if (line) line = settled(line);
  line = visible_at(line, version);
  if (!line) return Error{Errc::kNotFound, {}};
  const RecordView record = record_at(line);
  if (!fits(record, line.number * kCacheLineBytes))
    return damaged(line.number * kCacheLineBytes, "record longer than its run");
  HF_RETURN_IF_ERROR(check_read(record, line.number * kCacheLineBytes));
  value.assign(record.value());
  return record.sequence();
}

Status StoreCore::snapshot_for_each(
    Version version,
    const std::function<bool(std::string_view, std::string_view, Version)>& visit) const {
  std::vector<Line> lines;
  for (std::uint32_t partition = 0; partition < index_->partitions(); ++partition) {
    lines.clear();
    {
      Session& own = session();
      const auto guard = epochs_.enter(own.participant);
      // A batch that is being published is newer than every open snapshot, so its chains lead past
      // it.
      index_->for_each(partition, [&](Line line) { return lines.push_back(line), true; });
    }
    // Outside the guard: the snapshot itself keeps every line we saw from being freed.
    for (Line line : lines) {
      line = visible_at(line, version);
      if (!line) continue;
      const RecordView record = record_at(line);
      if (!fits(record, line.number * kCacheLineBytes))
        return damaged(line.number * kCacheLineBytes, "record longer than its run");
      HF_RETURN_IF_ERROR(check_read(record, line.number * kCacheLineBytes));
      if (!visit(record.key(), record.value(), record.sequence())) return {};
    }
  }
  return {};
}

}  // namespace holdfast::kv
