// The long forms of Persist::write(): lines that are streamed, and ranges of many lines.
#include <holdfast/memory/persist.hpp>

#include <algorithm>

namespace holdfast {

void Persist::write_in_parts(void* to, const void* from, std::size_t bytes,
                             [[maybe_unused]] Site site) const {
  if (instruction_ == WriteBackInstruction::kNone) return copy(to, from, bytes, site);
  auto* into = static_cast<std::byte*>(to);
  const auto* out_of = static_cast<const std::byte*>(from);
  const auto next = [&](std::size_t part) { into += part, out_of += part, bytes -= part; };
  // To the next boundary, at most all that is left.
  const auto rest_of = [&](std::size_t piece) {
    return std::min(bytes, piece - reinterpret_cast<std::uintptr_t>(into) % piece);
  };
  const auto copy_and_write_back = [&](std::size_t part) {
    copy(into, out_of, part, site);
    write_back(into, part, site);
    next(part);
  };
  if (nt_evicts_) {
    if (reinterpret_cast<std::uintptr_t>(into) % kCacheLineBytes != 0)
      copy_and_write_back(rest_of(kCacheLineBytes));
    if (const auto lines = bytes - bytes % kCacheLineBytes; lines != 0) {
      stream(into, out_of, lines, site);
      next(lines);
    }
    if (bytes != 0) copy_and_write_back(bytes);
    return;
  }
  // Piece by piece, so that the first lines are on their way while the last are copied.
  while (bytes != 0)
    copy_and_write_back(rest_of(kWritePieceBytes));
}

}  // namespace holdfast
