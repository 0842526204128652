#include <holdfast/kv/sessions.hpp>

#include <pthread.h>

#include <algorithm>

#include <holdfast/base/thread_kept.hpp>

namespace holdfast::kv {
namespace {

std::atomic<std::uint64_t> next_id{1};

// Stores that are alive: a thread that ends after its store does not touch it.
struct Living {
  KernelMutex mutex;
  std::vector<std::uint64_t> ids HF_GUARDED_BY(mutex);

  bool contain(std::uint64_t id) const HF_REQUIRES(mutex) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  }
};
Living& living() {
  static Living& living = []() -> Living& {
    // Locked while it forks, so that the child does not find the lock taken for ever.
    ::pthread_atfork([]() HF_NO_THREAD_SAFETY_ANALYSIS { kv::living().mutex.lock(); },
                     []() HF_NO_THREAD_SAFETY_ANALYSIS { kv::living().mutex.unlock(); },
                     []() HF_NO_THREAD_SAFETY_ANALYSIS { kv::living().mutex.unlock(); });
    return *new Living;  // Never destroyed: threads may end after main() has.
  }();
  return living;
}

}  // namespace

// Where destructors at the end of the thread still call verbs, there is another one, whose sessions
// are given back, too.
struct Sessions::OfThread {
  struct Entry {
    std::uint64_t owner;
    Session* session;
  };
  std::vector<Entry> entries;

  ~OfThread() {
    last_used_ = {};
    Living& stores = living();
    const Lock lock(stores.mutex);
    for (const Entry& entry : entries) {
      if (stores.contain(entry.owner)) entry.session->taken.store(false, std::memory_order_release);
    }
  }
};

constinit thread_local Sessions::LastUsed Sessions::last_used_;

Sessions::Sessions(EpochDomain& epochs, BlockTable& table, EpochDomain* users)
    : epochs_(epochs), table_(table), users_(users), id_(next_id.fetch_add(1)) {
  Living& stores = living();
  const Lock lock(stores.mutex);
  stores.ids.push_back(id_);
}

Sessions::~Sessions() {
  Living& stores = living();
  const Lock lock(stores.mutex);
  std::erase(stores.ids, id_);
}

Session& Sessions::find() {
  OfThread& own = ThreadKept<OfThread>::get();
  for (const auto& entry : own.entries) {
    if (entry.owner == id_) {
      last_used_ = {id_, entry.session};
      return *entry.session;
    }
  }
  Session* const taken = &take();
  {
    Living& stores = living();
    const Lock lock(stores.mutex);
    // Entries of stores that are gone make room.
    std::erase_if(own.entries, [&](const OfThread::Entry& entry) HF_REQUIRES(stores.mutex) {
      return !stores.contain(entry.owner);
    });
  }
  own.entries.push_back({id_, taken});
  last_used_ = {id_, taken};
  return *taken;
}

Session* Sessions::present() const {
  if (last_used_.owner == id_) return last_used_.session;
  const OfThread* const own = ThreadKept<OfThread>::peek();
  if (own == nullptr) return nullptr;
  for (const auto& entry : own->entries) {
    if (entry.owner == id_) return entry.session;
  }
  return nullptr;
}

Session& Sessions::take() {
  const Lock lock(mutex_);
  for (const auto& session : sessions_) {
    bool free = false;
    // A session that a thread gave back comes with its lane, where that one left off.
    if (session->taken.compare_exchange_strong(free, true, std::memory_order_acq_rel))
      return *session;
  }
  sessions_.push_back(make_own());
  return *sessions_.back();
}

std::unique_ptr<Session> Sessions::make_own() {
  auto session = std::make_unique<Session>();
  session->participant = epochs_.join();
  session->tally = &map_->new_tally();
  if (users_ != nullptr) session->user = users_->join();
  return session;
}

std::vector<Session*> Sessions::all() {
  const Lock lock(mutex_);
  std::vector<Session*> all;
  for (const auto& session : sessions_)
    all.push_back(session.get());
  return all;
}

Sessions::Revoked::Revoked(Sessions& sessions) : sessions_(sessions.all()) {
  for (Session* session : sessions_)
    session->lane.revoked.fetch_add(1, std::memory_order_seq_cst);
  // A thread that entered its guard before may not have seen the mark; one that comes later does.
  sessions.epochs_.synchronize();
}

Sessions::Revoked::~Revoked() {
  for (Session* session : sessions_)
    session->lane.revoked.fetch_sub(1, std::memory_order_release);
}

void Sessions::drain_notes() {
  for_each([&](Session& session) { session.notes.drain(table_); });
}

}  // namespace holdfast::kv
