// handles.hpp: what the handles of holdfast.h are. A store counts what was opened of it, so that it
// does not go before that does.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <holdfast/c/holdfast.h>
#include <holdfast/c/boundary.hpp>
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/events.hpp>
#include <holdfast/kv/options.hpp>
#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/space.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::c {

// How much of each kind is open. Threads: any.
class Children {
 public:
  enum Kind : std::size_t { kPin, kIterator, kSnapshot, kCheckpoint, kImport };

  void add(Kind kind) { open_[kind].fetch_add(1, std::memory_order_relaxed); }
  void remove(Kind kind) { open_[kind].fetch_sub(1, std::memory_order_release); }
  // "2 iterators and 1 pin"; empty: none is open.
  std::string text() const;

 private:
  std::array<std::atomic<std::uint32_t>, 5> open_{};
};

// One of them, for as long as it lives.
class Child {
 public:
  Child(Children& children, Children::Kind kind) : children_(children), kind_(kind) {
    children_.add(kind_);
  }
  ~Child() { children_.remove(kind_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  Children& children_;
  const Children::Kind kind_;
};

class KeptEvents;  // events.cpp

}  // namespace holdfast::c

struct hf_options {
  holdfast::kv::StoreOptions options;
  bool keep_events = false;
};

struct hf_store {
  hf_store(holdfast::kv::Store<> opened, std::shared_ptr<holdfast::c::KeptEvents> kept)
      : events(std::move(kept)), store(std::move(opened)) {}
  const std::shared_ptr<holdfast::c::KeptEvents> events;  // Null: none are kept.
  holdfast::kv::Store<> store;
  holdfast::c::Children children;
};

struct hf_space {
  holdfast::kv::Space space;
};

struct hf_pipeline {
  holdfast::kv::Pipeline<> pipeline;
};

// In each of these the child is the first member: it is counted until the rest has gone.
struct hf_pin {
  hf_pin(hf_store& store, holdfast::kv::Pinned value)
      : child(store.children, holdfast::c::Children::kPin), pinned(std::move(value)) {}
  holdfast::c::Child child;
  holdfast::kv::Pinned pinned;
};

struct hf_batch {
  holdfast::kv::WriteBatch batch;
};

struct hf_snapshot {
  // Shared with its iterators, which may so outlive the handle.
  struct State {
    explicit State(hf_store& of)
        : child(of.children, holdfast::c::Children::kSnapshot),
          store(of),
          view(of.store.snapshot()) {}
    holdfast::c::Child child;
    hf_store& store;
    holdfast::kv::Snapshot view;
  };
  std::shared_ptr<State> state;
};

struct hf_iter {
  hf_iter(hf_store& store, std::shared_ptr<hf_snapshot::State> of, holdfast::kv::Cursor at)
      : child(store.children, holdfast::c::Children::kIterator),
        snapshot(std::move(of)),
        cursor(std::move(at)) {}
  holdfast::c::Child child;
  std::shared_ptr<hf_snapshot::State> snapshot;  // Null: of the live store.
  holdfast::kv::Cursor cursor;
};

struct hf_checkpoint {
  hf_checkpoint(hf_store& store, holdfast::kv::Checkpoint of)
      : child(store.children, holdfast::c::Children::kCheckpoint), checkpoint(std::move(of)) {}
  holdfast::c::Child child;
  holdfast::kv::Checkpoint checkpoint;
};

namespace holdfast::c {

// Options for one store, and where its events go.
struct Opening {
  explicit Opening(const hf_options* options);
  kv::StoreOptions options;
  std::shared_ptr<KeptEvents> events;
};

inline std::string_view text_of(const void* bytes, std::size_t count) {
  return {static_cast<const char*>(bytes), count};
}

// The flags of a write. Errors: kInvalidOption.
Result<kv::WriteOptions> write_options(std::uint32_t flags);

[[gnu::cold]] detail::ErrorWord too_large(const char* what, std::size_t seen,
                                          std::uint64_t allowed);
// For what would answer of a child of fork() as of an empty store.
inline Status check_open(const hf_store* store) {
  return store->store.core() != nullptr ? ok_status() : Status(store->store.closed());
}

inline const kv::StoreOptions& options_of(const hf_options* options) {
  static const kv::StoreOptions defaults;
  return options == nullptr ? defaults : options->options;
}

}  // namespace holdfast::c

// A key of the caller. Refused here if it is too long, since what reads would hash all of it first.
#define HF_NEEDS_KEY(key, count)                           \
  HF_NEEDS_BYTES(key, count);                              \
  if ((count) > ::holdfast::kv::kMaxKeyBytes) [[unlikely]] \
  return ::holdfast::c::too_large(#count, count, ::holdfast::kv::kMaxKeyBytes)
// A value of the caller that is copied before the store sees it.
#define HF_NEEDS_VALUE(value, count)                         \
  HF_NEEDS_BYTES(value, count);                              \
  if ((count) > ::holdfast::kv::kMaxValueBytes) [[unlikely]] \
  return ::holdfast::c::too_large(#count, count, ::holdfast::kv::kMaxValueBytes)
