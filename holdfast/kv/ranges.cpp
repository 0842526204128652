// What is done to all keys of a range: counting and erasing. Of the store's own keys and of a
// keyspace's.
#include <algorithm>
#include <vector>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>

namespace holdfast::kv {
namespace {

Result<std::uint64_t> count_from(Result<Cursor> opened, std::string_view prefix) {
  HF_ASSIGN_OR_RETURN(Cursor cursor, std::move(opened));
  std::uint64_t count = 0;
  for (cursor.first(prefix); cursor; cursor.next())
    ++count;
  if (!cursor.status()) return cursor.status().error();
  return count;
}

// Returns how many of the keys were there.
using EraseGroup = FunctionRef<Result<std::uint64_t>(std::span<const std::string_view> keys)>;

// From where the cursor is to `end`, or as far as it goes.
Result<std::uint64_t> erase_from(Cursor& cursor, const std::string_view* end, EraseGroup erase) {
  constexpr std::size_t kGroup = 64;
  std::vector<std::string> keys(kGroup);
  std::vector<std::string_view> views(kGroup);
  std::uint64_t erased = 0;
  for (std::size_t size = kGroup; size == kGroup;) {
    for (size = 0; size < kGroup && cursor && (end == nullptr || cursor.key() < *end);
         cursor.next()) {
      keys[size] = cursor.key();
      views[size] = keys[size];
      ++size;
    }
    if (size == 0) break;
    HF_ASSIGN_OR_RETURN(const std::uint64_t found, erase(std::span(views).first(size)));
    erased += found;
  }
  if (!cursor.status()) return cursor.status().error();
  return erased;
}

Result<std::uint64_t> erase_keys(Result<Cursor> opened, std::string_view prefix, EraseGroup erase) {
  HF_ASSIGN_OR_RETURN(Cursor cursor, std::move(opened));
  cursor.first(prefix);
  return erase_from(cursor, nullptr, erase);
}

Result<std::uint64_t> erase_keys(Result<Cursor> opened, std::string_view from, std::string_view to,
                                 EraseGroup erase) {
  if (from >= to) {
    return Error{Errc::kInvalidOption,
                 "erase_range: `from` has to be below `to`; as it is, no key lies between them"};
  }
  HF_ASSIGN_OR_RETURN(Cursor cursor, std::move(opened));
  cursor.seek(from);
  return erase_from(cursor, &to, erase);
}

}  // namespace

// ---- Of the store's own keys ----

Result<std::uint64_t> StoreBase::count_prefix(std::string_view prefix) const {
  return count_from(key_cursor(), prefix);
}

Result<std::uint64_t> StoreBase::erase_group(std::span<const std::string_view> keys,
                                             WriteOptions options) {
  std::vector<Errc> outcomes(keys.size());
  HF_RETURN_IF_ERROR(erase_texts(keys, outcomes, options));
  return static_cast<std::uint64_t>(std::count(outcomes.begin(), outcomes.end(), Errc::kOk));
}

Result<std::uint64_t> StoreBase::erase_prefix(std::string_view prefix, WriteOptions options) {
  return erase_keys(key_cursor(), prefix, [&](std::span<const std::string_view> keys) {
    return erase_group(keys, options);
  });
}

Result<std::uint64_t> StoreBase::erase_range(std::string_view from, std::string_view to,
                                             WriteOptions options) {
  return erase_keys(key_cursor(), from, to, [&](std::span<const std::string_view> keys) {
    return erase_group(keys, options);
  });
}

// ---- Of a keyspace ----

Result<std::uint64_t> Space::count_prefix(std::string_view prefix) const {
  return count_from(cursor_of(/*with_values=*/false), prefix);
}

Result<std::uint64_t> Space::erase_group(std::span<const std::string_view> keys,
                                         WriteOptions options) {
  std::vector<Errc> outcomes(keys.size());
  HF_RETURN_IF_ERROR(erase_many(keys, outcomes, options));
  return static_cast<std::uint64_t>(std::count(outcomes.begin(), outcomes.end(), Errc::kOk));
}

Result<std::uint64_t> Space::erase_prefix(std::string_view prefix, WriteOptions options) {
  return erase_keys(
      cursor_of(/*with_values=*/false), prefix,
      [&](std::span<const std::string_view> keys) { return erase_group(keys, options); });
}

Result<std::uint64_t> Space::erase_range(std::string_view from, std::string_view to,
                                         WriteOptions options) {
  return erase_keys(
      cursor_of(/*with_values=*/false), from, to,
      [&](std::span<const std::string_view> keys) { return erase_group(keys, options); });
}

}  // namespace holdfast::kv
