// loader.hpp: a chain of full leaves from keys that come in ascending order.
//
// Threads    One. What was made is freed with the loader, unless release() was called.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/base/result.hpp>
#include <holdfast/index/ordered/inner.hpp>
#include <holdfast/index/ordered/leaf.hpp>

namespace holdfast::index::ordered {

class Loader {
 public:
  struct Chain {
    std::vector<Inner::Entry> entries;  // Separators are the lows of the leaves.
    Leaf* first;
    std::uint64_t keys;
  };

  explicit Loader(LeafPool& pool) : pool_(pool) {}
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Errors: kInvalidOption if the key does not ascend; kNoSpace if the system has no memory.
  Status add(std::string_view key);
  Result<Chain> finish();  // At least one leaf.
  void release() { leaves_.clear(); }

 private:
  std::uint32_t need(std::size_t keys, std::size_t prefix) const;
  Status close(std::size_t keys);
  Status fill(std::size_t keys, std::string_view high, Leaf* next);

  LeafPool& pool_;
  std::vector<Leaf*> leaves_;         // The last one is empty, and waits for its range.
  std::string low_;                   // Of the last one.
  std::vector<std::string> pending_;  // Its keys.
  std::size_t prefix_ = 0;            // What they have in common with low_.
  std::uint32_t need_ = 0;            // Bytes that they take with this prefix.
  std::uint64_t keys_ = 0;
};

}  // namespace holdfast::index::ordered
