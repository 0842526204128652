// keyspaces.hpp: the keyspaces of a store by their names: created, opened, dropped, listed.
// docs/keyspaces.md.
//
// Guarantee  A space that create() returned is there after a crash, with its name; one that drop()
//            returned for is not, and its runs are free or become so at the next open. A crash
//            during either leaves the space whole or not at all.
// Threads    Any.   Fences  create: one (the first of a store: three). drop: two, and one for each
//            run of it that is open.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <holdfast/base/mutex.hpp>
#include <holdfast/kv/batches.hpp>
#include <holdfast/kv/group_verbs.hpp>
#include <holdfast/kv/maintenance.hpp>
#include <holdfast/kv/merges.hpp>
#include <holdfast/kv/reads.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/space_names.hpp>
#include <holdfast/kv/space_rooms.hpp>

namespace holdfast::kv {

// What a handle leads to.
struct SpaceCore {
  SpaceCore(SpaceRooms& own, Maintenance& of_store, std::string called)
      : rooms(own),
        maintenance(of_store),
        reads(rooms),
        writes(rooms, maintenance),
        merges(rooms, maintenance, writes),
        groups(rooms, nullptr, reads, writes),
        id(own.id),
        name(std::move(called)) {}

  // Verifies its records only. Errors: kBusy (called by a verb that is under way).
  Result<VerifyReport> verify();

  SpaceRooms& rooms;
  Maintenance& maintenance;
  BasicReads<SpaceRooms> reads;
  BasicWrites<SpaceRooms> writes;
  BasicMerges<SpaceRooms> merges;
  BasicGroupVerbs<SpaceRooms> groups;
  const std::uint16_t id;  // The rooms' while it is open; then they are another space's.
  const std::string name;
  std::atomic<bool> open{true};  // Asked inside a guard of SpaceTable::users().
};

// Null: there is none any more, or it was left to the parent of a fork().
inline SpaceCore* core_of(const Space::Link& link) {
  SpaceCore* const core = link == nullptr ? nullptr : link->load(std::memory_order_acquire);
  return core != nullptr && !core->rooms.store.gate.is_parents_alone() ? core : nullptr;
}

// Runs the verb where the space cannot go away.
template <class Verb>
auto Space::in(Verb&& verb) const {
  using Outcome = decltype(verb(std::declval<SpaceCore&>()));
  SpaceCore* const core = core_of(link_);
  if (core == nullptr) return Outcome(closed());
  Session& own = core->rooms.sessions.of_this_thread();
  const auto guard = core->rooms.store.spaces.users().enter(own.user);
  if (!core->open.load(std::memory_order_acquire)) return Outcome(closed());
  return verb(*core);
}

class Keyspaces {
 public:
  Keyspaces(Rooms& rooms, Maintenance& maintenance, Batches& batches)
      : rooms_(rooms), maintenance_(maintenance), batches_(batches) {}
  ~Keyspaces() { close(); }
  Keyspaces(const Keyspaces&) = delete;

  // What recovery found.
  Status adopt();
  // Errors: kInvalidOption (the name; a typed store), kAlreadyExists, kNoSpace, those of a put.
  Result<Space> create(std::string_view name);
  Result<Space> open(std::string_view name);  // Errors: kNotFound.
  // Errors: kNotFound, kBusy (snapshots of it are open; the caller is called by a verb), those of a
  // put.
  Status drop(std::string_view name);
  std::vector<std::string> names() const;  // In their order.
  // An atomic batch with operations in spaces. Errors: kClosed (a space is), kInvalidOption (one is
  // of another store), those of a batch.
  Result<Version> write(const WriteBatch& batch, WriteOptions options);
  // A record of the system space that says what expires (expiry_rules.hpp), durable when it
  // returns.
  enum class Frees { kNothing, kRoom };  // What frees is not refused by a full medium.
  Status put_expiry(const std::string& key, const std::string& value, Frees frees)
      HF_REQUIRES(mutex_);
  // No space is created or dropped while it is held, and nothing else of these is put.
  Mutex& mutex() HF_RETURN_CAPABILITY(mutex_) { return mutex_; }
  // Handles lead nowhere from here on.
  void close();

  // Spaces that are not dropped while the guards live. `of`: what names them, for errors. Errors:
  // kClosed (one is), kInvalidOption (one is of another store).
  using Link = Space::Link;
  struct InUse {
    SpaceRooms& rooms;
    EpochDomain::Guard guard;
  };
  Result<std::vector<InUse>> use(std::span<const Link> links, const char* of) const;

 private:
  struct Named {
    std::unique_ptr<SpaceCore> core;
    Link link;  // Ends first, and with it what other threads did by handles.
  };

  Result<Named*> find(std::string_view name) const HF_REQUIRES(names_mutex_);
  void enter(std::string name, SpaceRooms& rooms) HF_REQUIRES(mutex_);
  Status put_name(std::uint16_t id, const SpaceName& name) HF_REQUIRES(mutex_);
  Status put_of_system(const std::string& key, const std::string& value, Frees frees)
      HF_REQUIRES(mutex_);

  Rooms& rooms_;
  Maintenance& maintenance_;
  Batches& batches_;
  // Held by create, drop, expiry and checkpoints, which wait for verbs of spaces. So no thread that
  // may be in such a verb takes it.
  Mutex mutex_;
  mutable KernelMutex names_mutex_;  // Inside the other; nothing is waited for.
  std::map<std::string, std::unique_ptr<Named>, std::less<>> named_ HF_GUARDED_BY(names_mutex_);
  std::vector<std::unique_ptr<Named>> dropped_ HF_GUARDED_BY(names_mutex_);  // Known to handles.
  std::unique_ptr<SpaceCore> system_ HF_GUARDED_BY(mutex_);
  std::uint32_t next_id_ HF_GUARDED_BY(mutex_) = kFirstSpace;
};

}  // namespace holdfast::kv
