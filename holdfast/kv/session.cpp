// Sessions: a thread's handle on a store, made at its first use and given back at its exit.
#include <holdfast/kv/store_core.hpp>

#include <pthread.h>

#include <algorithm>

namespace holdfast::kv {
namespace {

// Stores that are alive: a thread that ends after its store does not touch it, and a child that
// fork() makes is told that they are not its own.
struct LiveStores {
  std::mutex mutex;
  std::vector<StoreCore*> cores;

  // A later store may stand where one was: so not by address.
  bool contain(std::uint64_t store_uid) const {
    return std::any_of(cores.begin(), cores.end(),
                       [&](const StoreCore* core) { return core->uid() == store_uid; });
  }
};
LiveStores& live_stores() {
  // Never destroyed: threads that nobody joined may end after main() has.
  static LiveStores& stores = []() -> LiveStores& {
    // Locked while it forks, so that the child finds the list whole.
    ::pthread_atfork([] { live_stores().mutex.lock(); }, [] { live_stores().mutex.unlock(); },
                     [] {
                       for (StoreCore* core : live_stores().cores)
                         core->leave_to_parent();
                       live_stores().mutex.unlock();
                     });
    return *new LiveStores;
  }();
  return stores;
}

// What this thread has given back it uses no more, also where destructors of its other thread-local
// objects still call verbs: they get a session that is given back with the store only.
constinit thread_local bool sessions_given_back = false;

struct ThreadSessions {
  struct Entry {
    std::uint64_t store_uid;
    Session* session;
  };
  std::vector<Entry> entries;

  ~ThreadSessions() {
    sessions_given_back = true;
    last_session = {};
    LiveStores& stores = live_stores();
    const std::lock_guard lock(stores.mutex);
    for (const Entry& entry : entries) {
      if (stores.contain(entry.store_uid))
        entry.session->taken.store(false, std::memory_order_release);
    }
  }
};

thread_local ThreadSessions thread_sessions;

}  // namespace

constinit thread_local LastSession last_session;

Session& StoreCore::find_session() const {
  if (sessions_given_back) [[unlikely]] {
    last_session = {store_uid_, &take_session()};
    return *last_session.session;
  }
  ThreadSessions& own = thread_sessions;
  for (const auto& entry : own.entries) {
    if (entry.store_uid == store_uid_) {
      last_session = {store_uid_, entry.session};
      return *entry.session;
    }
  }
  Session* const taken = &take_session();
  LiveStores& stores = live_stores();
  const std::lock_guard lock(stores.mutex);
  // Entries of stores that are gone make room.
  std::erase_if(own.entries, [&](const ThreadSessions::Entry& entry) {
    return !stores.contain(entry.store_uid);
  });
  own.entries.push_back({store_uid_, taken});
  last_session = {store_uid_, taken};
  return *taken;
}

Session& StoreCore::take_session() const {
  const std::lock_guard lock(sessions_mutex_);
  for (const auto& session : sessions_) {
    bool free = false;
    // A session that a thread gave back comes with its lane, where that one left off.
    if (session->taken.compare_exchange_strong(free, true, std::memory_order_acq_rel))
      return *session;
  }
  sessions_.push_back(std::make_unique<Session>());
  sessions_.back()->participant = epochs_.join();
  return *sessions_.back();
}

void StoreCore::enroll() {
  LiveStores& stores = live_stores();
  const std::lock_guard lock(stores.mutex);
  stores.cores.push_back(this);
}

void StoreCore::withdraw() {
  LiveStores& stores = live_stores();
  const std::lock_guard lock(stores.mutex);
  std::erase(stores.cores, this);
}

void StoreCore::leave_to_parent() {
  left_to_parent_ = true;
  writable_.store(false, std::memory_order_release);
}

}  // namespace holdfast::kv
