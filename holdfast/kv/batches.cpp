#include <holdfast/kv/batches.hpp>

#include <bit>
#include <new>
#include <tuple>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {

// The operation comes last: bytes of one that ended in an exception are nobody's.
void WriteBatch::put(std::string_view key, std::string_view value) {
  const std::uint64_t at = bytes_.size();
  bytes_.append(key).append(value);
  operations_.push_back({at, key.size(), at + key.size(), value.size(), 0, false});
}

void WriteBatch::erase(std::string_view key) {
  const std::uint64_t at = bytes_.size();
  bytes_.append(key);
  operations_.push_back({at, key.size(), 0, 0, 0, true});
}

WriteBatch::View WriteBatch::operator[](std::size_t i) const {
  const Operation& operation = operations_[i];
  const std::string_view text(bytes_);
  return {text.substr(operation.key_at, operation.key_bytes),
          text.substr(operation.value_at, operation.value_bytes), operation.space, operation.erase};
}

Result<Version> Batches::write(const WriteBatch& batch, WriteOptions options) {
  const auto attempt = [&] { return try_write(batch, options); };
  auto outcome = attempt();
  if (!outcome) attempts_.settle(outcome, attempt);
  return outcome;
}

namespace {

// Where the operation on a key stands among the members. Open addressing by the key's hash, as the
// index has it: keyed, but in stores of version 1.
class PlacesByKey {
 public:
  PlacesByKey(const std::vector<BatchMember>& members, std::size_t most)
      : members_(members), places_(std::bit_ceil(2 * most + 1), kNone) {}

  static constexpr std::size_t kNone = ~std::size_t{0};
  // Its place, to be set where it is kNone.
  std::size_t& operator[](const NewRecord& record) {
    for (std::size_t at = record.hash;; ++at) {
      std::size_t& place = places_[at & (places_.size() - 1)];
      if (place == kNone) return place;
      const NewRecord& other = members_[place].record;
      if (other.hash == record.hash && text_of(other.key) == text_of(record.key)) return place;
    }
  }

 private:
  const std::vector<BatchMember>& members_;
  std::vector<std::size_t> places_;
};

// The last operation on a key is the one that counts.
std::vector<BatchMember> members_of(const WriteBatch& batch, const KeyIndex& index) {
  std::vector<BatchMember> members;
  members.reserve(batch.size());
  PlacesByKey places(members, batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto [key, value, space, erase] = batch[i];
    const BatchMember member{{erase ? RecordKind::kErase : RecordKind::kPut,
                              index.hash(bytes_of(key)), bytes_of(key), bytes_of(value)},
                             {}};
    std::size_t& place = places[member.record];
    if (place == PlacesByKey::kNone) {
      place = members.size();
      members.push_back(member);
    } else {
      members[place] = member;
    }
  }
  return members;
}

// Whether growing comes first: of so many puts some must be of new keys, and they will hardly find
// places. Of large batches only, since it looks at all partitions.
bool needs_growth(const OffsetMap& map, std::size_t puts) {
  constexpr std::size_t kLarge = 1024;
  if (puts < kLarge) return false;
  const std::uint64_t present = map.size();
  return puts > present && (present + puts) * 5 > map.slots() * 4;
}

}  // namespace

// The latched homes of a batch, and the places for new keys that were claimed in them. What was not
// published is given back at the end.
class BatchHomes {
 public:
  BatchHomes(Session& own, std::size_t members)
      : entries(members), claimed(members, false), latches_(own.latches) {}
  ~BatchHomes() {
    for (std::size_t i = 0; i < claimed.size() && !published_; ++i) {
      if (claimed[i]) latches_[i].remove(entries[i]);
    }
    latches_.release();
  }
  BatchHomes(const BatchHomes&) = delete;

  // Places for new keys before anything is appended, so that nothing can fail half way. False:
  // there is none.
  bool claim(const KeyIndex& index, std::span<const BatchMember> members) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      entries[i] = latches_[i].find(index.matches(members[i].record.key));
      if (entries[i] || members[i].record.kind == RecordKind::kErase) continue;
      entries[i] = latches_[i].claim();
      claimed[i] = static_cast<bool>(entries[i]);
      if (!claimed[i]) return false;
    }
    return true;
  }
  void set_published() { published_ = true; }

  std::vector<Entry> entries;
  std::vector<bool> claimed;

 private:
  OffsetMap::LatchedMany& latches_;
  bool published_ = false;
};

