// writes.hpp: the verbs that write one record each, and put_many. What they do around an attempt is
// in attempts.hpp, how a record gets onto the medium and into the index in publication.hpp; batches
// and merges are in files of their own.
//
// Threads    Any.   Errors  see store.hpp.
#pragma once

#include <functional>
#include <string>

#include <holdfast/base/function_ref.hpp>
#include <holdfast/kv/attempts.hpp>
#include <holdfast/kv/byte_spans.hpp>
#include <holdfast/kv/publication.hpp>

namespace holdfast::kv {

// `R`: of the store's own keys, or of a space's (space_rooms.hpp).
template <class R>
class BasicWrites {
 public:
  using Purpose = BlockTable::Purpose;
  enum class Condition { kAbsent, kVersion };

  BasicWrites(R& rooms, Maintenance& maintenance)
      : rooms_(rooms), attempts_(rooms, maintenance), publication_(rooms) {}
  BasicWrites(const BasicWrites&) = delete;

  BasicAttempts<R>& attempts() { return attempts_; }
  BasicPublication<R>& publication() { return publication_; }

  template <class Path>
  Result<PutOutcome> put(Bytes key, Bytes value, WriteOptions options);
  // Puts the keys from number `done` on, and raises `done`; groups of any kind. A key or a value
  // that is too large is found before anything is written.
  Status put_many(const ByteSpans& keys, const ByteSpans& values, WriteOptions options,
                  std::size_t& done);
  // What put_many of a fixed path needs of it (puts_at_once.hpp): one group; what is left to do
  // where a group failed; a put on its way, in the caller's guard, `group` from it on: an error
  // disowns those behind it.
  [[gnu::cold]] Status put_some(const ByteSpans& keys, const ByteSpans& values,
                                WriteOptions options, std::size_t& done);
  [[gnu::cold]] Status settle_puts(Status outcome, const ByteSpans& keys, const ByteSpans& values,
                                   WriteOptions options, std::size_t& done);
  Status publish_first(Session& own, Bytes key, Bytes value, std::span<OnItsWay> group,
                       WriteOptions options);
  template <class Path>
  Result<bool> erase(Bytes key, WriteOptions options);
  template <class Path>
  Result<std::uint64_t> update_word(Bytes key, std::uint32_t offset_bytes,
                                    FunctionRef<std::uint64_t(std::uint64_t)> change,
                                    WriteOptions options);
  // These two continue what put_at_once() or erase_at_once() began (writes_at_once.hpp), in its
  // guard. `sequence`, `offset`: of the record.
  template <class Path>
  Result<PutOutcome> finish_put(Bytes key, Bytes value, std::uint64_t offset,
                                std::uint64_t sequence);
  template <class Path>
  Result<bool> finish_erase(Bytes key, std::uint64_t offset, std::uint64_t sequence);
  Result<Version> put_if(Bytes key, Bytes value, Condition condition, Version expected,
                         WriteOptions options);
  // `fixed_bytes`: the value keeps its size.
  Result<Version> update(Bytes key, FunctionRef<void(std::string&)> change, bool fixed_bytes,
                         WriteOptions options);

  // ---- For groups of operations (group_verbs.hpp): the verbs, not inlined ----

  [[gnu::noinline, gnu::cold]] static Error no_word_at(std::uint32_t offset_bytes,
                                                       std::uint64_t value_bytes);
  static Error other_size(std::uint64_t value_bytes);  // Than a typed store's.
  // A put inside the caller's guard, and under a latch of another index. The caller settles a
  // failure, and takes the pause (pay_pause()).
  Status put_within(Bytes key, Bytes value, Purpose purpose, WriteOptions options);
  Result<PutOutcome> put_alone(Bytes key, Bytes value, WriteOptions options);
  // For operations that make room on a full medium: they may use the blocks that are kept for
  // erases.
  Status put_to_make_room(Bytes key, Bytes value, WriteOptions options);
  Result<bool> erase_alone(Bytes key, WriteOptions options);
  Result<std::uint64_t> update_word_alone(Bytes key, std::uint32_t offset_bytes,
                                          FunctionRef<std::uint64_t(std::uint64_t)> change,
                                          WriteOptions options);

 private:
  using Change = FunctionRef<std::uint64_t(std::uint64_t)>;

  // paged_writes.cpp: on page media, where the old record need not be in memory.
  [[gnu::noinline]] Result<PutOutcome> try_put_on_pages(const NewRecord& record,
                                                        WriteOptions options);
  Status read_candidates(std::span<const Place> places) const;
  [[gnu::noinline]] Status put_group_on_pages(const ByteSpans& keys, const ByteSpans& values,
                                              WriteOptions options, std::size_t& done);
  [[gnu::noinline]] Result<bool> try_erase_on_pages(const NewRecord& record, WriteOptions options);

  template <class Path>
  Result<PutOutcome> try_put(Bytes key, Bytes value, WriteOptions options);
  Status try_put_many(const ByteSpans& keys, const ByteSpans& values, WriteOptions options,
                      std::size_t& done);
  template <class Path>
  Result<bool> try_erase(Bytes key, WriteOptions options);
  template <class Path>
  Result<std::uint64_t> try_update_word(Bytes key, std::uint32_t offset_bytes, Change change,
                                        WriteOptions options);
  [[gnu::noinline]] Result<std::uint64_t> update_word_by_copy(Session& own, OffsetMap::Latched home,
                                                              Entry entry, Bytes key,
                                                              std::uint64_t hash,
                                                              std::uint32_t offset_bytes,
                                                              Change change, WriteOptions options);
  Result<Version> try_put_if(Bytes key, Bytes value, Condition condition, Version expected,
                             WriteOptions options);
  Result<Version> try_update(Bytes key, FunctionRef<void(std::string&)> change, bool fixed_bytes,
                             WriteOptions options);
  [[gnu::noinline, gnu::cold]] Result<std::uint64_t> update_word_in_pieces(
      Bytes key, std::uint32_t offset_bytes, Change change, WriteOptions options);

  R& rooms_;
  BasicAttempts<R> attempts_;
  BasicPublication<R> publication_;
};
using Writes = BasicWrites<Rooms>;

}  // namespace holdfast::kv
