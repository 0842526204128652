// space_table.hpp: the keyspaces of a store, by their ids. keyspaces.hpp has their names.
//
// Threads    find(), for_each(): any. make(): recovery's threads, and the creator of a space.
//            retire(): the thread that drops a space, when no verb of it is under way and nothing
//            reclaims.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/base/result.hpp>
#include <holdfast/base/sparse_array.hpp>

namespace holdfast::kv {

struct Rooms;
struct SpaceRooms;

class SpaceTable {
 public:
  explicit SpaceTable(Rooms& rooms);
  ~SpaceTable();
  SpaceTable(const SpaceTable&) = delete;

  // Null: there is none of this id, or it was dropped.
  SpaceRooms* find(std::uint16_t id) const;
  // The space of the id, made if there is none yet. Errors: kNoSpace (no memory for its index).
  Result<SpaceRooms*> make(std::uint16_t id);
  // The space is not found any more. Its rooms are emptied, and a space that is made later takes
  // its place. So its address stays that of a space until the store closes, since handles may know
  // it. A store that makes and drops spaces takes no more memory than for those that it had at a
  // time.
  void retire(std::uint16_t id);

  // By ascending ids.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (SpaceRooms* space : all())
      visit(*space);
  }
  // The same while none is retired: of use where the caller is in no verb of a space and looks at
  // its order. What is visited waits for nothing.
  template <class Visit>
  void for_each_kept(Visit&& visit) const {
    const Lock lock(mutex_);
    for (const auto& space : spaces_)
      visit(*space);
  }
  bool empty() const { return all().empty(); }

  // Verbs of spaces are inside, so that a drop can wait for them.
  EpochDomain& users() { return users_; }

 private:
  std::vector<SpaceRooms*> all() const;

  Rooms& rooms_;
  EpochDomain users_;
  SparseArray<SpaceRooms*> by_id_;
  mutable KernelMutex mutex_;
  std::vector<std::unique_ptr<SpaceRooms>> spaces_ HF_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<SpaceRooms>> spare_ HF_GUARDED_BY(mutex_);    // Empty, of no id.
  std::vector<std::unique_ptr<SpaceRooms>> retired_ HF_GUARDED_BY(mutex_);  // Not to be emptied.
};

}  // namespace holdfast::kv
