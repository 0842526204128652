// sessions.hpp: a thread's handle on a store: its guard, its lane, its books.
//
// A session is made at a thread's first use of the store and given back at the thread's end. The
// next thread that comes takes it as it is, with the run that is open in it.
//
// Threads    of_this_thread(): any. A Session: its thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <holdfast/base/epoch.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/index/offset_map.hpp>
#include <holdfast/kv/dead_notes.hpp>
#include <holdfast/kv/lane.hpp>
#include <holdfast/kv/record.hpp>

namespace holdfast::kv {

// The size that the values a thread reads have had. A core that takes a value to have it copies all
// of it while the header, which says so, is still on its way.
class UsualSize {
 public:
  // Equal to `bytes`, without waiting for it where it is the usual one.
  std::uint64_t of(std::uint64_t bytes) {
    std::uint64_t usual = usual_;
    asm("" : "+r"(usual));  // So that the compiler does not take the one for the other.
    if (usual == bytes) [[likely]]
      return usual;
    note(bytes);
    return bytes;
  }

 private:
  // A guess that is wrong now and then costs more than none: so many in a row make a size usual.
  static constexpr std::uint32_t kInARow = 16;
  void note(std::uint64_t bytes) {
    in_a_row_ = bytes == last_ ? in_a_row_ + 1 : 0;
    last_ = bytes;
    usual_ = in_a_row_ >= kInARow ? bytes : kNone;
  }

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t usual_ = kNone, last_ = kNone;
  std::uint32_t in_a_row_ = 0;
};

// A record of put_many on its way: appended, not yet published.
struct OnItsWay {
  index::Place place;
  Appended appended;
  index::Seen old;    // What may be its key's record,
  bool sure = false;  // if there is one at all.
};

struct alignas(kCacheLineBytes) Session {
  static constexpr std::size_t kGroup = 64;  // Records that put_many has on their way.
  EpochDomain::Participant participant;
  index::OffsetMap::Tally* tally = nullptr;        // What it inserts and removes.
  std::atomic<std::uint64_t> fences{0}, lines{0};  // Its thread's own, of the medium.
  Lane lane;
  UsualSize sizes;  // Of values that its thread reads.
  DeadNotes notes;
  std::atomic<bool> taken{true};  // By a thread; free ones are taken by the next thread that comes.
  bool undone = false;            // An operation failed after it had appended.
  index::OffsetMap::LatchedMany latches;     // Of atomic batches; keeps its memory.
  std::array<OnItsWay, kGroup> group;        // Of put_many.
  std::uint64_t rest_head = 0, rest_at = 0;  // Where the lane was when reclamation last looked.
  EpochDomain::Participant user;             // Of a keyspace: see SpaceTable::users().

  void count(std::uint64_t more_fences, std::uint64_t more_lines) {
    fences.store(fences.load(std::memory_order_relaxed) + more_fences, std::memory_order_relaxed);
    lines.store(lines.load(std::memory_order_relaxed) + more_lines, std::memory_order_relaxed);
  }
};

class Sessions {
 public:
  // `users`: of a keyspace, else null.
  Sessions(EpochDomain& epochs, BlockTable& table, EpochDomain* users = nullptr);
  ~Sessions();
  Sessions(const Sessions&) = delete;

  // New sessions count in this map from here on. Before the first use.
  void count_in(index::OffsetMap& map) { map_ = &map; }

  // The calling thread's.
  Session& of_this_thread() {
    if (last_used_.owner == id_) [[likely]]
      return *last_used_.session;
    return find();
  }
  // The same, or null if it has none yet.
  Session* present() const;
  // Null unless this thread used this store last. Makes none.
  Session* used_last() {
    if (last_used_.owner != id_) return nullptr;
    Session* const session = last_used_.session;
    if (session == nullptr) __builtin_unreachable();  // So nobody asks twice: ids are not 0.
    return session;
  }
  // One that no thread has: for the store's own work.
  std::unique_ptr<Session> make_own();

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Session* session : all())
      visit(*session);
  }

  // While it lives, every thread takes the latch of its lane, so that others may, too. Waits until
  // all threads know; the caller is in no guard.
  class Revoked {
   public:
    explicit Revoked(Sessions& sessions);
    ~Revoked();
    Revoked(const Revoked&) = delete;
    // Those that were there when it began.
    const std::vector<Session*>& sessions() const { return sessions_; }

   private:
    const std::vector<Session*> sessions_;
  };

  // Applies all notes: the books of the block table are exact then.
  void drain_notes();
  std::uint64_t id() const { return id_; }

 private:
  // The session that this thread used last, of whichever store: nearly always the next one, too.
  struct LastUsed {
    std::uint64_t owner = 0;
    Session* session = nullptr;
  };
  struct OfThread;
  // A look at it is a load, not a call, also in code that may become part of a shared library.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local LastUsed last_used_;

  Session& find();
  Session& take();
  std::vector<Session*> all();

  EpochDomain& epochs_;
  BlockTable& table_;
  EpochDomain* const users_;
  index::OffsetMap* map_ = nullptr;
  const std::uint64_t id_;  // Of this object in this process: a later one may have its address.
  KernelMutex mutex_;
  std::vector<std::unique_ptr<Session>> sessions_ HF_GUARDED_BY(mutex_);
};

}  // namespace holdfast::kv
