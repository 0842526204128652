// Our own store, as anybody would use it: the public interface of kv/store.hpp and nothing else.
// Twice: as it comes, and with its keys in order (kv/cursor.hpp).
#include <cstring>

#include <holdfast/bench/kv/holdfast_store.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::bench::kv {
namespace {

namespace store = holdfast::kv;

class HoldfastSession : public NotedSession {
 public:
  HoldfastSession(store::Store<>& store, const Records& records)
      : store_(store), records_(records) {}

  bool put(const Key& key, ValueView value) { return note(store_.put(key.view(), value.view())); }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    views(keys, count);
    value_views_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      value_views_[i] = values[i].view();
    return note(store_.put_many(keys_, value_views_));
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    const auto size = store_.get(key.view(), std::span(out, records_.value_stride()));
    return size ? static_cast<std::uint32_t>(*size) : kAbsent;
  }
  bool get_many(const Key* keys, unsigned count, std::byte*, std::size_t, ValueView* values) {
    views(keys, count);
    values_.resize(count);
    outcomes_.resize(count);
    if (!note(store_.get_many(keys_, values_, outcomes_))) return false;
    for (unsigned i = 0; i < count; ++i) {
      const auto& value = values_[i];
      values[i] = {reinterpret_cast<const std::byte*>(value.data()),
                   outcomes_[i] == Errc::kOk ? static_cast<std::uint32_t>(value.size()) : kAbsent};
    }
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    return note(store_.update_word(key.view(), 0,
                                   [stamp](std::uint64_t word) { return stamped(word, stamp); }));
  }
  bool erase(const Key& key) {
    const auto erased = store_.erase(key.view());
    return note(erased) && *erased;
  }

 private:
  void views(const Key* keys, unsigned count) {
    keys_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      keys_[i] = keys[i].view();
  }

  store::Store<>& store_;
  const Records& records_;
  std::vector<std::string_view> keys_, value_views_;
  std::vector<std::string> values_;
  std::vector<Errc> outcomes_;
};

// Its cursor is kept from scan to scan. Records come packed, many per call.
class OrderedSession : public HoldfastSession {
 public:
  OrderedSession(store::Store<>& store, const Records& records)
      : HoldfastSession(store, records), cursor_(store.cursor()) {}

  bool scan(const Key& from, unsigned count, ScanAnswer& answer) {
    if (!note(cursor_)) return false;
    auto& cursor = *cursor_;
    auto packed = cursor.fill_from(from.view(), buffer_, count);
    for (;; packed = cursor.fill(buffer_, count)) {
      if (!note(packed)) return false;
      auto rest = std::span<const std::byte>(buffer_).first(*packed);
      while (const auto record = store::unpack(rest)) {
        answer(record->key, record->value);
        --count;
      }
      if (count == 0 || !cursor) return note(cursor.status());
    }
  }

 private:
  std::vector<std::byte> buffer_ = std::vector<std::byte>(64 * KiB);
  Result<store::Cursor> cursor_;
};

}  // namespace

SubjectKind holdfast_ordered_kind() {
  return kind_of<HoldfastStore<store::Store<>, OrderedSession>>("holdfast-ordered");
}

SubjectKind holdfast_kind() {
  return kind_of<HoldfastStore<store::Store<>, HoldfastSession>>("holdfast");
}

}  // namespace holdfast::bench::kv
