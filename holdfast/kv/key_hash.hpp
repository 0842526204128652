// key_hash.hpp: how a store hashes its keys: by a secret key of its own, or, where version 1 of the
// format made it, by XXH3.
#pragma once

#include <optional>

#include <holdfast/base/hash.hpp>
#include <holdfast/base/keyed_hash.hpp>
#include <holdfast/kv/record.hpp>

namespace holdfast::kv {

class KeyHash {
 public:
  KeyHash() = default;  // XXH3.
  explicit KeyHash(const HashKey& key) : key_(key) {}

  std::uint64_t operator()(Bytes key) const { return key_ ? keyed_hash(*key_, key) : hash64(key); }
  // Whether by_instruction() may be called: keyed, and this CPU has the instruction.
  bool has_instruction() const { return key_ && key_->uses_instruction(); }
  [[gnu::target("aes")]] std::uint64_t by_instruction(Bytes key) const {
    return holdfast::detail::keyed_hash_by_instruction(*key_, key.data(), key.size());
  }

 private:
  std::optional<HashKey> key_;
};

}  // namespace holdfast::kv
