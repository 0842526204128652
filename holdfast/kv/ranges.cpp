// What is done to all keys of a range: counting and erasing.
#include <algorithm>
#include <vector>

#include <holdfast/kv/cursor.hpp>

namespace holdfast::kv {

Result<std::uint64_t> StoreBase::count_prefix(std::string_view prefix) const {
  HF_ASSIGN_OR_RETURN(Cursor cursor, key_cursor());
  std::uint64_t count = 0;
  for (cursor.first(prefix); cursor; cursor.next())
    ++count;
  if (!cursor.status()) return cursor.status().error();
  return count;
}

// From where the cursor is to `end`, or as far as it goes.
Result<std::uint64_t> StoreBase::erase_from(Cursor& cursor, const std::string_view* end,
                                            WriteOptions options) {
  constexpr std::size_t kGroup = 64;
  std::vector<std::string> keys(kGroup);
  std::vector<std::string_view> views(kGroup);
  std::vector<Errc> outcomes(kGroup);
  std::uint64_t erased = 0;
  for (std::size_t size = kGroup; size == kGroup;) {
    for (size = 0; size < kGroup && cursor && (end == nullptr || cursor.key() < *end);
         cursor.next()) {
      keys[size] = cursor.key();
      views[size] = keys[size];
      ++size;
    }
    if (size == 0) break;
    HF_RETURN_IF_ERROR(
        erase_texts(std::span(views).first(size), std::span(outcomes).first(size), options));
    erased += static_cast<std::uint64_t>(std::count(
        outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(size), Errc::kOk));
  }
  if (!cursor.status()) return cursor.status().error();
  return erased;
}

Result<std::uint64_t> StoreBase::erase_prefix(std::string_view prefix, WriteOptions options) {
  HF_ASSIGN_OR_RETURN(Cursor cursor, key_cursor());
  cursor.first(prefix);
  return erase_from(cursor, nullptr, options);
}

Result<std::uint64_t> StoreBase::erase_range(std::string_view from, std::string_view to,
                                             WriteOptions options) {
  if (from >= to) {
    return Error{Errc::kInvalidOption,
                 "erase_range: `from` has to be below `to`; as it is, no key lies between them"};
  }
  HF_ASSIGN_OR_RETURN(Cursor cursor, key_cursor());
  cursor.seek(from);
  return erase_from(cursor, &to, options);
}

}  // namespace holdfast::kv
