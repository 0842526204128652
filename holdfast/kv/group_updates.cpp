// Updates of a group that stand together: they decide under the latches of all their keys, and
// share a fence.
//
// A new value depends on the one before it. If it were appended before the latch, and another
// session published in between, recovery would let it win over a write that was acknowledged and
// that it knows nothing of. So latch, decide, append, fence, publish, as the single verbs do; for
// up to 16 keys at once, latched in one order as those of a batch.
//
// Words that change in place are visible at once, readers beside them make durable what they read;
// records become visible when they are published. So that effects come in order, a word that would
// change in place behind an update that needs a record waits for the next turn.
#include <algorithm>
#include <array>
#include <cstring>

#include <holdfast/kv/group_verbs.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

constexpr std::size_t kTogether = 16;

struct ReleaseAtEnd {
  OffsetMap::LatchedMany& latches;
  ~ReleaseAtEnd() { latches.release(); }
};

// The hashes of the first operations, as long as these are updates of different keys.
std::size_t hashes_of(std::span<Operation> operations, std::span<std::uint64_t> hashes) {
  std::size_t count = 0;
  for (; count < std::min(operations.size(), hashes.size()); ++count) {
    const Operation& operation = operations[count];
    const auto end = hashes.begin() + static_cast<std::ptrdiff_t>(count);
    if (!operation.updates() || operation.done ||
        std::find(hashes.begin(), end, operation.hash) != end)
      break;
    hashes[count] = operation.hash;
  }
  return count;
}

}  // namespace

// What becomes of one of them.
struct GroupChange {
  enum class Kind : std::uint8_t { kNone, kInPlace, kCopy };
  Kind kind = Kind::kNone;
  bool in_place_allowed = true;  // No record stands before it.
  bool waits = false;            // For the next turn.
  Entry entry;
  std::string value;  // kCopy: of the new record.
};

// Executes the first of them; returns how many. 0: the first must be executed alone.
template <class R>
std::size_t BasicGroupVerbs<R>::update(Session& own, std::span<Operation> operations,
                                       Durability durability) {
  std::array<std::uint64_t, kTogether> hashes;
  std::size_t count = hashes_of(operations, hashes);
  std::array<Change, kTogether> changes;
  if (auto latched = writes_.publication().latch_all(own, std::span(hashes).first(count));
      !latched) {
    for (Operation& operation : operations.first(count))
      operation.end(latched.error());
    return count;
  }
  const ReleaseAtEnd release{own.latches};
  bool copies = false;
  for (std::size_t i = 0; i < count; ++i) {
    changes[i].in_place_allowed = !copies;
    decide(own, operations[i], own.latches[i], durability, changes[i]);
    if (changes[i].waits) count = i;
    copies |= changes[i].kind == Change::Kind::kCopy;
  }
  std::size_t executed = count;
  const Status durable = make_durable(own, operations.first(count), changes, durability, executed);
  for (std::size_t i = 0; i < count; ++i) {
    if (changes[i].kind == Change::Kind::kInPlace) own.latches[i].set_patching(false);
  }
  for (std::size_t i = 0; i < executed; ++i) {
    Operation& operation = operations[i];
    if (operation.done) continue;
    operation.done = true;
    if (changes[i].kind != Change::Kind::kCopy) continue;
    if (!durable) {
      operation.outcome = durable.error();
      continue;
    }
    writes_.publication().replace(own, own.latches[i], changes[i].entry, operation.appended);
    if (operation.verb == Operation::Verb::kUpdate) operation.outcome = operation.appended.sequence;
  }
  return executed;
}

// Under the latch of its key: finds the record and makes the new value.
template <class R>
void BasicGroupVerbs<R>::decide(Session& own, Operation& operation, OffsetMap::Home& home,
                                Durability durability, Change& change) {
  if (auto checked = writes_.attempts().check(operation.key.size(), 0, {durability}); !checked)
    return operation.end(std::move(checked).pass_on());
  change.entry = home.find(rooms_.index.matches(operation.key));
  const Live live =
      rooms_.index.judge(change.entry ? OffsetMap::Home::line(change.entry) : kNoLine);
  if (!live) return operation.end(rooms_.index.error(live));
  if (operation.verb == Operation::Verb::kUpdateWord)
    return decide_word(own, operation, home, live, change);
  if (auto whole = value_of(live, change.value); !whole)
    return operation.end(std::move(whole).pass_on());
  operation.change(change.value);
  if (operation.fixed_bytes && change.value.size() != live.record.value_bytes())
    return operation.end(BasicWrites<R>::other_size(live.record.value_bytes()));
  if (auto checked =
          writes_.attempts().check(operation.key.size(), change.value.size(), {durability});
      !checked)
    return operation.end(std::move(checked).pass_on());
  change.kind = Change::Kind::kCopy;
}

