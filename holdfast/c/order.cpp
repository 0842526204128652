// Snapshots, iterators, and the verbs on all keys of a prefix or range.
#include <algorithm>
#include <cstring>

#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

// The outcome of a move of the cursor.
Status outcome_of(const kv::Cursor& cursor) {
  if (cursor) return {};
  if (!cursor.status()) return cursor.status();
  return Error{Errc::kNotFound, {}};
}

template <class Move>
std::int32_t moved(hf_iter* iter, Move&& move) noexcept {
  return boundary([&]() -> Status {
    HF_NEEDS(iter);
    move(iter->cursor);
    return outcome_of(iter->cursor);
  });
}
template <class Move>
std::int32_t moved_to(hf_iter* iter, const void* key, std::size_t key_bytes, Move&& move) noexcept {
  return boundary([&]() -> Status {
    HF_NEEDS(iter);
    HF_NEEDS_BYTES(key, key_bytes);
    move(iter->cursor, text_of(key, key_bytes));
    return outcome_of(iter->cursor);
  });
}

Status give_count(Result<std::uint64_t> count, std::uint64_t* to) {
  if (!count) return std::move(count).pass_on();
  if (to != nullptr) *to = *count;
  return {};
}

}  // namespace
}  // namespace holdfast::c

int32_t hf_snapshot_open(hf_store* store, hf_snapshot** snapshot) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(snapshot);
    *snapshot = nullptr;
    HF_RETURN_IF_ERROR(c::check_open(store));
    *snapshot = new hf_snapshot{std::make_shared<hf_snapshot::State>(*store)};
    return {};
  });
}

int32_t hf_snapshot_get(const hf_snapshot* snapshot, const void* key, size_t key_bytes,
                        void* buffer, size_t capacity, uint64_t* value_bytes) {
  return boundary([&]() -> Status {
    HF_NEEDS(snapshot);
    HF_NEEDS_KEY(key, key_bytes);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(value_bytes);
    std::string value;
    HF_RETURN_IF_ERROR(snapshot->state->view.get(c::text_of(key, key_bytes), value));
    if (const std::size_t copied = std::min(value.size(), capacity); copied != 0)
      std::memcpy(buffer, value.data(), copied);
    *value_bytes = value.size();
    return {};
  });
}

int32_t hf_snapshot_version(const hf_snapshot* snapshot, uint64_t* version) {
  return boundary([&]() -> Status {
    HF_NEEDS(snapshot);
    HF_NEEDS(version);
    *version = snapshot->state->view.version();
    return {};
  });
}

int32_t hf_snapshot_count(const hf_snapshot* snapshot, uint64_t* records) {
  return boundary([&]() -> Status {
    HF_NEEDS(snapshot);
    HF_NEEDS(records);
    std::uint64_t count = 0;
    HF_RETURN_IF_ERROR(snapshot->state->view.for_each(
        [&](std::string_view, std::string_view, kv::Version) { return ++count, true; }));
    *records = count;
    return {};
  });
}

void hf_snapshot_close(hf_snapshot* snapshot) { delete snapshot; }

int32_t hf_iter_open(hf_store* store, hf_iter** iter) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS(iter);
    *iter = nullptr;
    HF_ASSIGN_OR_RETURN(auto cursor, store->store.cursor());
    *iter = new hf_iter(*store, nullptr, std::move(cursor));
    return {};
  });
}

int32_t hf_iter_open_snapshot(const hf_snapshot* snapshot, hf_iter** iter) {
  return boundary([&]() -> Status {
    HF_NEEDS(snapshot);
    HF_NEEDS(iter);
    *iter = nullptr;
    HF_ASSIGN_OR_RETURN(auto cursor, snapshot->state->view.cursor());
    *iter = new hf_iter(snapshot->state->store, snapshot->state, std::move(cursor));
    return {};
  });
}

int32_t hf_iter_seek(hf_iter* iter, const void* key, size_t key_bytes) {
  return c::moved_to(iter, key, key_bytes,
                     [](kv::Cursor& cursor, std::string_view at) { cursor.seek(at); });
}
int32_t hf_iter_seek_below(hf_iter* iter, const void* key, size_t key_bytes) {
  return c::moved_to(iter, key, key_bytes,
                     [](kv::Cursor& cursor, std::string_view at) { cursor.seek_below(at); });
}
int32_t hf_iter_first(hf_iter* iter, const void* prefix, size_t prefix_bytes) {
  return c::moved_to(iter, prefix, prefix_bytes,
                     [](kv::Cursor& cursor, std::string_view of) { cursor.first(of); });
}
int32_t hf_iter_last(hf_iter* iter, const void* prefix, size_t prefix_bytes) {
  return c::moved_to(iter, prefix, prefix_bytes,
                     [](kv::Cursor& cursor, std::string_view of) { cursor.last(of); });
}
int32_t hf_iter_next(hf_iter* iter) {
  return c::moved(iter, [](kv::Cursor& cursor) { cursor.next(); });
}
int32_t hf_iter_prev(hf_iter* iter) {
  return c::moved(iter, [](kv::Cursor& cursor) { cursor.prev(); });
}

int32_t hf_iter_record(const hf_iter* iter, hf_record* record) {
  return boundary([&]() -> Status {
    HF_NEEDS(iter);
    HF_NEEDS(record);
    HF_RETURN_IF_ERROR(c::outcome_of(iter->cursor));
    const std::string_view key = iter->cursor.key(), value = iter->cursor.value();
    *record = {key.data(), key.size(), value.data(), value.size(), iter->cursor.version()};
    return {};
  });
}

int32_t hf_iter_fill(hf_iter* iter, void* buffer, size_t capacity, size_t most, size_t* used) {
  return boundary([&]() -> Status {
    HF_NEEDS(iter);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(used);
    return c::give_count(iter->cursor
                             .fill(std::span(static_cast<std::byte*>(buffer), capacity),
                                   most == 0 ? ~std::size_t{0} : most)
                             .transform([](std::size_t bytes) { return std::uint64_t{bytes}; }),
                         used);
  });
}

void hf_iter_close(hf_iter* iter) { delete iter; }

int32_t hf_count_prefix(hf_store* store, const void* prefix, size_t prefix_bytes, uint64_t* keys) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(prefix, prefix_bytes);
    HF_NEEDS(keys);
    return c::give_count(store->store.count_prefix(c::text_of(prefix, prefix_bytes)), keys);
  });
}

int32_t hf_erase_prefix(hf_store* store, const void* prefix, size_t prefix_bytes, uint32_t flags,
                        uint64_t* erased) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(prefix, prefix_bytes);
    HF_ASSIGN_OR_RETURN(const kv::WriteOptions options, c::write_options(flags));
    return c::give_count(store->store.erase_prefix(c::text_of(prefix, prefix_bytes), options),
                         erased);
  });
}

int32_t hf_erase_range(hf_store* store, const void* from, size_t from_bytes, const void* to,
                       size_t to_bytes, uint32_t flags, uint64_t* erased) {
  return boundary([&]() -> Status {
    HF_NEEDS(store);
    HF_NEEDS_BYTES(from, from_bytes);
    HF_NEEDS_BYTES(to, to_bytes);
    HF_ASSIGN_OR_RETURN(const kv::WriteOptions options, c::write_options(flags));
    return c::give_count(
        store->store.erase_range(c::text_of(from, from_bytes), c::text_of(to, to_bytes), options),
        erased);
  });
}
