// Sessions: a thread's handle on a store, made at its first use and given back at its exit.
#include <holdfast/kv/store_core.hpp>

#include <algorithm>

namespace holdfast::kv {
namespace {

// Stores that are alive, so that a thread that ends after its store does not touch it.
struct LiveStores {
  std::mutex mutex;
  std::vector<std::uint64_t> uids;
};
LiveStores& live_stores() {
  static LiveStores stores;
  return stores;
}

struct ThreadSessions {
  struct Entry {
    std::uint64_t store_uid;
    Session* session;
  };
  std::vector<Entry> entries;

  ~ThreadSessions() {
    LiveStores& stores = live_stores();
    const std::lock_guard lock(stores.mutex);
    for (const Entry& entry : entries) {
      if (std::find(stores.uids.begin(), stores.uids.end(), entry.store_uid) != stores.uids.end()) {
        entry.session->taken.store(false, std::memory_order_release);
      }
    }
  }
};

thread_local ThreadSessions thread_sessions;

}  // namespace

constinit thread_local LastSession last_session;

Session& StoreCore::find_session() const {
  ThreadSessions& own = thread_sessions;
  for (const auto& entry : own.entries) {
    if (entry.store_uid == store_uid_) {
      last_session = {store_uid_, entry.session};
      return *entry.session;
    }
  }
  Session* taken = nullptr;
  {
    const std::lock_guard lock(sessions_mutex_);
    for (const auto& session : sessions_) {
      bool free = false;
      // A session that a thread gave back comes with its lane, where that one left off.
      if (session->taken.compare_exchange_strong(free, true, std::memory_order_acq_rel)) {
        taken = session.get();
        break;
      }
    }
    if (taken == nullptr) {
      sessions_.push_back(std::make_unique<Session>());
      taken = sessions_.back().get();
      taken->participant = epochs_.join();
    }
  }
  LiveStores& stores = live_stores();
  const std::lock_guard lock(stores.mutex);
  // Entries of stores that are gone make room.
  std::erase_if(own.entries, [&](const ThreadSessions::Entry& entry) {
    return std::find(stores.uids.begin(), stores.uids.end(), entry.store_uid) == stores.uids.end();
  });
  own.entries.push_back({store_uid_, taken});
  last_session = {store_uid_, taken};
  return *taken;
}

void StoreCore::enroll() {
  LiveStores& stores = live_stores();
  const std::lock_guard lock(stores.mutex);
  stores.uids.push_back(store_uid_);
}

void StoreCore::withdraw() {
  LiveStores& stores = live_stores();
  const std::lock_guard lock(stores.mutex);
  std::erase(stores.uids, store_uid_);
}

}  // namespace holdfast::kv
