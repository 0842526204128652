#include <holdfast/kv/group_verbs.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <holdfast/base/prefetch.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {
namespace {

template <class T>
Result<std::uint64_t> number(Result<T> result) {
  if (!result) return std::move(result).pass_on();
  return static_cast<std::uint64_t>(*result);
}

}  // namespace

template <class R>
void BasicGroupVerbs<R>::run(std::span<Operation> operations, Durability durability) {
  while (!operations.empty()) {
    if (rooms_.displaced && rooms_.displaced->full()) {
      // Where the device fails, those that need what stands there say so.
      (void)rooms_.displaced->settle_some(rooms_.sessions.of_this_thread(),
                                          Displaced::kSettledAtOnce);
    }
    const std::size_t executed = run_together(operations, durability);
    operations = operations.subspan(executed);
    writes_.attempts().pay_pause(rooms_.sessions.of_this_thread());
    // What was disowned is dead on the medium before what is behind it goes on. A failure closes
    // the write gate, which the rest then finds.
    if (auto taken_back = writes_.attempts().take_back(); !taken_back && !operations.empty()) {
      operations.front().end(std::move(taken_back).pass_on());
    }
    if (operations.empty()) return;
    if (!operations.front().done) run_alone(operations.front(), durability);
    operations = operations.subspan(1);
  }
}

template <class R>
void BasicGroupVerbs<R>::run_alone(Operation& operation, Durability durability) {
  const WriteOptions options{durability};
  const Bytes key = operation.key;
  switch (operation.verb) {
    case Operation::Verb::kPut:
      return operation.end(number(writes_.put_alone(key, operation.value, options)));
    case Operation::Verb::kErase: return operation.end(number(writes_.erase_alone(key, options)));
    case Operation::Verb::kUpdate:
      return operation.end(writes_.update(key, operation.change, operation.fixed_bytes, options));
    case Operation::Verb::kUpdateWord:
      return operation.end(
          writes_.update_word_alone(key, operation.offset_bytes, operation.change_word, options));
    case Operation::Verb::kGet:
    case Operation::Verb::kGetBuffer: break;
  }
  HF_CHECK(false);  // Gets do not fail for want of room.
}

// ---- What is compiled for a store, at once ----

template <class R>
std::size_t BasicGroupVerbs<R>::append_some(Session& own, std::span<Operation> operations) const {
  if constexpr (std::is_same_v<R, Rooms>) return verbs_->append_some(rooms_, own, operations);
  return 0;
}

template <class R>
bool BasicGroupVerbs<R>::look_at_all(std::span<Operation> operations) const {
  if constexpr (std::is_same_v<R, Rooms>) return verbs_->look_at_all(rooms_, operations);
  return false;
}

template <class R>
std::size_t BasicGroupVerbs<R>::publish_some(Session& own, std::span<Operation> operations) const {
  if constexpr (std::is_same_v<R, Rooms>) return verbs_->publish_some(rooms_, own, operations);
  return 0;
}

// Executes the first of them, as far as none must be executed alone. Returns how many.
template <class R>
std::size_t BasicGroupVerbs<R>::run_together(std::span<Operation> operations,
                                             Durability durability) {
  Session& own = rooms_.sessions.of_this_thread();
  const bool reads = std::all_of(operations.begin(), operations.end(),
                                 [](const Operation& operation) { return operation.reads(); });
  const auto guard = reads ? rooms_.epochs.enter(own.participant) : writes_.attempts().begin(own);
  const std::size_t end = append(own, operations, durability);
  if (rooms_.medium.paged())
    fetch(operations.first(end));
  else if (!look_at_all(operations.first(end)))
    prefetch(operations.first(end));
  for (std::size_t i = 0; i < end;) {
    i += publish_some(own, operations.subspan(i, end - i));
    if (i == end) break;
    Operation& operation = operations[i];
    std::size_t executed = 1;
    if (operation.updates() && !operation.done)
      executed = update(own, operations.subspan(i, end - i), durability);
    else if (!operation.done)
      executed = publish(own, operation, durability, guard) ? 1 : 0;
    if (executed == 0) {
      // What is behind it is to come after it: its records are appended again then.
      disown(own, operations.subspan(i, end - i));
      return i;
    }
    i += executed;
  }
  return end;
}

