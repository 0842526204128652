// space.hpp: a keyspace: a set of keys of its own within a store.
// Public header.
//
//   auto users = store.create_space("users").value();
//   users.put("ada", "lovelace").value();
//   store.drop_space("users").value();                    // users.get(…) is kClosed from now on.
//
// Equal keys of different spaces, or of a space and the store itself, are different records. Spaces
// share the store's medium, its syncs, its background work and the order of its versions.
//
// Guarantee  Verbs: as those of Store<> (store.hpp), with the same fences.
// Threads    Any. A handle may be copied; all copies lead to one space. The verbs of a handle that
//            outlives its store or its space are kClosed.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

struct SpaceCore;

struct SpaceStats {
  std::uint64_t records = 0;
  // Of sealed runs that hold records of this space alone.
  std::uint64_t blocks = 0, live_bytes = 0;
  std::uint64_t dram_index_bytes = 0;
};

class Space {
 public:
  Space() = default;  // Leads nowhere: kClosed.

  std::string name() const;

  Result<PutOutcome> put(std::string_view key, std::string_view value, WriteOptions options = {});
  Result<Version> put_if_absent(std::string_view key, std::string_view value,
                                WriteOptions options = {});
  Result<Version> compare_and_put(std::string_view key, Version expected, std::string_view value,
                                  WriteOptions options = {});
  Result<Version> get(std::string_view key, std::string& value) const;
  Result<std::uint64_t> get(std::string_view key, std::span<std::byte> buffer) const;
  Result<Pinned> get_pinned(std::string_view key) const;
  Result<Version> update(std::string_view key, FunctionRef<void(std::string&)> change,
                         WriteOptions options = {});
  Result<Version> append(std::string_view key, std::string_view bytes, WriteOptions options = {});
  Result<Version> merge(std::string_view key, MergeFunction function, std::string_view operand,
                        WriteOptions options = {});
  Result<std::uint64_t> update_word(std::string_view key, std::uint32_t offset_bytes,
                                    FunctionRef<std::uint64_t(std::uint64_t)> change,
                                    WriteOptions options = {});
  Result<bool> erase(std::string_view key, WriteOptions options = {});

  // Verbs on several keys, in groups that share misses and fences; not atomic.
  using ChangeOne = FunctionRef<void(std::size_t i, std::string& value)>;
  using ChangeWordOne = FunctionRef<std::uint64_t(std::size_t i, std::uint64_t word)>;
  Status get_many(std::span<const std::string_view> keys, std::span<std::string> values,
                  std::span<Errc> outcomes) const;
  Status put_many(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                  WriteOptions options = {});
  Status update_many(std::span<const std::string_view> keys, ChangeOne change,
                     std::span<Errc> outcomes, WriteOptions options = {});
  Status update_word_many(std::span<const std::string_view> keys, std::uint32_t offset_bytes,
                          ChangeWordOne change, std::span<Errc> outcomes,
                          WriteOptions options = {});
  Status erase_many(std::span<const std::string_view> keys, std::span<Errc> outcomes,
                    WriteOptions options = {});

  // Its records as they are now; Store<>::snapshots() takes those of several spaces at one moment.
  // While there is one, the space is not dropped (kBusy).
  Snapshot snapshot() const;
  // Visits every record as it is at one moment, in no order, until `visit` returns false. Errors:
  // kCorrupt (as Snapshot::for_each()), kBusy (called by a verb that is under way).
  Status for_each(
      FunctionRef<bool(std::string_view key, std::string_view value, Version)> visit) const;

  // Where the store is open with StoreOptions::order, as those of Store<>.
  Result<Cursor> cursor() const;
  Result<std::uint64_t> count_prefix(std::string_view prefix) const;
  Result<std::uint64_t> erase_prefix(std::string_view prefix, WriteOptions options = {});
  Result<std::uint64_t> erase_range(std::string_view from, std::string_view to,
                                    WriteOptions options = {});

  Status check_open() const;    // kClosed: it was dropped, or its store is closed.
  std::uint64_t count() const;  // 0 for a closed space.
  SpaceStats stats() const;     // O(blocks of the store).
  // As StoreBase::verify(), of this space's records.
  VerifyReport verify() const;

  const auto& link() const { return link_; }  // For the library.
  using Link = std::shared_ptr<std::atomic<SpaceCore*>>;
  explicit Space(Link link) : link_(std::move(link)) {}  // For the store.

 private:
  template <class Verb>
  auto in(Verb&& verb) const;
  static Error closed();
  Result<Cursor> cursor_of(bool with_values) const;
  Result<std::uint64_t> erase_group(std::span<const std::string_view> keys, WriteOptions options);

  Link link_;
};

}  // namespace holdfast::kv
