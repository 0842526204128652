// Atomic batches with operations in several keyspaces: as batches.cpp, in several indexes.
//
// The frame and its members lie in one run, which is then one of several spaces. The homes are
// latched space by space, by ascending ids, and within a space in the order of its index, so that
// no two batches wait for each other. In all indexes readers are sent from the new records to their
// predecessors, by one object; that it is over is one store, which makes the batch visible in all
// of them at once.
#include <holdfast/kv/batches.hpp>

#include <deque>
#include <map>
#include <unordered_map>

#include <holdfast/base/mutant.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

// What a batch does in one keyspace.
struct Part {
  Part(KeyIndex& of_index, Versions& of_versions, Session& of_thread)
      : index(of_index), versions(of_versions), session(of_thread) {}

  KeyIndex& index;
  Versions& versions;
  Session& session;
  std::vector<std::size_t> members;  // Of the batch, by their places there.
  std::vector<std::uint64_t> hashes, puts;
  std::vector<Entry> entries;  // As the members; none: nothing to point to.
  std::vector<bool> claimed;
  std::vector<Line> old, dead;
  bool snapshots = false;

  OffsetMap::LatchedMany& latches() { return session.latches; }
  // Places for new keys before anything is appended, under all latches. False: the index is full.
  bool claim(std::span<const BatchMember> all) {
    claimed.assign(members.size(), false);
    entries.assign(members.size(), Entry());
    for (std::size_t i = 0; i < members.size(); ++i) {
      const NewRecord& record = all[members[i]].record;
      entries[i] = latches()[i].find(index.matches(record.key));
      if (entries[i] || record.kind == RecordKind::kErase) continue;
      entries[i] = latches()[i].claim();
      claimed[i] = static_cast<bool>(entries[i]);
      if (!claimed[i]) return false;
    }
    return true;
  }
  void give_back() {
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      if (claimed[i]) latches()[i].remove(entries[i]);
    }
    claimed.clear();
    latches().release();
  }
  // The way back from the new records, before any of them can be found.
  void note_previous(std::span<const BatchMember> all, LineMap& previous) {
    snapshots = versions.snapshots_open() != 0;
    old.assign(members.size(), kNoLine);
    dead.assign(members.size(), kNoLine);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!entries[i]) continue;
      if (!claimed[i]) old[i] = OffsetMap::Home::line(entries[i]);
      const Line line = line_at(all[members[i]].appended.offset);
      previous.emplace(line, old[i]);
      dead[i] = old[i];
      if (snapshots && old[i]) dead[i] = versions.retire(line, old[i]);
    }
  }
  void replace(std::span<const BatchMember> all) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!entries[i]) continue;
      latches()[i].replace(entries[i], line_at(all[members[i]].appended.offset));
      if (claimed[i]) index.enter(all[members[i]].record.key);
      claimed[i] = false;
    }
  }
  // Called after the batch became visible. Calls note_dead(line) for each record that no reader
  // needs any more.
  template <class NoteDead>
  void settle(std::span<const BatchMember> all, const Records& records, NoteDead&& note_dead) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const BatchMember& member = all[members[i]];
      const bool erase = member.record.kind == RecordKind::kErase;
      if (erase) index.raise_horizon(member.record.hash, member.appended.sequence);
      if (!entries[i]) continue;  // Erased what was not there.
      const bool was_tombstone = old[i] && records.at(old[i]).kind() == RecordKind::kErase;
      if (was_tombstone) index.count_tombstone(-1);
      if (erase && snapshots) {
        index.count_tombstone(1);
        versions.note_tombstone(member.record.hash, member.appended.sequence);
      } else if (erase) {
        latches()[i].remove(entries[i]);
        index.leave(member.record.key);
      }
      if (old[i] && !snapshots && versions.held()) {
        for (Line line = old[i]; (line = versions.detach(line));)
          note_dead(line);
      }
      if (dead[i] && !was_tombstone) note_dead(dead[i]);
    }
    latches().release();
  }
};

// The members of a batch, one for each key, and what they do in which keyspace.
struct Across {
  std::map<std::uint16_t, Part> parts;  // By ascending ids: the order of the latches.
  std::vector<BatchMember> members;

  Across() = default;
  Across(Across&&) = default;
  ~Across() { give_back(); }  // What was not published.
  void give_back() {
    for (auto& [id, part] : parts)
      part.give_back();
  }
};

