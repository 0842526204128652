// store_append.hpp: the two steps of every write: a record gets onto the medium, and into the
// index.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {

template <class Key, class Value>
Status StoreCore::append(Session& session, Lane& lane, const NewRecord<Key, Value>& record,
                         std::uint64_t sequence, bool fresh, BlockTable::Purpose purpose,
                         Appended& appended) {
  const std::uint64_t bytes = record.bytes(geometry_);
  const std::uint64_t padded = Geometry::padded(bytes);
  if (sequence == 0) {
    sequence = draw_sequence(lane, fresh);
    if (sequence == 0) [[unlikely]]
      return lane.sequence_failure.error();
  }
  if (!lane.fits(padded, 1) || !lane.spans(sequence)) [[unlikely]] {
    if (padded + run_tail_bytes(1) > geometry_.block_bytes)
      return append_own_run(record, sequence, session, purpose, appended);
    HF_RETURN_IF_ERROR(make_room(session, lane, padded, 1, sequence, purpose));
  }
  if (sequence < lane.min_sequence)
    lane.meta->min_sequence.store(lane.min_sequence = sequence, std::memory_order_relaxed);
  lane.max_sequence = std::max(lane.max_sequence, sequence);
  const std::uint32_t ordinal = lane.next_ordinal;
  table_.prepare_ordinal(*lane.meta, ordinal);
  // Before anything is written back: a locked instruction behind that waits as long as a fence.
  if (record.kind == RecordKind::kErase)
    lane.meta->dead_bytes.fetch_add(padded, std::memory_order_relaxed);
  std::byte* const to = lane.write_base + lane.at;
  if (padded <= Session::kScratchBytes) {
    compose_record(session.scratch, geometry_, record, sequence, ordinal, lane.seed, patchable_);
    if (medium_.paged())
      std::memcpy(to, session.scratch, padded);
    else
      medium_.persist().stream(to, session.scratch, padded);
  } else {
    const auto composed = std::make_unique<std::byte[]>(padded);
    compose_record(composed.get(), geometry_, record, sequence, ordinal, lane.seed, patchable_);
    if (medium_.paged())
      std::memcpy(to, composed.get(), padded);
    else
      medium_.persist().stream(to, composed.get(), padded);
  }
  appended = {lane.run_offset + lane.at, padded, sequence, ordinal};
  lane.entries.emplace_back(record.hash, sequence, lane.at, record.kind);
  lane.at += padded;
  ++lane.next_ordinal;
  lane.meta->used_bytes.store(lane.at, std::memory_order_relaxed);
  session.note(0, padded / kCacheLineBytes);
  return {};
}