template <class R>
Status BasicGroupVerbs<R>::value_of(const Live& live, std::string& value) const {
  if (!live.record.is_in_pieces()) {
    value = live.record.value();
    return {};
  }
  HF_ASSIGN_OR_RETURN(value, rooms_.pieces.gather(live.record));
  return {};
}

template <class R>
void BasicGroupVerbs<R>::decide_word_in_pieces(Operation& operation, const Live& live,
                                               Change& change) const {
  if (auto whole = value_of(live, change.value); !whole)
    return operation.end(std::move(whole).pass_on());
  const std::uint64_t at = operation.offset_bytes;
  if (at % 8 != 0 || at + sizeof(std::uint64_t) > change.value.size())
    return operation.end(BasicWrites<R>::no_word_at(operation.offset_bytes, change.value.size()));
  std::uint64_t word;
  std::memcpy(&word, change.value.data() + at, sizeof word);
  operation.outcome = word;
  word = operation.change_word(word);
  std::memcpy(change.value.data() + at, &word, sizeof word);
  change.kind = Change::Kind::kCopy;
}

template <class R>
void BasicGroupVerbs<R>::decide_word(Session& own, Operation& operation, OffsetMap::Home& home,
                                     const Live& live, Change& change) {
  const std::uint64_t at = operation.offset_bytes;
  if (live.record.is_in_pieces()) return decide_word_in_pieces(operation, live, change);
  if (at % 8 != 0 || at + sizeof(std::uint64_t) > live.record.value_bytes()) {
    return operation.end(
        BasicWrites<R>::no_word_at(operation.offset_bytes, live.record.value_bytes()));
  }
  auto* const word = reinterpret_cast<std::uint64_t*>(live.record.value_data() + at);
  const BlockMeta& run = rooms_.table.run_of(offset_of(live.line));
  const bool in_place =
      writes_.publication().template may_patch<AnyPath>(run, operation.offset_bytes);
  if (in_place && !change.in_place_allowed) {
    change.waits = true;
    return;
  }
  const std::uint64_t before = Persist::load(word);
  const std::uint64_t after = operation.change_word(before);
  operation.outcome = before;
  if (in_place) {
    const Persist& persist = rooms_.medium.persist();
    home.set_patching(true);  // Readers of this bucket from now on persist what they read.
    persist.store(word, after);
    persist.write_back(word, sizeof *word);
    own.count(0, 1);
    change.kind = Change::Kind::kInPlace;
    return;
  }
  change.value = live.record.value();
  std::memcpy(change.value.data() + at, &after, sizeof after);
  change.kind = Change::Kind::kCopy;
}

// The fence of what was decided. `executed`: those before the first for which there is no room.
template <class R>
Status BasicGroupVerbs<R>::make_durable(Session& own, std::span<Operation> operations,
                                        std::span<Change> changes, Durability durability,
                                        std::size_t& executed) {
  bool copies = false, in_place = false;
  for (const Change& change : changes.first(operations.size())) {
    copies |= change.kind == Change::Kind::kCopy;
    in_place |= change.kind == Change::Kind::kInPlace;
  }
  if (!copies) {
    if (in_place) rooms_.medium.persist().fence();
    own.count(in_place, 0);
    return {};
  }
  {
    const HeldLane lane(rooms_.group, own);
    executed = append_copies(own, *lane, operations, changes);
    own.count(1, 0);
    // The commit's fence is behind the words, too, where it has one.
    if (in_place && lane->run.committed == lane->run.at) rooms_.medium.persist().fence();
    HF_RETURN_IF_ERROR(rooms_.appender.commit(*lane));
  }
  return rooms_.group.wait_for(durability);
}

template <class R>
std::size_t BasicGroupVerbs<R>::append_copies(Session& own, Lane& lane,
                                              std::span<Operation> operations,
                                              std::span<Change> changes) {
  // Newer than all that was published of these keys, since they are latched.
  bool fresh = true;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (changes[i].kind != Change::Kind::kCopy) continue;
    Operation& operation = operations[i];
    const NewRecord record{RecordKind::kPut, operation.hash, operation.key,
                           std::as_bytes(std::span(changes[i].value))};
    auto appended = rooms_.appender.append(lane, record, std::exchange(fresh, false),
                                           BlockTable::Purpose::kUpdate, operation.appended);
    if (appended) {
      own.count(0, operation.appended.padded_bytes / kCacheLineBytes);
      continue;
    }
    if (appended.code() == Errc::kNoSpace) return i;
    changes[i].kind = Change::Kind::kNone;
    operation.end(std::move(appended).pass_on());
  }
  return operations.size();
}

template std::size_t BasicGroupVerbs<Rooms>::update(Session&, std::span<Operation>, Durability);
template std::size_t BasicGroupVerbs<SpaceRooms>::update(Session&, std::span<Operation>,
                                                         Durability);

}  // namespace holdfast::kv
