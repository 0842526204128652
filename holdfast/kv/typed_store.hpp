// typed_store.hpp: Store<Key, Value> for fixed-size types. The verbs of Store<>, on objects.
// Public header.
//
//   struct Account { std::uint64_t balance; char name[56]; };
//   StoreOptions options;
//   options.patchable_words = {offsetof(Account, balance)};
//   auto accounts = kv::Store<std::uint64_t, Account>::open("/mnt/pmem/accounts", options).value();
//   accounts.put(17, {100, "ada"}).value();
//   accounts.update_word(17, offsetof(Account, balance),
//                        [](std::uint64_t balance) { return balance + 1; }).value();
//
// Key and Value are trivially copyable and hold no pointers; a Key has no padding, since keys are
// compared as bytes. A store remembers the sizes: opening it with others is kWrongType. The medium
// format, and the code behind each verb, are those of Store<>.
#pragma once

#include <cstring>
#include <type_traits>

#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

namespace typed_detail {
// Types whose values would be an address of another process, or of another object, when they are
// read again.
template <class T>
inline constexpr bool is_address =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_same_v<T, std::nullptr_t>;
template <class T, std::size_t kExtent>
inline constexpr bool is_address<std::span<T, kExtent>> = true;
template <class Character, class Traits>
inline constexpr bool is_address<std::basic_string_view<Character, Traits>> = true;
}  // namespace typed_detail

template <class Key, class Value>
  requires(sizeof(Key) > 0)  // Of all types but AnyBytes, which is incomplete.
class Store<Key, Value> : public StoreBase {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>,
                "Store<Key, Value>: both are written as bytes, so they must be trivially copyable; "
                "for std::string use Store<>");
  static_assert(!typed_detail::is_address<Key> && !typed_detail::is_address<Value>,
                "Store<Key, Value>: a pointer, span or string_view would be stored, not what it "
                "points to; use Store<>");
  static_assert(std::has_unique_object_representations_v<Key>,
                "Store<Key, Value>: keys are compared as bytes: no padding, no floating point");
  static_assert(sizeof(Key) <= kMaxKeyBytes, "Store<Key, Value>: a key has at most kMaxKeyBytes");

 public:
  static Result<Store> open(std::string_view spec, const StoreOptions& options = {}) {
    HF_ASSIGN_OR_RETURN(auto core, open_core(spec, options, kShape));
    return Store(std::move(core));
  }
  static Result<Store> open(Region region, const StoreOptions& options = {}) {
    HF_ASSIGN_OR_RETURN(auto core, open_core(std::move(region), options, kShape));
    return Store(std::move(core));
  }

  Result<PutOutcome> put(const Key& key, const Value& value, WriteOptions options = {}) {
    return put_bytes(text(key), text(value), options);
  }
  Result<Version> put_if_absent(const Key& key, const Value& value, WriteOptions options = {}) {
    return put_bytes_if_absent(text(key), text(value), options);
  }
  Result<Version> compare_and_put(const Key& key, Version expected, const Value& value,
                                  WriteOptions options = {}) {
    return put_bytes_if_version(text(key), expected, text(value), options);
  }
  Result<Version> get(const Key& key, Value& value) const {
    return get_bytes(text(key), std::as_writable_bytes(std::span(&value, 1)));
  }
  // The view's bytes are a Value, aligned to 8.
  Result<Pinned> get_pinned(const Key& key) const { return get_bytes_pinned(text(key)); }
  Status get_many(std::span<const Key> keys, std::span<Value> values,
                  std::span<Errc> outcomes) const {
    return get_objects(objects(keys), objects(values), outcomes);
  }
  Status put_many(std::span<const Key> keys, std::span<const Value> values,
                  WriteOptions options = {}) {
    return put_objects(objects(keys), objects(values), options);
  }
  Result<Version> update(const Key& key, FunctionRef<void(Value& value)> change,
                         WriteOptions options = {}) {
    const auto on_bytes = [&](std::string& bytes) {
      Value value;
      std::memcpy(&value, bytes.data(), sizeof value);
      change(value);
      std::memcpy(bytes.data(), &value, sizeof value);
    };
    return update_bytes(text(key), on_bytes, true, options);
  }
  Result<std::uint64_t> update_word(const Key& key, std::uint32_t offset_bytes, WordChange change,
                                    WriteOptions options = {}) {
    return update_word_of(text(key), offset_bytes, change, options);
  }
  Result<bool> erase(const Key& key, WriteOptions options = {}) {
    return erase_bytes(text(key), options);
  }

  Status update_many(std::span<const Key> keys, FunctionRef<void(std::size_t i, Value&)> change,
                     std::span<Errc> outcomes, WriteOptions options = {}) {
    const auto on_bytes = [&](std::size_t i, std::string& bytes) {
      Value value;
      std::memcpy(&value, bytes.data(), sizeof value);
      change(i, value);
      std::memcpy(bytes.data(), &value, sizeof value);
    };
    return update_objects(objects(keys), on_bytes, outcomes, options);
  }
  Status update_word_many(std::span<const Key> keys, std::uint32_t offset_bytes,
                          ChangeWordOne change, std::span<Errc> outcomes,
                          WriteOptions options = {}) {
    return update_words_of(objects(keys), offset_bytes, change, outcomes, options);
  }
  Status erase_many(std::span<const Key> keys, std::span<Errc> outcomes,
                    WriteOptions options = {}) {
    return erase_objects(objects(keys), outcomes, options);
  }

  class Batch {
   public:
    void put(const Key& key, const Value& value) { batch_.put(text(key), text(value)); }
    void erase(const Key& key) { batch_.erase(text(key)); }
    void clear() { batch_.clear(); }
    std::size_t size() const { return batch_.size(); }
    const WriteBatch& bytes() const { return batch_; }

   private:
    WriteBatch batch_;
  };
  Result<Version> write(const Batch& batch, WriteOptions options = {}) {
    return write_batch(batch.bytes(), options);
  }

  // Every record of the snapshot, as objects, until `visit` returns false.
  Status for_each(const Snapshot& snapshot,
                  FunctionRef<bool(const Key&, const Value&, Version)> visit) const {
    bool ours = true;
    auto walked =
        snapshot.for_each([&](std::string_view key, std::string_view value, Version version) {
          ours = key.size() == sizeof(Key) && value.size() == sizeof(Value);
          if (!ours) return false;
          Key typed_key;
          Value typed_value;
          std::memcpy(&typed_key, key.data(), sizeof typed_key);
          std::memcpy(&typed_value, value.data(), sizeof typed_value);
          return visit(typed_key, typed_value, version);
        });
    if (ours) return walked;
    return Error{Errc::kWrongType, "for_each: the snapshot is of a store with other types"};
  }

 private:
  static constexpr RecordShape kShape{sizeof(Key), sizeof(Value)};
  using StoreBase::StoreBase;

  template <class T>
  static std::string_view text(const T& object) {
    return text_of(&object, sizeof object);
  }
  template <class T>
  static Objects objects(std::span<T> all) {
    return {all.data(), sizeof(T), all.size()};
  }
};

}  // namespace holdfast::kv
