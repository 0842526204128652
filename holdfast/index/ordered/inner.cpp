#include <holdfast/index/ordered/inner.hpp>

#include <algorithm>
#include <cstring>
#include <new>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>

namespace holdfast::index::ordered {
namespace {

constexpr std::size_t kHeadBytes = 8;

std::uint64_t head_of(std::string_view bytes) {
  std::uint64_t head = 0;
  std::memcpy(&head, bytes.data(), std::min(bytes.size(), kHeadBytes));
  return __builtin_bswap64(head);
}

// Separators ascend, so the first and the last have in common what all have.
std::size_t shared_by(std::span<const Inner::Entry> entries) {
  return entries.size() < 2 ? 0 : common_prefix(entries[1].separator, entries.back().separator);
}

}  // namespace

Inner* Inner::make(std::uint32_t level, std::span<const Entry> entries) {
  const std::size_t prefix = shared_by(entries);
  const std::size_t separators = entries.size() - 1;
  std::size_t texts = prefix;
  for (const Entry& entry : entries.subspan(1))
    texts += entry.separator.size() - prefix;
  const std::size_t bytes = sizeof(Inner) + separators * sizeof(std::uint64_t) +
                            entries.size() * sizeof(void*) + separators * sizeof(std::uint32_t) +
                            texts;
  void* memory = ::operator new(bytes, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* node = new (memory) Inner;
  node->level_ = level;
  node->size_ = static_cast<std::uint32_t>(entries.size());
  node->prefix_ = static_cast<std::uint32_t>(prefix);
  node->bytes_ = static_cast<std::uint32_t>(bytes);

  char* text = node->texts();
  if (prefix != 0) std::memcpy(text, entries[1].separator.data(), prefix);
  text += prefix;
  for (std::size_t at = 0; at < entries.size(); ++at) {
    new (node->children() + at) std::atomic<void*>(entries[at].child);
    if (at == 0) continue;
    const std::string_view rest = entries[at].separator.substr(prefix);
    if (!rest.empty()) std::memcpy(text, rest.data(), rest.size());
    text += rest.size();
    node->heads()[at - 1] = head_of(rest);
    node->ends()[at - 1] = static_cast<std::uint32_t>(text - node->texts());
  }
  return node;
}

void Inner::destroy(void* inner) { ::operator delete(inner); }

bool Inner::too_big(std::span<const Entry> entries) {
  if (entries.size() > kFanout) return true;
  if (entries.size() < 4) return false;
  std::size_t texts = 0;
  for (const Entry& entry : entries.subspan(1))
    texts += entry.separator.size();
  return texts > kTextBytes;
}

std::string_view Inner::rest(std::uint32_t separator) const {
  const std::uint32_t begin = separator == 1 ? prefix_ : ends()[separator - 2];
  return {texts() + begin, ends()[separator - 1] - begin};
}

void Inner::prefetch() const {
  // The header and the heads.
  for (std::uint32_t line = 0; line < 12; ++line)
    prefetch_for_read(reinterpret_cast<const char*>(this) + line * kCacheLineBytes);
}

std::uint32_t Inner::child_for(const Target& target) const {
  if (target.end) return separators();
  // A key that does not begin with the prefix lies below or above all separators.
  const int order = target.key.substr(0, prefix_).compare(prefix());
  if (order != 0) return HF_MUTANT("E07", order < 0, true) ? 0 : separators();
  const std::string_view rest_of_key = target.key.substr(prefix_);
  const std::uint64_t wanted = head_of(rest_of_key);

  const std::uint64_t* first = heads();
  for (std::uint32_t left = separators(); left > 0;) {
    const std::uint32_t half = left / 2;
    const bool below = first[half] < wanted;
    first = below ? first + half + 1 : first;
    left = below ? left - half - 1 : half;
  }
  auto at = static_cast<std::uint32_t>(first - heads());
  // Equal heads: by their whole rests.
  std::uint32_t end = at;
  while (end < separators() && heads()[end] == wanted)
    ++end;
  while (at < end) {
    const std::uint32_t middle = at + (end - at) / 2;
    const int compared = rest(middle + 1).compare(rest_of_key);
    if (compared < 0 || (compared == 0 && HF_MUTANT("E06", !target.below, true)))
      at = middle + 1;
    else
      end = middle;
  }
  return at;
}

}  // namespace holdfast::index::ordered
