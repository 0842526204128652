// cursor.hpp: a position in an OrderedIndex, kept while writers go on.
//
//   Cursor cursor(index);
//   for (cursor.first("user:"); cursor; cursor.next()) use(cursor.key());      // Inside guards.
//
// Guarantee  A key that is present throughout a run of next() or prev() is returned exactly once,
//            in order; one that comes or goes meanwhile at most once. Nothing is returned that was
//            not there at some moment of the run.
// How        A cursor copies the keys of one leaf at a time, and finds the next leaf by key. It
//            holds no latch and no guard between calls, so it may be kept for any time.
// Threads    One at a time. Each move inside a guard of the index's domain, which may be a new one
//            each time. The index outlives it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <holdfast/index/ordered/ordered_index.hpp>

namespace holdfast::index::ordered {

class Cursor {
 public:
  explicit Cursor(const OrderedIndex& index) : index_(index) {}

  // Moves to the first key not below `key`; false if there is none. O(log n). Ends a prefix.
  bool seek(std::string_view key);
  // Moves to the last key below `key`. Ends a prefix.
  bool seek_below(std::string_view key);
  // Moves to the first or last key that begins with `prefix`. Beyond these keys the cursor is at no
  // key.
  bool first(std::string_view prefix = {});
  bool last(std::string_view prefix = {});

  // One further. At no key: false, and nothing happens. O(1), O(log n) once per leaf.
  bool next();
  bool prev();

  explicit operator bool() const { return at_ < batch_.size(); }
  // Until the cursor moves. It must be at a key.
  std::string_view key() const { return batch_[at_]; }
  // The key to which so many moves in this direction lead, if it is already known. The cursor must
  // be at a key; the view holds until it moves.
  std::optional<std::string_view> ahead(bool forward, std::size_t moves) const {
    if (forward ? moves >= batch_.size() - at_ : moves > at_) return std::nullopt;
    return batch_[forward ? at_ + moves : at_ - moves];
  }

  // The keys that next() would come to without reading the index, this one included: how many there
  // are, and the one at `moves`. The cursor must be at a key.
  std::size_t known_keys() const;
  std::string_view known(std::size_t moves) const { return batch_[at_ + moves]; }
  // Learns of the keys of one leaf more, where next() would read it: known_keys() grows. False:
  // there is none, the prefix ends before, or the cursor came from above. Views of keys end. Inside
  // a guard. O(log n).
  bool read_on();
  // Asks for what read_on() will need.
  void prefetch_on() const { OrderedIndex::prefetch_on(batch_); }
  // Moves so many keys further, at most as many as are known.
  bool next(std::size_t moves) { return at_ += moves - 1, next(); }

 private:
  bool forward_from(std::string_view key);
  bool back_from();
  bool keep();

  const OrderedIndex& index_;
  KeyBatch batch_;
  bool ascending_ = true;  // batch_ was read forward, so that batch_.resume() is its end.
  std::size_t at_ = 0;
  std::string prefix_;
};

}  // namespace holdfast::index::ordered
