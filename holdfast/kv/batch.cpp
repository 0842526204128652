// Atomic write batches: one frame on the medium, one moment in DRAM.
//
// On the medium a batch is a frame record followed by its members, in one run, under one fence.
// Recovery of an open run accepts the frame with all its members or stops before it; a sealed run
// lists members like any record, since it was sealed only after the batch was whole. So no member
// needs to know of the others, and relocation treats them as what they are: records.
//
// In DRAM all homes are latched in one order before the batch is appended (a batch that were
// appended first could be found half superseded by what was acknowledged before it began, since
// sequences are handed out in chunks); the new lines are published while `pending_batch_` names
// their predecessors, to which readers go until it is taken back in one store.
#include <holdfast/kv/store_append.hpp>

#include <algorithm>
#include <cstring>

namespace holdfast::kv {

void WriteBatch::put(std::string_view key, std::string_view value) {
  operations_.push_back(
      {bytes_.size(), key.size(), bytes_.size() + key.size(), value.size(), false});
  bytes_.append(key).append(value);
}

void WriteBatch::erase(std::string_view key) {
  operations_.push_back({bytes_.size(), key.size(), 0, 0, true});
  bytes_.append(key);
}

Result<Version> StoreCore::write(const WriteBatch& batch, WriteOptions options) {
  return settle(try_write(&batch, options), &StoreCore::try_write, &batch, options);
}

Result<Version> StoreCore::try_write(const WriteBatch* batch, WriteOptions options) {
  const Durability durability = effective(options);
  HF_RETURN_IF_ERROR(check_write(durability));
  std::vector<Member> members;
  const auto bytes_at = [&](std::uint64_t at, std::uint64_t count) {
    return std::as_bytes(std::span(batch->bytes_)).subspan(at, count);
  };
  // The last operation on a key is the one that counts.
  std::unordered_map<std::string_view, std::size_t> by_key;
  for (const WriteBatch::Operation& operation : batch->operations_) {
    HF_RETURN_IF_ERROR(check_sizes(operation.key_bytes, operation.value_bytes));
    const Bytes key = bytes_at(operation.key_at, operation.key_bytes);
    const Member member{{operation.erase ? RecordKind::kErase : RecordKind::kPut, hash64(key), key,
                         bytes_at(operation.value_at, operation.value_bytes)},
                        {}};
    const std::string_view text(batch->bytes_.data() + operation.key_at, operation.key_bytes);
    const auto [found, fresh] = by_key.try_emplace(text, members.size());
    if (fresh)
      members.push_back(member);
    else
      members[found->second] = member;
  }
  if (members.empty()) return next_sequence_.load(std::memory_order_acquire) - 1;

  Session& own = session();
  const auto guard = epochs_.enter(own.participant);
  std::vector<std::uint64_t> hashes;
  for (const Member& member : members)
    hashes.push_back(member.record.hash);
  for (;;) {
    own.latches.acquire(*index_, hashes);
    std::vector<index::Entry> entries(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      entries[i] = own.latches[i].find(matches(members[i].record.key));
    // Places for new keys before anything is appended, so that nothing can fail half way.
    std::size_t full = members.size();
    std::vector<bool> claimed(members.size(), false);
    for (std::size_t i = 0; i < members.size() && full == members.size(); ++i) {
      if (entries[i] || members[i].record.kind == RecordKind::kErase) continue;
      entries[i] = own.latches[i].claim();
      if (entries[i])
        claimed[i] = true;
      else
        full = i;
    }
    // Gives the claimed places back, except those in the partition of hashes[full].
    const auto give_back = [&] {
      for (std::size_t i = 0; i < members.size(); ++i) {
        const bool keep = full != members.size() &&
                          index_->partition(hashes[i]) == index_->partition(hashes[full]);
        if (claimed[i] && !keep) own.latches[i].remove(entries[i]);
      }
      own.latches.release();
    };
    if (full != members.size()) {
      // What this batch needs beside it stays taken, so that grow() sees that there is no room; the
      // new table does not have these places.
      give_back();
      HF_RETURN_IF_ERROR(index_->grow(hashes[full]));
      continue;
    }
    // Newer than whatever was handed out, and appended under all latches: a crash finds either
    // every member the newest of its key, or superseded by what came after the batch.
    auto sequence = append_batch(own, members, durability);
    if (!sequence) {
      give_back();
      return sequence;
    }
    const std::lock_guard publishing(batch_mutex_);
    publish_batch(own, members, entries, claimed);
    own.latches.release();
    return sequence;
  }
}

// Durable as asked when it returns; every member's `appended` is set.
Result<Version> StoreCore::append_batch(Session& session, std::vector<Member>& members,
                                        Durability durability) {
  Lane& lane = lane_of(session);
  std::uint64_t bytes = 0;
  for (const Member& member : members)
    bytes += Geometry::padded(member.record.bytes(geometry_));
  const std::uint64_t frame_bytes = Geometry::padded(geometry_.record_header_bytes);
  Version sequence = 0;
  {
    const std::lock_guard lock(lane.latch);
    sequence = draw_sequence(lane, true);
    if (sequence == 0) [[unlikely]]
      return lane.sequence_failure.error();
    if (frame_bytes + bytes + run_tail_bytes(members.size()) > geometry_.block_bytes) {
      HF_RETURN_IF_ERROR(append_batch_run(session, members, sequence, bytes));
    } else {
      // One run holds all of it, so that it is sealed either before the frame or with every member.
      HF_RETURN_IF_ERROR(make_room(session, lane, frame_bytes + bytes, members.size(), sequence,
                                   BlockTable::Purpose::kPut));
      append_frame(lane, sequence, bytes);
      for (Member& member : members) {
        const auto done = append(session, lane, member.record, sequence, false,
                                 BlockTable::Purpose::kPut, member.appended);
        HF_CHECK(done.has_value());  // make_room() has seen to it.
      }
      HF_RETURN_IF_ERROR(commit(session, lane));
    }
  }
  if (medium_.paged()) HF_RETURN_IF_ERROR(wait_for_power(durability));
  return sequence;
}

void StoreCore::compose_frame(std::byte* to, Version sequence, std::uint64_t members_bytes,
                              std::uint32_t ordinal, std::uint64_t seed) const {
  static_assert(sizeof(RecordHeader) + sizeof(std::uint64_t) <= kCacheLineBytes);
  std::memset(to, 0, kCacheLineBytes);
  auto* const header = reinterpret_cast<RecordHeader*>(to);
  header->sequence = sequence;
  header->value_bytes = members_bytes;
  header->key_bytes_and_kind = std::uint32_t{static_cast<std::uint8_t>(RecordKind::kBatch)} << 24;
  header->ordinal = ordinal;
  header->checksum = record_sum(*header, hash64(std::span<const std::byte>()), seed);
  if (geometry_.record_header_bytes > sizeof(RecordHeader))
    std::memcpy(to + sizeof(RecordHeader), &header->checksum, sizeof header->checksum);
}

void StoreCore::append_frame(Lane& lane, Version sequence, std::uint64_t members_bytes) {
  alignas(kCacheLineBytes) std::byte frame[kCacheLineBytes];
  compose_frame(frame, sequence, members_bytes, lane.next_ordinal, lane.seed);
  if (medium_.paged())
    std::memcpy(lane.write_base + lane.at, frame, sizeof frame);
  else
    medium_.persist().stream(lane.write_base + lane.at, frame, sizeof frame);
  lane.at += sizeof frame;
  lane.frame_bytes += sizeof frame;
  lane.meta->used_bytes.store(lane.at, std::memory_order_relaxed);
  lane.meta->dead_bytes.fetch_add(sizeof frame,
                                  std::memory_order_relaxed);  // Reclaimed with its run.
}

// More than a block holds: a run of its own. A fence for the frame and its members, one for the
// tail that vouches for them.
Status StoreCore::append_batch_run(Session& session, std::vector<Member>& members, Version sequence,
                                   std::uint64_t bytes) {
  if (kCacheLineBytes + bytes + run_tail_bytes(members.size()) > kMaxRunBytes ||
      members.size() > kMaxRecordsPerRun) {
    return Error{Errc::kTooLarge, "batch of " + std::to_string(members.size()) +
                                      " operations and " + std::to_string(bytes) +
                                      " bytes; at most " + std::to_string(kMaxRunBytes) +
                                      " bytes are allowed, split it"};
  }
  const std::uint64_t blocks = geometry_.blocks_for(kCacheLineBytes + bytes, members.size());
  HF_ASSIGN_OR_RETURN(const std::uint64_t head,
                      table_.open_run(blocks, BlockTable::Purpose::kPut, BlockState::kOpen,
                                      static_cast<std::uint32_t>(members.size())));
  BlockMeta& run = table_.meta(head);
  const std::uint64_t base = table_.run_at(head);
  const std::uint64_t seed = geometry_.seed(run.generation);
  std::vector<Lane::Entry> entries;
  std::vector<std::byte> composed(kCacheLineBytes);
  compose_frame(composed.data(), sequence, bytes, 0, seed);
  if (auto put = medium_.put(base, composed.data(), composed.size()); !put) {
    fail_in_doubt(put.error());
    return put;
  }
  std::uint64_t at = kCacheLineBytes;
  std::uint64_t tombstone_bytes = 0;
  for (Member& member : members) {
    const std::uint64_t padded = Geometry::padded(member.record.bytes(geometry_));
    const auto ordinal = static_cast<std::uint32_t>(entries.size());
    composed.resize(padded);
    compose_record(composed.data(), geometry_, member.record, sequence, ordinal, seed, patchable_);
    if (auto put = medium_.put(base + at, composed.data(), padded); !put) {
      fail_in_doubt(put.error());
      return put;
    }
    member.appended = {base + at, padded, sequence, ordinal};
    entries.push_back({member.record.hash, sequence, at, member.record.kind});
    if (member.record.kind == RecordKind::kErase) tombstone_bytes += padded;
    at += padded;
  }
  run.used_bytes.store(at, std::memory_order_relaxed);
  run.dead_bytes.store(kCacheLineBytes + tombstone_bytes, std::memory_order_relaxed);
  run.min_sequence.store(sequence, std::memory_order_relaxed);
  if (!medium_.paged()) HF_RETURN_IF_ERROR(medium_.order());
  auto sealed = seal_run(head, entries, at, kCacheLineBytes);
  if (!sealed) fail(sealed.error());
  session.note(2, 0);
  return sealed;
}

void StoreCore::publish_batch(Session& session, std::vector<Member>& members,
                              const std::vector<index::Entry>& entries,
                              const std::vector<bool>& claimed) {
  const bool snapshots = snapshots_open_.load(std::memory_order_acquire) != 0;
  auto pending = std::make_unique<PendingBatch>();
  std::vector<Line> previous(members.size(), kNoLine);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!entries[i]) continue;
    if (!claimed[i]) previous[i] = session.latches[i].line(entries[i]);
    const Line line{members[i].appended.offset / kCacheLineBytes};
    pending->previous.emplace(line, previous[i]);
    if (snapshots && previous[i]) retire_version(line, previous[i]);
  }
  pending_batch_.store(pending.get(), std::memory_order_seq_cst);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (entries[i])
      session.latches[i].replace(entries[i], Line{members[i].appended.offset / kCacheLineBytes});
  }
  pending_batch_.store(nullptr, std::memory_order_seq_cst);  // Here the batch becomes visible.
  epochs_.retire(pending.release(), [](void* batch) { delete static_cast<PendingBatch*>(batch); });

  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    const bool erase = member.record.kind == RecordKind::kErase;
    if (erase) index_->raise_erase_horizon(member.record.hash, member.appended.sequence);
    if (!entries[i]) continue;  // Erased what was not there.
    const bool was_tombstone = previous[i] && record_at(previous[i]).kind() == RecordKind::kErase;
    if (was_tombstone) indexed_tombstones_.fetch_sub(1, std::memory_order_relaxed);
    if (snapshots) {
      if (!erase) continue;
      indexed_tombstones_.fetch_add(1, std::memory_order_relaxed);
      const std::lock_guard lock(tombstones_mutex_);
      tombstones_indexed_.push_back(Line{member.appended.offset / kCacheLineBytes});
      continue;
    }
    if (erase) session.latches[i].remove(entries[i]);
    if (previous[i] && !was_tombstone) {
      const RecordView superseded = record_at(previous[i]);
      table_.mark_dead(previous[i].number * kCacheLineBytes, superseded.header().ordinal,
                       superseded.padded_bytes());
    }
  }
}

}  // namespace holdfast::kv
