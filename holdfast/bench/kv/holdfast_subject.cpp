// Our own store, as anybody would use it: the public interface of kv/store.hpp and nothing else.
// Twice: as it comes, and with its keys in order (kv/cursor.hpp).
#include <holdfast/bench/kv/holdfast_store.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::bench::kv {
namespace {

namespace store = holdfast::kv;

struct Bytes {
  using Key = std::string_view;
  using Value = std::string_view;
  using Found = std::string;
  static std::string_view of(const kv::Key& key) { return key.view(); }
  static std::string_view of(ValueView value) { return value.view(); }
  static std::uint32_t get(store::Store<>& store, const kv::Key& key, std::span<std::byte> out) {
    const auto size = store.get(key.view(), out);
    return size ? static_cast<std::uint32_t>(*size) : kAbsent;
  }
};
using HoldfastSession = OwnSession<store::Store<>, Bytes>;

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