// ---- Onto the medium ----

// The first operations' records, durably; returns how many operations that are.
template <class R>
std::size_t BasicGroupVerbs<R>::append(Session& own, std::span<Operation> operations,
                                       Durability durability) {
  std::size_t end = 0;
  Status committed;
  {
    const HeldLane lane(rooms_.group, own);
    end = append_all(own, *lane, operations, durability);
    own.count(lane->run.committed != lane->run.at, 0);
    committed = rooms_.appender.commit(*lane);
  }
  const auto is_appended = [](const Operation& one) { return one.appended_record; };
  if (committed && rooms_.group.lacks(durability) &&
      std::any_of(operations.begin(), operations.end(), is_appended)) {
    committed = rooms_.group.wait();
  }
  if (!committed) {  // In doubt: the write gate is closed.
    for (Operation& operation : operations.first(end)) {
      if (std::exchange(operation.appended_record, false)) operation.end(committed.error());
    }
  }
  return end;
}

template <class R>
std::size_t BasicGroupVerbs<R>::append_all(Session& own, Lane& lane,
                                           std::span<Operation> operations, Durability durability) {
  // Newer than all that was acknowledged before: a record that finds a newer one of its key is
  // written once more, and would be missing from the prefix that a crash leaves.
  bool fresh = !rooms_.sequences.is_newest(lane.chunk);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    i += append_some(own, operations.subspan(i));
    if (i == operations.size()) break;
    if (!append_one(own, lane, operations.first(i), operations[i], durability, fresh)) return i;
  }
  return operations.size();
}

// False: it is to be executed alone.
template <class R>
bool BasicGroupVerbs<R>::append_one(Session& own, Lane& lane, std::span<Operation> before,
                                    Operation& operation, Durability durability, bool& fresh) {
  operation.place = rooms_.index.place(operation.hash);
  if (!operation.is_of_records() || operation.done) return true;
  const bool erase = operation.verb == Operation::Verb::kErase;
  if (auto checked = writes_.attempts().check(erase ? 0 : operation.key.size(),
                                              operation.value.size(), {durability});
      !checked) [[unlikely]] {
    operation.end(std::move(checked).pass_on());
    return true;
  }
  if (erase && !leaves_tombstone(before, operation)) return true;
  if (!erase && rooms_.displaced) operation.old = rooms_.displaced->to_displace(operation.place);
  const auto purpose = erase ? BlockTable::Purpose::kErase : BlockTable::Purpose::kPut;
  auto appended = rooms_.appender.append(lane, operation.record(), std::exchange(fresh, false),
                                         purpose, operation.appended);
  if (!appended) [[unlikely]] {
    // Alone it makes room, or pauses before a run is opened.
    if (appended.code() == Errc::kNoSpace || appended.code() == Errc::kBusy) return false;
    operation.end(std::move(appended).pass_on());
    return true;
  }
  operation.appended_record = true;
  own.count(0, operation.appended.padded_bytes / kCacheLineBytes);
  return true;
}

// Whether the key may be there when its turn comes. A tag that matches by accident costs a
// tombstone; a key that comes from elsewhere meanwhile is looked for again then.
template <class R>
bool BasicGroupVerbs<R>::leaves_tombstone(std::span<Operation> before,
                                          const Operation& erase) const {
  if (erase.key.size() > kMaxKeyBytes) return false;
  if (rooms_.index.map().look(erase.place, [](Line) { return true; })) return true;
  return std::any_of(before.begin(), before.end(), [&](const Operation& other) {
    return other.hash == erase.hash && other.verb == Operation::Verb::kPut;
  });
}

// ---- Into the index ----

