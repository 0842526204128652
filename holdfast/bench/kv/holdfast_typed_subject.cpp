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

// The benchmark's buffers hold exactly the bytes of these types, which have no alignment.
template <class K, class V>
struct Typed {
  static_assert(alignof(K) == 1 && alignof(V) == 1);
  static_assert(std::is_trivially_copyable_v<K> && std::is_trivially_copyable_v<V>);
  using Key = K;
  using Value = V;
  using Found = V;
  static const K& of(const kv::Key& key) { return *reinterpret_cast<const K*>(key.data); }
  static const V& of(ValueView value) { return *reinterpret_cast<const V*>(value.data); }
  static std::uint32_t get(store::Store<K, V>& store, const kv::Key& key,
                           std::span<std::byte> out) {
    return store.get(of(key), *reinterpret_cast<V*>(out.data())) ? sizeof(V) : kAbsent;
  }
};

}  // namespace

SubjectKind holdfast_typed_kind(const Shape& shape) {
  return with_types(shape, []<class K, class V>() {
    if constexpr (std::is_trivially_copyable_v<K>) {
      using TypedStore = store::Store<K, V>;
      return kind_of<HoldfastStore<TypedStore, OwnSession<TypedStore, Typed<K, V>>>>(
          "holdfast-typed");
    } else {
      return missing_kind(
          "holdfast-typed",
          "types exist for 16/200, 8/8, 8/200, 16/100, 32/500 and 100/900 bytes, not for others");
    }
  });
}

}  // namespace holdfast::bench::kv
