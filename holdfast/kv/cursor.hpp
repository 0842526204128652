// cursor.hpp: records in the order of their keys, of a store that keeps them so.
// Public header.
//
//   options.order = true;
//   auto store = kv::Store<>::open("users", options).value();
//   auto cursor = store.cursor().value();
//   for (cursor.first("user:"); cursor; cursor.next()) use(cursor.key(), cursor.value());
//   if (!cursor.status()) …                                         // It ended early.
//
// Keys are compared as unsigned bytes. A cursor stands at a record, or at none: before the first
// move, beyond the last record, beyond its prefix, or when status() is an error.
//
// Guarantee  Of a live store: each record as it is when the cursor comes to it. A key that is there
//            throughout is seen exactly once, in order; a key that comes or goes meanwhile at most
//            once. Of a snapshot: exactly what the snapshot shows.
// Errors     status(): kClosed, kCorrupt, kIo; kNoSpace: there was no memory for a key of the
//            order; kBusy: the cursor was moved inside the function given to update(), before the
//            keys were in order. The cursor is at no record then, and may be moved again.
// Threads    One at a time. A cursor holds nothing of the store between calls and may be kept for
//            any time; a cursor of a snapshot must end before the snapshot. The first move after an
//            open waits until the keys are in order.
// Cost       A move: one look-up, whose misses overlap with those of the next ones. Keys are copied
//            out of the order in pieces of up to 2 KiB.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <holdfast/base/result.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

struct Packing;

class Cursor {
 public:
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // Move to the first record whose key is not below `key`, or to the last one whose key is below.
  // Both end a prefix. Like all moves they return false if there is no such record.
  bool seek(std::string_view key);
  bool seek_below(std::string_view key);
  // Move to the first or last record whose key begins with `prefix`. Beyond these records the
  // cursor is at none.
  bool first(std::string_view prefix = {});
  bool last(std::string_view prefix = {});
  // Move one further. At no record they return false, and nothing happens.
  bool next();
  bool prev();

  explicit operator bool() const;
  // Until the cursor moves. It must be at a record.
  std::string_view key() const;
  std::string_view value() const;
  Version version() const;
  const Status& status() const;

  // Packs the record that the cursor is at and those behind it into `buffer`, as many as fit and at
  // most `most`, and returns how many bytes it used. The cursor is then at the first record that is
  // not packed, or at none. Each record is packed as it is at some moment of the call; look-ups go
  // in groups. At no record: 0, or the error of status(). Errors: kTooLarge (not even one fits: the
  // message says how many bytes it needs, and the cursor stays).
  Result<std::size_t> fill(std::span<std::byte> buffer, std::size_t most = ~std::size_t{0});
  // seek(key) and fill() in one, without a wait for the first record alone. Where nothing follows:
  // 0.
  Result<std::size_t> fill_from(std::string_view key, std::span<std::byte> buffer,
                                std::size_t most = ~std::size_t{0});

  struct State;
  explicit Cursor(std::unique_ptr<State> state);  // For the store.

 private:
  Result<std::size_t> fill_on(Packing& packing);

  std::unique_ptr<State> state_;
};

// What fill() packed: for each record kPackedHeaderBytes (the key's bytes in 4, 4 of zero, the
// value's bytes in 8, the version in 8), its key, its value, and zeros up to a multiple of 8.
// Numbers as in memory.
//
//   for (auto rest = std::span<const std::byte>(buffer).first(used); auto record = unpack(rest);) …
struct PackedRecord {
  std::string_view key, value;  // In the buffer.
  Version version = 0;
};
inline constexpr std::size_t kPackedHeaderBytes = 24;
// Takes the first record off `packed`. Nothing: `packed` is empty, or was not packed by fill().
std::optional<PackedRecord> unpack(std::span<const std::byte>& packed);

}  // namespace holdfast::kv
