// order_image.hpp: the keys in order as a clean close writes them, so that the next open need not
// read the key of each record, and sort.
//
// The image is a run in state kImage that the clean mark names: OrderImageHeader, then for each key
// how many bytes it has in common with the key before, how many more it has (LEB128 both), and
// these. One that is not as it ought to be is damage: a writing open refuses, a read-only one reads
// the keys. An open that wants no order does not look at it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/kv/rooms.hpp>

namespace holdfast::kv {

struct OrderImageHeader {
  std::uint64_t checksum;  // Over the rest and all keys; of this store and this run.
  std::uint64_t bytes;     // Of the keys.
  std::uint64_t keys;
};
static_assert(sizeof(OrderImageHeader) == 24);

// Writes the image and enters it in `mark`, where the store keeps an order. No space for it
// is no error: the mark then names none. Nobody writes keys meanwhile. O(keys).
Status write_order_image(Rooms& rooms, CleanMark& mark);

// Keys that ascend, copied from an image. For one thread.
class StoredOrder {
 public:
  // What the mark names, or null; `damage` says where it ought to be there and is not. O(keys).
  static std::unique_ptr<StoredOrder> read(Rooms& rooms, const CleanMark& mark,
                                           std::string& damage);

  // The next key, until the call after; false behind the last one.
  bool next(std::string_view& key);

 private:
  explicit StoredOrder(std::span<const char> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  // Whether next() gives so many keys, of sizes that a key may have, and reads all bytes.
  bool is_whole(std::uint64_t keys);

  std::vector<char> bytes_;
  std::size_t at_ = 0;
  std::string key_;
};

}  // namespace holdfast::kv