Across gather(Rooms& rooms, Session& own, const WriteBatch& batch,
              std::span<SpaceRooms* const> spaces) {
  Across all;
  auto& members = all.members;
  std::map<std::uint16_t, std::unordered_map<std::string_view, std::size_t>> by_key;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto [key, value, number, erase] = batch[i];
    SpaceRooms* const space = number == 0 ? nullptr : spaces[number - 1];
    const std::uint16_t id = space == nullptr ? kDefaultSpace : space->id;
    KeyIndex& index = space == nullptr ? rooms.index : space->index;
    const BatchMember member{{erase ? RecordKind::kErase : RecordKind::kPut,
                              index.hash(bytes_of(key)), bytes_of(key), bytes_of(value)},
                             {},
                             id};
    // The last operation on a key is the one that counts.
    const auto [found, fresh] = by_key[id].try_emplace(key, members.size());
    if (!fresh) {
      members[found->second] = member;
      continue;
    }
    Part& part = all.parts
                     .try_emplace(id, index, space == nullptr ? rooms.versions : space->versions,
                                  space == nullptr ? own : space->sessions.of_this_thread())
                     .first->second;
    part.members.push_back(members.size());
    part.hashes.push_back(member.record.hash);
    members.push_back(member);
  }
  for (auto& [id, part] : all.parts) {
    for (const std::size_t i : part.members) {
      if (members[i].record.kind == RecordKind::kPut) part.puts.push_back(members[i].record.hash);
    }
  }
  return all;
}

// The members are on the medium and all homes are latched: makes them visible, ends the latches.
// How many mutexes it takes is known when it runs: clang cannot follow.
void publish_across(Rooms& rooms, Session& own, Across& all) HF_NO_THREAD_SAFETY_ANALYSIS {
  auto under_way = std::make_unique<BatchUnderWay>();
  under_way->previous.reserve(all.members.size());
  std::deque<Lock<Mutex>> publishing;
  for (auto& [id, part] : all.parts)
    part.note_previous(all.members, under_way->previous);
  for (auto& [id, part] : all.parts)
    publishing.emplace_back(part.index.batch_mutex());
  // From here to the end of the batch nothing needs memory.
  for (auto& [id, part] : all.parts)
    part.index.begin_batch(*under_way);
  for (auto& [id, part] : all.parts)
    part.replace(all.members);
  // Here it becomes visible.
  HF_MUTANT("K55", under_way->over.store(true, std::memory_order_seq_cst), void());
  for (auto& [id, part] : all.parts)
    part.index.end_batch();
  publishing.clear();
  retire(rooms.epochs, std::move(under_way));
  for (auto& [id, part] : all.parts) {
    part.settle(all.members, rooms.records, [&](Line line) {
      const RecordView record = rooms.records.at(line);
      if (is_put(record.kind())) own.notes.add(rooms.table, line, record.padded_bytes());
    });
  }
}

}  // namespace

Result<Version> Batches::write_across(const WriteBatch& batch, std::span<SpaceRooms* const> spaces,
                                      WriteOptions options) {
  const auto attempt = [&] { return try_write_across(batch, spaces, options); };
  auto outcome = attempt();
  if (!outcome) attempts_.settle(outcome, attempt);
  return outcome;
}

Result<Version> Batches::try_write_across(const WriteBatch& batch,
                                          std::span<SpaceRooms* const> spaces,
                                          WriteOptions options) {
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  for (std::size_t i = 0; i < batch.size(); ++i)
    HF_RETURN_IF_ERROR(attempts_.check(batch[i].key.size(), batch[i].value.size(), options));
  Session& own = rooms_.sessions.of_this_thread();
  Across all = gather(rooms_, own, batch, spaces);
  if (all.members.empty()) return rooms_.sequences.next() - 1;

  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  for (;;) {
    Part* full = nullptr;
    for (auto& [id, part] : all.parts) {
      // The store's own part comes first, so what stands apart from its index is settled while no
      // other latch is held.
      if (id == kDefaultSpace)
        HF_RETURN_IF_ERROR(publication_.latch_all(own, part.hashes));
      else
        part.latches().acquire(part.index.map(), part.hashes);
      if (part.claim(all.members)) continue;
      full = &part;
      break;
    }
    if (full == nullptr) break;
    all.give_back();
    HF_RETURN_IF_ERROR(full->index.map().grow(full->puts));
  }
  HF_ASSIGN_OR_RETURN(const Version sequence, append(own, all.members, options));
  or_in_doubt([&] { publish_across(rooms_, own, all); });
  return sequence;
}

}  // namespace holdfast::kv
