#include <holdfast/index/ordered/loader.hpp>

#include <algorithm>

#include <holdfast/base/check.hpp>
#include <holdfast/base/mutant.hpp>

namespace holdfast::index::ordered {
namespace {

Error no_memory_to_load() { return Error{Errc::kNoSpace, "load: no memory for the ordered index"}; }

}  // namespace

Loader::~Loader() {
  for (Leaf* leaf : leaves_)
    Leaf::destroy(leaf);
}

std::uint32_t Loader::need(std::size_t keys, std::size_t prefix) const {
  std::uint32_t bytes = 0;
  for (std::size_t at = 0; at < keys; ++at)
    bytes += Leaf::bytes_for(pending_[at].size(), prefix);
  return bytes;
}

// The pending keys always fit into a leaf that ends before the next key. If they would not, the
// leaf ends before the last of them: with that key as the next one they did fit, one call ago.
Status Loader::add(std::string_view key) {
  if (!pending_.empty() && HF_MUTANT("E17", key <= pending_.back(), key < pending_.back())) {
    return Error{Errc::kInvalidOption, "load: key number " + std::to_string(keys_ + 1) +
                                           " is not above the one before; keys must ascend"};
  }
  if (leaves_.empty()) {
    leaves_.push_back(Leaf::make(pool_));
    if (leaves_.back() == nullptr) return leaves_.pop_back(), no_memory_to_load();
  }
  for (;;) {
    const std::size_t prefix = common_prefix(low_, key);
    if (prefix != prefix_) need_ = need(pending_.size(), prefix), prefix_ = prefix;
    if (need_ <= Leaf::kRoom) break;
    HF_RETURN_IF_ERROR(close(pending_.size() - 1));
  }
  pending_.emplace_back(key);
  need_ += Leaf::bytes_for(key.size(), prefix_);
  ++keys_;
  return ok_status();
}

// Ends the last leaf behind the first `keys` pending ones, and begins the next.
Status Loader::close(std::size_t keys) {
  const std::string& following = pending_[keys];
  const std::string border = following.substr(0, common_prefix(pending_[keys - 1], following) + 1);
  Leaf* next = Leaf::make(pool_);
  if (next == nullptr) return no_memory_to_load();
  if (Status filled = fill(keys, border, next); !filled) return Leaf::destroy(next), filled;
  leaves_.push_back(next);
  low_ = border;
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(keys));
  prefix_ = common_prefix(low_, pending_.back());
  need_ = need(pending_.size(), prefix_);
  return ok_status();
}

Status Loader::fill(std::size_t keys, std::string_view high, Leaf* next) {
  Leaf& leaf = *leaves_.back();
  if (!leaf.set_range(low_, high, next)) return no_memory_to_load();
  for (std::size_t at = 0; at < keys; ++at) {
    const Inserted done = leaf.insert(leaf.size(), pending_[at]);
    if (done == Inserted::kNoMemory) return no_memory_to_load();
    HF_CHECK(done == Inserted::kYes);
  }
  return ok_status();
}

Result<Loader::Chain> Loader::finish() {
  if (leaves_.empty()) {
    leaves_.push_back(Leaf::make(pool_));
    if (leaves_.back() == nullptr) return leaves_.pop_back(), no_memory_to_load();
  }
  // The last leaf has no end, so its keys have no prefix in common that it could leave out.
  while (need(pending_.size(), 0) > Leaf::kRoom)
    HF_RETURN_IF_ERROR(close(std::max<std::size_t>(1, pending_.size() / 2)));
  HF_RETURN_IF_ERROR(fill(pending_.size(), {}, nullptr));
  Chain chain{{}, leaves_.front(), keys_};
  chain.entries.reserve(leaves_.size());
  for (Leaf* leaf : leaves_)
    chain.entries.push_back({leaf->low(), leaf});
  return chain;
}

}  // namespace holdfast::index::ordered
