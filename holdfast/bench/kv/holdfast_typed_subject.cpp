// Our own store with types: Store<Key, Value> for the shapes of fixed_record.hpp. get copies into a
// Value, get_many into an array of them.
#include <type_traits>

#include <holdfast/bench/kv/fixed_record.hpp>
#include <holdfast/bench/kv/holdfast_store.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/kv/typed_store.hpp>

namespace holdfast::bench::kv {
namespace {

namespace store = holdfast::kv;

template <class K, class V>
class TypedSession : public NotedSession {
 public:
  TypedSession(store::Store<K, V>& store, const Records&) : store_(store) {}

  bool put(const Key& key, ValueView value) {
    return note(store_.put(*as<K>(key.data), *as<V>(value.data)));
  }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    take_keys(keys, count);
    values_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      values_[i] = *as<V>(values[i].data);
    return note(store_.put_many(keys_, values_));
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    return store_.get(*as<K>(key.data), *reinterpret_cast<V*>(out)) ? sizeof(V) : kAbsent;
  }
  bool get_many(const Key* keys, unsigned count, std::byte*, std::size_t, ValueView* values) {
    take_keys(keys, count);
    values_.resize(count);
    outcomes_.resize(count);
    if (!note(store_.get_many(keys_, values_, outcomes_))) return false;
    for (unsigned i = 0; i < count; ++i) {
      values[i] = {values_[i].data(),
                   outcomes_[i] == Errc::kOk ? static_cast<std::uint32_t>(sizeof(V)) : kAbsent};
    }
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    return note(store_.update_word(*as<K>(key.data), 0,
                                   [stamp](std::uint64_t word) { return stamped(word, stamp); }));
  }
  bool erase(const Key& key) {
    const auto erased = store_.erase(*as<K>(key.data));
    return note(erased) && *erased;
  }

 private:
  // The benchmark's buffers hold exactly the bytes of these types, which have no alignment.
  template <class T>
  static const T* as(const void* bytes) {
    static_assert(alignof(T) == 1 && std::is_trivially_copyable_v<T>);
    return static_cast<const T*>(bytes);
  }
  void take_keys(const Key* keys, unsigned count) {
    keys_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      keys_[i] = *as<K>(keys[i].data);
  }

  store::Store<K, V>& store_;
  std::vector<K> keys_;
  std::vector<V> values_;
  std::vector<Errc> outcomes_;
};

}  // namespace

SubjectKind holdfast_typed_kind(const Shape& shape) {
  return with_types(shape, []<class K, class V>() {
    if constexpr (std::is_trivially_copyable_v<K>) {
      return kind_of<HoldfastStore<store::Store<K, V>, TypedSession<K, V>>>("holdfast-typed");
    } else {
      return missing_kind(
          "holdfast-typed",
          "types exist for 16/200, 8/8, 8/200, 16/100, 32/500 and 100/900 bytes, not for others");
    }
  });
}

}  // namespace holdfast::bench::kv
