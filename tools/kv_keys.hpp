// kv_keys.hpp: the keys that a verb of `holdfast kv` works on: the store's own, or those of the
// keyspace that --space names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>

namespace holdfast::tools {

class Keys {
 public:
  // `space`: empty for the store's own keys. Errors: kNotFound.
  // `ordered`: the store keeps its keys in order, and for_each() goes by it.
  static Result<Keys> of(kv::Store<>& store, const std::string& space, bool ordered = false) {
    if (space.empty()) return Keys(store, std::nullopt, ordered);
    HF_ASSIGN_OR_RETURN(kv::Space found, store.space(space));
    return Keys(store, std::move(found), ordered);
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
    if (ordered_) return for_each_in_order(visit);
    return space_ ? space_->for_each(visit) : store_->snapshot().for_each(visit);
  }
  Result<kv::Cursor> cursor() const { return space_ ? space_->cursor() : store_->cursor(); }
  // Without what has expired: where there are rules, O(records).
  Result<std::uint64_t> count() const {
    const auto rules = space_ ? store_->expiry_rules(*space_) : store_->expiry_rules();
    if (rules && rules->empty()) return space_ ? space_->count() : store_->count();
    std::uint64_t records = 0;
    HF_RETURN_IF_ERROR(
        for_each([&](std::string_view, std::string_view, kv::Version) { return ++records, true; }));
    return records;
  }
  kv::VerifyReport verify() const { return space_ ? space_->verify() : store_->verify(); }

 private:
  Keys(kv::Store<>& store, std::optional<kv::Space> space, bool ordered)
      : store_(&store), space_(std::move(space)), ordered_(ordered) {}
  // The store is this command's alone, or read-only: no one moment is needed.
  Status for_each_in_order(
      FunctionRef<bool(std::string_view key, std::string_view value, kv::Version)> visit) const {
    HF_ASSIGN_OR_RETURN(kv::Cursor cursor, this->cursor());
    for (cursor.first(); cursor; cursor.next()) {
      if (!visit(cursor.key(), cursor.value(), cursor.version())) break;
    }
    return cursor.status();
  }

  kv::Store<>* store_;
  std::optional<kv::Space> space_;
  bool ordered_;
};

// As `count` tells them, for a verb that has done its work, whatever is damaged: then it is what the
// index has.
inline std::uint64_t records_of(kv::Store<>& store) {
  const auto keys = Keys::of(store, {});
  return keys ? keys->count().value_or(store.count()) : store.count();
}

}  // namespace holdfast::tools