template <class Key, class Value>
Status StoreCore::append_own_run(const NewRecord<Key, Value>& record, std::uint64_t sequence,
                                 Session& session, BlockTable::Purpose purpose,
                                 Appended& appended) {
  const std::uint64_t bytes = record.bytes(geometry_);
  const std::uint64_t padded = Geometry::padded(bytes);
  const std::uint64_t blocks = geometry_.blocks_for(padded, 1);
  HF_ASSIGN_OR_RETURN(const std::uint64_t head, table_.open_run(blocks, purpose));
  BlockMeta& run = table_.meta(head);
  const std::uint64_t at = table_.run_at(head);
  const std::uint64_t seed = geometry_.seed(run.generation);
  // Header, key and value go straight to the medium: there is no second copy of a large value.
  const Bytes value = record.kind == RecordKind::kPut ? Bytes(record.value) : Bytes();
  RecordHeader header{0, sequence, value.size(),
                      static_cast<std::uint32_t>(record.key.size()) |
                          std::uint32_t{static_cast<std::uint8_t>(record.kind)} << 24,
                      0};
  const std::uint64_t value_at = geometry_.value_at(record.key.size());
  std::vector<std::byte> front(bytes -
                               value.size());  // A tombstone ends with its key, a value is aligned.
  std::memcpy(front.data(), &header, sizeof header);
  std::memcpy(front.data() + geometry_.record_header_bytes, record.key.data(), record.key.size());
  const std::uint64_t sum = record_sum(
      header, body_hash(std::span(front).subspan(geometry_.record_header_bytes), value, patchable_),
      seed);
  if (!patchable_.empty()) std::memcpy(front.data() + sizeof header, &sum, sizeof sum);
  header.checksum = record.kind == RecordKind::kPut ? whole_checksum(sum, value, patchable_) : sum;
  std::memcpy(front.data(), &header, sizeof header);
  const auto put = [&]() -> Status {
    HF_RETURN_IF_ERROR(medium_.put(at, front.data(), front.size()));
    HF_RETURN_IF_ERROR(medium_.put(at + value_at, value.data(), value.size()));
    // Before the tail, which vouches for it.
    return medium_.paged() ? ok_status() : medium_.order();
  };
  if (auto done = put(); !done) {
    fail_in_doubt(done.error());
    return std::move(done).error();
  }
  session.note(2, padded / kCacheLineBytes + 2);
  run.used_bytes.store(padded, std::memory_order_relaxed);
  if (record.kind == RecordKind::kErase) run.dead_bytes.store(padded, std::memory_order_relaxed);
  run.min_sequence.store(sequence, std::memory_order_relaxed);
  if (auto sealed = seal_run(head, {{record.hash, sequence, 0, record.kind}}, padded); !sealed) {
    fail(sealed.error());
    return std::move(sealed).error();
  }
  appended = {at, padded, sequence, 0};
  return {};
}

template <class Key, class Value>
Result<Appended> StoreCore::write_record(Session& session, const NewRecord<Key, Value>& record,
                                         bool fresh, BlockTable::Purpose purpose,
                                         Durability durability) {
  Lane& lane = lane_of(session);
  lane.latch.lock();
  Appended appended;
  auto done = append(session, lane, record, 0, fresh, purpose, appended);
  if (!done) [[unlikely]] {
    lane.latch.unlock();
    return std::move(done).error();
  }
  auto committed = commit(session, lane);
  lane.latch.unlock();
  // Loads pass the fence that still waits: what the record supersedes comes while it does.
  if (!fresh) fetch_superseded(record.hash, 0);
  if (!committed) [[unlikely]]
    return std::move(committed).error();
  if (medium_.paged()) HF_RETURN_IF_ERROR(wait_for_power(durability));
  return appended;
}

inline bool StoreCore::newest(const OffsetMap::Home& home, index::Entry entry, std::uint64_t hash,
                              std::uint64_t sequence) const {
  // The horizon counts also where there is a record: a tombstone that came too late to erase
  // anything is durable all the same, so nothing older may be acknowledged after it.
  if (index_->erase_horizon(hash).load(std::memory_order_acquire) >= sequence) return false;
  return !entry || record_at(home.line(entry)).sequence() < sequence;
}

inline bool StoreCore::publish(OffsetMap::Home& home, index::Entry entry, const Appended& record) {
  const Line line{record.offset / kCacheLineBytes};
  if (!entry) return home.insert(line);
  const Line old = home.line(entry);
  if (snapshots_open_.load(std::memory_order_acquire) != 0) [[unlikely]] {
    retire_version(line, old);
    home.replace(entry, line);
    if (record_at(old).kind() == RecordKind::kErase)
      indexed_tombstones_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  home.replace(entry, line);
  const RecordView superseded = record_at(old);
  if (superseded.kind() == RecordKind::kErase) [[unlikely]] {
    indexed_tombstones_.fetch_sub(1, std::memory_order_relaxed);
    return true;  // Its bytes count as dead since it was written.
  }
  table_.mark_dead(old.number * kCacheLineBytes, superseded.header().ordinal,
                   superseded.padded_bytes());
  return true;
}

}  // namespace holdfast::kv
