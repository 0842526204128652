// kv_keys.hpp: the keys that a verb of `holdfast kv` works on: the store's own, or those of the
// keyspace that --space names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/kv/space.hpp>

namespace holdfast::tools {

class Keys {
 public:
  // `space`: empty for the store's own keys. Errors: kNotFound.
  static Result<Keys> of(kv::Store<>& store, const std::string& space) {
    if (space.empty()) return Keys(store, std::nullopt);
    HF_ASSIGN_OR_RETURN(kv::Space found, store.space(space));
    return Keys(store, std::move(found));
  }

  Result<kv::PutOutcome> put(std::string_view key, std::string_view value) {
    return space_ ? space_->put(key, value) : store_->put(key, value);
  }
  Result<kv::Version> put_if_absent(std::string_view key, std::string_view value) {
    return space_ ? space_->put_if_absent(key, value) : store_->put_if_absent(key, value);
  }
  Result<kv::Version> merge(std::string_view key, kv::MergeFunction function,
                            std::string_view operand) {
    return space_ ? space_->merge(key, function, operand) : store_->merge(key, function, operand);
  }
  Result<kv::Pinned> get_pinned(std::string_view key) const {
    return space_ ? space_->get_pinned(key) : store_->get_pinned(key);
  }
  // In a space one after the other, so with a fence each. Those before the first error were put.
  Status put_many(std::span<const std::string_view> keys, std::span<const std::string_view> values,
                  kv::WriteOptions options) {
    if (!space_) return store_->put_many(keys, values, options);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (auto put = space_->put(keys[i], values[i], options); !put) return put.error();
    }
    return {};
  }
  Result<bool> erase(std::string_view key) {
    return space_ ? space_->erase(key) : store_->erase(key);
  }
  Status for_each(
      FunctionRef<bool(std::string_view key, std::string_view value, kv::Version)> visit) const {
    return space_ ? space_->for_each(visit) : store_->snapshot().for_each(visit);
  }
  // Without what has expired: where there are rules, O(records).
  std::uint64_t count() const {
    const auto rules = space_ ? store_->expiry_rules(*space_) : store_->expiry_rules();
    if (rules && rules->empty()) return space_ ? space_->count() : store_->count();
    std::uint64_t records = 0;
    (void)for_each(
        [&](std::string_view, std::string_view, kv::Version) { return ++records, true; });
    return records;
  }
  kv::VerifyReport verify() const { return space_ ? space_->verify() : store_->verify(); }

 private:
  Keys(kv::Store<>& store, std::optional<kv::Space> space)
      : store_(&store), space_(std::move(space)) {}

  kv::Store<>* store_;
  std::optional<kv::Space> space_;
};

}  // namespace holdfast::tools
