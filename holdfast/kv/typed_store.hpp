// typed_store.hpp: Store<Key, Value> for fixed-size types. The verbs of Store<>, on objects.
//
//   struct Account { std::uint64_t balance; char name[56]; };
//   StoreOptions options;
//   options.patchable_words = {offsetof(Account, balance)};
//   auto accounts = kv::Store<std::uint64_t, Account>::open("/mnt/pmem/accounts", options).value();
//   accounts.put(17, {100, "ada"}).value();
//   accounts.update_word(17, offsetof(Account, balance), [](std::uint64_t b) { return b + 1;
//   }).value();
//
// Key and Value are trivially copyable; a Key has no padding, since keys are compared as bytes.
// Sizes are known to the compiler, so that copies are moves. A store remembers the sizes: opening
// it with others is kWrongType. The medium format is that of Store<>.
#pragma once

#include <holdfast/kv/store_verbs.hpp>

namespace holdfast::kv {

template <class Key, class Value>
class Store : public StoreBase {
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>);
  static_assert(std::has_unique_object_representations_v<Key>,
                "keys are compared as bytes: no padding, no floating point");
  static_assert(sizeof(Key) <= kMaxKeyBytes);

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
    if (!core_) [[unlikely]]
      return closed();
    return core_->put(bytes(key), bytes(value), options);
  }
  Result<Version> put_if_absent(const Key& key, const Value& value, WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    return core_->put_if(bytes(key), bytes(value), StoreCore::Condition::kAbsent, 0, options);
  }
  Result<Version> compare_and_put(const Key& key, Version expected, const Value& value,
                                  WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    return core_->put_if(bytes(key), bytes(value), StoreCore::Condition::kVersion, expected,
                         options);
  }
  Result<Version> get(const Key& key, Value& value) const {
    if (!core_) [[unlikely]]
      return closed();
    return core_->get(bytes(key), [&](const RecordView& record) { copy_out(record, value); });
  }
  // The view's bytes are a Value, aligned to 8.
  Result<Pinned> get_pinned(const Key& key) const {
    if (!core_) [[unlikely]]
      return closed();
    return core_->get_pinned(bytes(key));
  }
  Status get_many(std::span<const Key> keys, std::span<Value> values,
                  std::span<Errc> outcomes) const {
    if (!core_) [[unlikely]]
      return closed();
    if (values.size() != keys.size() || outcomes.size() != keys.size()) {
      return Error{Errc::kInvalidOption,
                   "get_many: spans of different lengths; equal ones are allowed"};
    }
    return core_->get_many(
        keys.size(), [&](std::size_t i) { return bytes(keys[i]); },
        [&](std::size_t i, const RecordView& record) { copy_out(record, values[i]); }, outcomes);
  }
  Status put_many(std::span<const Key> keys, std::span<const Value> values,
                  WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    if (values.size() != keys.size()) {
      return Error{Errc::kInvalidOption,
                   "put_many: spans of different lengths; equal ones are allowed"};
    }
    return core_->put_many(
        keys.size(), [&](std::size_t i) { return bytes(keys[i]); },
        [&](std::size_t i) { return bytes(values[i]); }, options);
  }
  Result<Version> update(const Key& key, const std::function<void(Value& value)>& change,
                         WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    const auto on_bytes = [&](std::string& text) {
      Value value;
      std::memcpy(&value, text.data(), sizeof value);
      change(value);
      std::memcpy(text.data(), &value, sizeof value);
    };
    return core_->update(bytes(key), on_bytes, true, options);
  }
  template <class Change>
  Result<std::uint64_t> update_word(const Key& key, std::uint32_t offset_bytes, Change&& change,
                                    WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    return core_->update_word(bytes(key), offset_bytes, change, options);
  }
  Result<bool> erase(const Key& key, WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    return core_->erase(bytes(key), options);
  }

  class Batch {
   public:
    void put(const Key& key, const Value& value) { batch_.put(text(key), text(value)); }
    void erase(const Key& key) { batch_.erase(text(key)); }
    void clear() { batch_.clear(); }
    std::size_t size() const { return batch_.size(); }

   private:
    friend class Store;
    template <class T>
    static std::string_view text(const T& object) {
      return {reinterpret_cast<const char*>(&object), sizeof object};
    }
    WriteBatch batch_;
  };
  Result<Version> write(const Batch& batch, WriteOptions options = {}) {
    if (!core_) [[unlikely]]
      return closed();
    return core_->write(batch.batch_, options);
  }

  // Every record of the snapshot, as objects, until `visit` returns false.
  Status for_each(const Snapshot& snapshot,
                  const std::function<bool(const Key&, const Value&, Version)>& visit) const {
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
  static std::span<const std::byte, sizeof(T)> bytes(const T& object) {
    return std::as_bytes(std::span<const T, 1>(&object, 1));
  }
  void copy_out(const RecordView& record, Value& value) const {
    core_->copy_value(record, reinterpret_cast<std::byte*>(&value), sizeof value);
  }
};

}  // namespace holdfast::kv