template <class R>
void BasicGroupVerbs<R>::prefetch(std::span<Operation> operations) const {
  for (const Operation& operation : operations) {
    if (operation.verb == Operation::Verb::kUpdateWord) {
      const std::uint64_t value_at = rooms_.records.geometry().value_at(operation.key.size());
      rooms_.index.prefetch_record(operation.place, value_at + operation.offset_bytes);
      continue;
    }
    if (!operation.reads()) {
      rooms_.index.prefetch_record(operation.place);
      continue;
    }
    const Line candidate = rooms_.index.map().candidate(operation.place);
    if (candidate == kNoLine) continue;
    const std::byte* const at = rooms_.medium.at(offset_of(candidate));
    for (std::size_t line = 0; line < 4; ++line)
      prefetch_for_read(at + line * kCacheLineBytes);
  }
}

// Page media: what they need of the device is read at the same time. Where it fails, gets and
// updates learn it from here.
template <class R>
void BasicGroupVerbs<R>::fetch(std::span<Operation> operations) const {
  std::array<Line, Reads::kFetched> lines;
  std::size_t count = 0;
  const auto fetch_all = [&](std::span<Operation> of) {
    auto fetched = reads_.fetch_records(std::span(lines).first(std::exchange(count, 0)));
    if (fetched) return;
    for (Operation& operation : of) {
      if (!operation.is_of_records()) operation.end(fetched.error());
    }
  };
  std::size_t first = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].old) continue;
    const Line candidate = rooms_.index.map().candidate(operations[i].place);
    if (candidate != kNoLine) lines[count++] = candidate;
    if (count < lines.size()) continue;
    fetch_all(operations.subspan(first, i + 1 - first));
    first = i + 1;
  }
  fetch_all(operations.subspan(first));
}

// One that left no tombstone looks again: the key may have come from elsewhere.
template <class R>
Result<std::uint64_t> BasicGroupVerbs<R>::publish_erase(Session& own, Operation& operation,
                                                        Durability durability) {
  if (!operation.appended_record) {
    HF_ASSIGN_OR_RETURN(const bool absent,
                        writes_.publication().is_absent(own, operation.place, operation.key));
    if (absent) return std::uint64_t{false};
  }
  return number(writes_.publication().publish_grouped_erase(
      own, operation.place, operation.record(), operation.appended, {durability}));
}

// False: the medium is full, and the operation is to be executed alone.
template <class R>
bool BasicGroupVerbs<R>::publish(Session& own, Operation& operation, Durability durability,
                                 const EpochDomain::Guard& guard) {
  // An operation before it may have made the table of its partition grow: what is looked up
  // without a latch must be looked up in the new one.
  if (!operation.appended_record) operation.place = rooms_.index.place(operation.hash);
  switch (operation.verb) {
    case Operation::Verb::kPut:
      operation.outcome = number(writes_.publication().publish_grouped_put(
          own, operation.place, operation.record(), operation.appended, operation.old,
          {durability}));
      break;
    case Operation::Verb::kErase:
      operation.outcome = publish_erase(own, operation, durability);
      break;
    default: {
      auto found = reads_.get_grouped(operation.place, operation.key, operation.text,
                                      operation.buffer, guard);
      if (!found)
        operation.outcome = std::move(found).pass_on();
      else
        operation.outcome = operation.wants_length ? found->value_bytes : found->version;
      break;
    }
  }
  operation.appended_record = false;
  operation.done = operation.outcome.code() != Errc::kNoSpace;
  if (!operation.done) operation.appended = {};
  return operation.done;
}

template <class R>
void BasicGroupVerbs<R>::disown(Session& own, std::span<Operation> operations) {
  for (Operation& operation : operations) {
    if (!std::exchange(operation.appended_record, false)) continue;
    const auto home = rooms_.index.latch(operation.place, own);
    writes_.publication().disown(own, operation.hash, std::exchange(operation.appended, {}),
                                 operation.record().kind);
  }
}

template class BasicGroupVerbs<Rooms>;
template class BasicGroupVerbs<SpaceRooms>;

}  // namespace holdfast::kv