Result<Version> Batches::try_write(const WriteBatch& batch, WriteOptions options) {
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  for (std::size_t i = 0; i < batch.size(); ++i)
    HF_RETURN_IF_ERROR(attempts_.check(batch[i].key.size(), batch[i].value.size(), options));
  KeyIndex& index = rooms_.index;
  std::vector<BatchMember> members = members_of(batch, index);
  if (members.empty()) return rooms_.sequences.next() - 1;

  Session& own = rooms_.sessions.of_this_thread();
  const auto guard = attempts_.begin(own);
  HF_RETURN_IF_ERROR(attempts_.check(0, 0, options));
  std::vector<std::uint64_t> hashes, puts;
  hashes.reserve(members.size());
  puts.reserve(members.size());
  for (const BatchMember& member : members) {
    hashes.push_back(member.record.hash);
    if (member.record.kind == RecordKind::kPut) puts.push_back(member.record.hash);
  }
  if (needs_growth(index.map(), puts.size())) HF_RETURN_IF_ERROR(index.map().grow(puts));
  for (;;) {
    {
      BatchHomes homes(own, members.size());
      HF_RETURN_IF_ERROR(publication_.latch_all(own, hashes));
      if (homes.claim(index, members)) {
        HF_ASSIGN_OR_RETURN(const Version sequence, append(own, members, options));
        or_in_doubt([&] { publish(own, members, homes); });
        return sequence;
      }
    }
    // All growth in one step, as if every put were of a new key.
    HF_RETURN_IF_ERROR(index.map().grow(puts));
  }
}

// What is on the medium comes back with the next opening: where there is no memory to show it, no
// write may follow.
void Batches::or_in_doubt(FunctionRef<void()> publish) {
  try {
    publish();
  } catch (const std::bad_alloc&) {
    rooms_.gate.fail_in_doubt({Errc::kNoSpace, "no memory to show a batch that is on the medium"});
    throw;
  }
}

Result<Version> Batches::append(Session& own, std::span<BatchMember> members,
                                WriteOptions options) {
  const auto append = [&] {
    const HeldLane lane(rooms_.group, own);
    return rooms_.appender.append_batch(*lane, members);
  };
  HF_ASSIGN_OR_RETURN(const Version sequence, append());
  own.count(1, 0);
  HF_RETURN_IF_ERROR(rooms_.group.wait_for(rooms_.effective(options)));
  return sequence;
}

void Batches::publish(Session& own, std::span<BatchMember> members, BatchHomes& homes) {
  const auto& [entries, claimed] = std::tie(homes.entries, homes.claimed);
  const bool snapshots = rooms_.versions.snapshots_open() != 0;
  auto batch = std::make_unique<BatchUnderWay>();
  batch->previous.reserve(members.size());
  std::vector<Line> old(members.size(), kNoLine), dead(members.size(), kNoLine);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!entries[i]) continue;
    if (!claimed[i]) old[i] = OffsetMap::Home::line(entries[i]);
    const Line line = line_at(members[i].appended.offset);
    batch->previous.emplace(line, old[i]);
    dead[i] = old[i];
    if (HF_MUTANT("K39", snapshots && old[i], false))
      dead[i] = rooms_.versions.retire(line, old[i]);
  }
  const Lock publishing(rooms_.index.batch_mutex());
  rooms_.index.begin_batch(*batch);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!entries[i]) continue;
    own.latches[i].replace(entries[i], line_at(members[i].appended.offset));
    if (claimed[i]) rooms_.index.enter(members[i].record.key);
  }
  homes.set_published();
  rooms_.index.end_batch();
  retire(rooms_.epochs, std::move(batch));

  for (std::size_t i = 0; i < members.size(); ++i) {
    const BatchMember& member = members[i];
    const bool erase = member.record.kind == RecordKind::kErase;
    if (HF_MUTANT("K38", erase, false))
      rooms_.index.raise_horizon(member.record.hash, member.appended.sequence);
    if (!entries[i]) continue;  // Erased what was not there.
    const bool was_tombstone = old[i] && rooms_.records.at(old[i]).kind() == RecordKind::kErase;
    if (was_tombstone) rooms_.index.count_tombstone(-1);
    if (erase && snapshots) {
      rooms_.index.count_tombstone(1);
      rooms_.versions.note_tombstone(member.record.hash, member.appended.sequence);
    } else if (erase) {
      own.latches[i].remove(entries[i]);
      rooms_.index.leave(member.record.key);
    }
    if (old[i] && !snapshots) publication_.drop_behind(own, old[i]);
    if (dead[i] && !was_tombstone) publication_.supersede(own, dead[i]);
  }
}

}  // namespace holdfast::kv
