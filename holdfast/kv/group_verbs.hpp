// group_verbs.hpp: operations of any kinds, executed together: what Pipeline, update_many and
// erase_many are made of, those of keyspaces too.
//
//   groups.run(operations, durability);          // Each has its outcome.
//
// How  (1) all puts and erases are appended, in order, under new sequences; one fence;
//      (2) the records that they supersede, and those to be read, are asked for;
//      (3) each operation takes effect, in order: records are published, gets read. Updates decide
//          under the latches of their keys; those that stand together share a fence
//          (group_updates).
//
// Guarantee  As of the single verbs, in the order of `operations`: each sees those before it, and
//            none behind it. After a crash each is there wholly or not at all; of the operations on
//            one key a prefix is there.
// Errors     An operation's own, in its outcome; the others go on. One that finds the medium full
//            is executed alone, with what that does for room; those behind it come after it.
// Threads    Any.   Fences  one for all puts and erases, one for up to 16 updates that stand
//            together, one more for an update that must write a record behind one that need not;
//            none where nothing is written. As put() where an operation must append again.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <holdfast/kv/reads.hpp>
#include <holdfast/kv/verbs.hpp>
#include <holdfast/kv/writes.hpp>

namespace holdfast::kv {

// One operation: what is asked for, and how far it is.
struct Operation {
  enum class Verb : std::uint8_t { kPut, kErase, kGet, kGetBuffer, kUpdate, kUpdateWord };

  Verb verb = Verb::kGet;
  bool appended_record = false;  // It lies on the medium, fenced, and is not published.
  bool done = false;
  bool fixed_bytes = false;        // kUpdate: the value keeps its size.
  bool wants_length = false;       // kGetBuffer: the outcome is the value's length.
  std::uint32_t offset_bytes = 0;  // kUpdateWord.
  std::uint64_t hash = 0;
  Bytes key, value;
  std::string* text = nullptr;  // kGet.
  std::span<std::byte> buffer;  // kGetBuffer.
  // PutOutcome; whether it was there; version, or the value's length; version; the word before.
  Result<std::uint64_t> outcome = std::uint64_t{0};
  Place place;
  Appended appended;
  // For a put on page media: what it may displace, unread. Elsewhere: what may be the key's record.
  // `sure` says whether there is one at all.
  Seen old;
  bool sure = false;
  std::function<void(std::string&)> change;                 // kUpdate.
  std::function<std::uint64_t(std::uint64_t)> change_word;  // kUpdateWord.

  bool updates() const { return verb == Verb::kUpdate || verb == Verb::kUpdateWord; }
  // Begins another operation in this object.
  void begin(Verb next, Bytes its_key, Bytes its_value) {
    verb = next;
    appended_record = done = fixed_bytes = wants_length = false;
    key = its_key;
    value = its_value;
    text = nullptr;
    outcome = std::uint64_t{0};
    appended = {};
    old = {};
    sure = false;
  }
  bool reads() const { return verb == Verb::kGet || verb == Verb::kGetBuffer; }
  bool is_of_records() const { return verb == Verb::kPut || verb == Verb::kErase; }
  NewRecord record() const {
    return {verb == Verb::kPut ? RecordKind::kPut : RecordKind::kErase, hash, key, value};
  }
  void end(Result<std::uint64_t> result) {
    outcome = std::move(result);
    done = true;
  }
  // The same of one that has no error yet.
  void end_at_once(std::uint64_t result) {
    *outcome = result;
    appended_record = false;
    done = true;
  }
};

struct GroupChange;  // group_updates.cpp.

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicGroupVerbs {
 public:
  // `verbs`: those of the store, which may be exchanged; null of a space, whose operations take no
  // stage at once.
  BasicGroupVerbs(R& rooms, const Verbs* verbs, BasicReads<R>& reads, BasicWrites<R>& writes)
      : rooms_(rooms), verbs_(verbs), reads_(reads), writes_(writes) {}
  BasicGroupVerbs(const BasicGroupVerbs&) = delete;

  // Sets the hash, and asks for what the operation will touch first. In no guard.
  void prepare(Operation& operation) const {
    operation.hash = rooms_.index.hash(operation.key);
    if (operation.is_of_records())
      rooms_.index.map().prefetch_for_write(operation.hash);
    else
      rooms_.index.map().prefetch(operation.hash);
  }
  // The caller is in no guard. All were prepared.
  void run(std::span<Operation> operations, Durability durability);

 private:
  using Change = GroupChange;

  // These do some of the first operations, by the code that was compiled for this store (Verbs).
  std::size_t append_some(Session& own, std::span<Operation> operations) const;
  bool look_at_all(std::span<Operation> operations) const;
  std::size_t publish_some(Session& own, std::span<Operation> operations) const;

  std::size_t run_together(std::span<Operation> operations, Durability durability);
  void run_alone(Operation& operation, Durability durability);

  std::size_t append(Session& own, std::span<Operation> operations, Durability durability);
  std::size_t append_all(Session& own, Lane& lane, std::span<Operation> operations,
                         Durability durability);
  bool append_one(Session& own, Lane& lane, std::span<Operation> before, Operation& operation,
                  Durability durability, bool& fresh);
  bool leaves_tombstone(std::span<Operation> before, const Operation& erase) const;
  void prefetch(std::span<Operation> operations) const;
  void fetch(std::span<Operation> operations) const;
  Result<std::uint64_t> publish_erase(Session& own, Operation& operation, Durability durability);
  bool publish(Session& own, Operation& operation, Durability durability,
               const EpochDomain::Guard& guard);
  void disown(Session& own, std::span<Operation> operations);

  std::size_t update(Session& own, std::span<Operation> operations, Durability durability);
  void decide(Session& own, Operation& operation, OffsetMap::Home& home, Durability durability,
              Change& change);
  void decide_word(Session& own, Operation& operation, OffsetMap::Home& home, const Live& live,
                   Change& change);
  void decide_word_in_pieces(Operation& operation, const Live& live, Change& change) const;
  Status value_of(const Live& live, std::string& value) const;  // Into `value`.
  std::size_t append_copies(Session& own, Lane& lane, std::span<Operation> operations,
                            std::span<Change> changes);
  Status make_durable(Session& own, std::span<Operation> operations, std::span<Change> changes,
                      Durability durability, std::size_t& executed);

  R& rooms_;
  const Verbs* const verbs_;
  BasicReads<R>& reads_;
  BasicWrites<R>& writes_;
};
using GroupVerbs = BasicGroupVerbs<Rooms>;

}  // namespace holdfast::kv
