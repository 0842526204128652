#include <holdfast/bench/memory/custom_operation.hpp>

#include <algorithm>
#include <charconv>

#include <holdfast/base/format.hpp>
#include <holdfast/base/units.hpp>
#include <holdfast/bench/memory/words.hpp>
#include <holdfast/yaml/diagnostics.hpp>

namespace holdfast::bench::memory {
namespace {

using yaml::in_quotes;

constexpr std::string_view kShape =
    "; an operation is r_SIZE, w_SIZE_PERSIST or w_SIZE_PERSIST_OFFSET, with d for DRAM: "
    "rd_SIZE, wd_SIZE_PERSIST";
constexpr std::int64_t kOffsetMax = std::int64_t{1} << 40;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Status parse_offset(std::string_view text, std::int64_t& offset) {
  auto digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
  if (error != std::errc{} || end != digits.data() + digits.size() || offset > kOffsetMax ||
      offset < -kOffsetMax) {
    return Error{Errc::kInvalidOption, "the offset " + in_quotes(text) +
                                           " is no number of bytes, for example 128 or -64"};
  }
  if (offset % static_cast<std::int64_t>(kCacheLineBytes) != 0)
    return Error{Errc::kInvalidOption,
                 "the offset " + std::string(text) + " is no multiple of 64, the size of a line"};
  return {};
}

Status parse_size(std::string_view text, std::uint64_t& bytes) {
  const auto parsed = parse_bytes(text, "size");
  if (!parsed)
    return Error{Errc::kInvalidOption,
                 "the size " + in_quotes(text) + " is no number of bytes, for example 64 or 4K"};
  bytes = *parsed;
  if (bytes == 0 || bytes % kCacheLineBytes != 0 || bytes > kAccessBytesMax)
    return Error{Errc::kInvalidOption,
                 "the size " + std::string(text) + " must be a multiple of 64, from 64 to 1G"};
  return {};
}

Result<CustomOperation> parse_operation(std::string_view text) {
  auto parts = split(text, '_');
  CustomOperation operation;
  auto head = parts.front();
  // The older spelling: r64 is r_64.
  const auto digit = head.find_first_of("0123456789");
  if (digit != std::string_view::npos && digit > 0) {
    parts.insert(parts.begin() + 1, head.substr(digit));
    head = head.substr(0, digit);
  }
  if (head != "r" && head != "rp" && head != "rd" && head != "w" && head != "wp" && head != "wd") {
    return Error{Errc::kInvalidOption, "begins with " + in_quotes(head) +
                                           ", which is none of r, rp, rd, w, wp, wd" +
                                           std::string(kShape)};
  }
  operation.write = head.front() == 'w';
  operation.dram = head.ends_with('d');
  if (parts.size() < 2) return Error{Errc::kInvalidOption, "has no size" + std::string(kShape)};
  HF_RETURN_IF_ERROR(parse_size(parts[1], operation.bytes));
  const std::size_t parts_max = operation.write ? 4 : 2;
  if (parts.size() > parts_max) {
    return Error{Errc::kInvalidOption, "has more than it can have, from " +
                                           in_quotes(parts[parts_max]) + " on" +
                                           std::string(kShape)};
  }
  if (!operation.write) return operation;
  if (parts.size() < 3)
    return Error{Errc::kInvalidOption,
                 "does not say how to persist: none, cache, cacheinv, nocache, flush or fence"};
  HF_ASSIGN_OR_RETURN(operation.persist, word_of<PersistKind>(parts[2], "the persist instruction"));
  if (parts.size() == 4) HF_RETURN_IF_ERROR(parse_offset(parts[3], operation.offset));
  return operation;
}

// Of the operation after `chain`; empty where it is right. `follows`: the one before it was right.
std::string mistake_of(const CustomOperation& operation, const Chain& chain, bool follows) {
  if (chain.empty() && follows && operation.write)
    return "is a write; the first one must be a read, which says where";
  if (!chain.empty() && follows && operation.write && operation.dram != chain.back().dram)
    return "writes where the operation before it was, which is in the other region; read there "
           "first";
  return {};
}

}  // namespace

Result<Chain> parse_chain(std::string_view text) {
  Chain chain;
  std::string mistakes;
  bool follows = true;  // The operation before was right, or this is the first.
  std::size_t number = 0;
  for (const auto part : split(text, ',')) {
    const auto name = trimmed(part);
    std::string mistake;
    if (++number > kChainOperationsMax) {
      mistake = "is one too many: at most " + std::to_string(kChainOperationsMax);
    } else if (name.find_first_of(" \t") != std::string_view::npos) {
      mistake = "has a space inside; operations are separated by commas";
    } else if (const auto operation = parse_operation(name); !operation) {
      mistake = operation.error().detail;
    } else if (mistake = mistake_of(*operation, chain, follows); mistake.empty()) {
      chain.push_back(*operation);
    }
    follows = mistake.empty();
    if (follows) continue;
    mistakes += (mistakes.empty() ? "" : "\n");
    mistakes += "operation " + std::to_string(number) + ", " + in_quotes(name) + ", " + mistake;
    if (number > kChainOperationsMax) break;
  }
  if (!mistakes.empty()) return Error{Errc::kInvalidOption, mistakes};
  return chain;
}

std::string to_string(const Chain& chain) {
  std::string text;
  for (const auto& operation : chain) {
    if (!text.empty()) text += ',';
    text += operation.write ? 'w' : 'r';
    if (operation.dram) text += 'd';
    text += '_' + std::to_string(operation.bytes);
    if (!operation.write) continue;
    text += '_' + std::string(name(operation.persist));
    if (operation.offset != 0) text += '_' + std::to_string(operation.offset);
  }
  return text;
}

Reach reach_of(const Chain& chain, std::size_t index) {
  Reach reach{0, static_cast<std::int64_t>(chain[index].bytes)};
  std::int64_t at = 0;
  for (auto next = index + 1; next < chain.size() && chain[next].write; ++next) {
    at += chain[next].offset;
    reach.low = std::min(reach.low, at);
    reach.high = std::max(reach.high, at + static_cast<std::int64_t>(chain[next].bytes));
  }
  return reach;
}

bool uses_dram(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const auto& op) { return op.dram; });
}
bool uses_target(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const auto& op) { return !op.dram; });
}
bool writes(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const auto& op) { return op.write; });
}
unsigned fences_of(const Chain& chain) {
  return static_cast<unsigned>(std::count_if(chain.begin(), chain.end(), [](const auto& op) {
    return op.write && op.persist != PersistKind::kNone;
  }));
}
std::uint64_t bytes_of(const Chain& chain) {
  std::uint64_t bytes = 0;
  for (const auto& operation : chain)
    bytes += operation.bytes;
  return bytes;
}

}  // namespace holdfast::bench::memory
