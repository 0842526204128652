#include <holdfast/kv/expiry_rules.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::kv {
namespace {

std::uint64_t load(const std::byte* at, std::uint32_t width, std::endian order) {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < width; ++i) {
    const std::uint32_t from = order == std::endian::little ? width - 1 - i : i;
    value = value << 8 | std::to_integer<std::uint64_t>(at[from]);
  }
  return value;
}

// A word may be being updated in place, so a stamp that lies within one is read with it, at once.
std::uint64_t load_stamp(const std::byte* at, std::uint32_t width, std::endian order) {
  const std::size_t within = reinterpret_cast<std::uintptr_t>(at) % sizeof(std::uint64_t);
  if (within + width > sizeof(std::uint64_t)) return load(at, width, order);
  const auto* const word = reinterpret_cast<const std::uint64_t*>(at - within);
  std::uint64_t bytes =
      std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
  bytes >>= 8 * within;
  return load(reinterpret_cast<const std::byte*>(&bytes), width, order);
}

template <class Number>
void append_bytes_of(std::string& text, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    text += static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * i & 0xff);
}

// The next number of `text`, which has it.
template <class Number>
Number take_bytes_of(std::string_view& text) {
  const Number number = static_cast<Number>(
      load(reinterpret_cast<const std::byte*>(text.data()), sizeof(Number), std::endian::little));
  text.remove_prefix(sizeof(Number));
  return number;
}

constexpr std::size_t kRuleBytes = 4 + 4 + 1 + 8;

}  // namespace

const ExpiryRule* ExpiryRules::rule_of(std::uint16_t space, std::string_view key,
                                       std::uint64_t version) const {
  const ExpiryRule* rule = nullptr;
  for (const Entry& entry : entries()) {
    if (entry.is_of(space) && HF_MUTANT("K143", entry.since <= version, true) &&
        key.starts_with(entry.rule.prefix) &&
        (rule == nullptr || entry.rule.prefix.size() > rule->prefix.size()))
      rule = &entry.rule;
  }
  return rule;
}

std::uint64_t ExpiryRules::stamp_end(std::uint16_t space, std::string_view key) const {
  const ExpiryRule* const rule = rule_of(space, key);
  return rule == nullptr ? 0 : std::uint64_t{rule->offset_bytes} + rule->width_bytes;
}

void ExpiryRules::renew(std::uint16_t space, std::string_view key, std::span<char> value) const {
  if (!any()) return;
  const ExpiryRule* const rule = rule_of(space, key);
  if (rule == nullptr || HF_MUTANT("K116", rule->ttl == 0, false) ||
      std::uint64_t{rule->offset_bytes} + rule->width_bytes > value.size())
    return;
  const std::uint64_t now = clock();
  for (std::uint32_t i = 0; i < rule->width_bytes; ++i) {
    const bool little = rule->order == std::endian::little;
    const std::uint32_t from = little ? i : rule->width_bytes - 1 - i;
    value[rule->offset_bytes + i] = static_cast<char>(now >> 8 * from & 0xff);
  }
}

std::optional<std::uint64_t> ExpiryRules::end_of(const RecordView& record,
                                                 std::uint64_t version) const {
  const ExpiryRule* const rule = rule_of(record.header().space(), record.key(), version);
  if (rule == nullptr) return std::nullopt;
  // A value in pieces has its front here.
  const std::uint64_t skipped = record.is_in_pieces() ? sizeof(InPieces) : 0;
  if (skipped + rule->offset_bytes + rule->width_bytes > record.value_bytes()) return std::nullopt;
  const std::uint64_t stamp = load_stamp(record.value_data() + skipped + rule->offset_bytes,
                                         rule->width_bytes, rule->order);
  const std::uint64_t end = stamp + rule->ttl;
  if (end < stamp) return std::nullopt;  // Beyond all clocks.
  return end;
}

const ExpiryRule* ExpiryRules::find(std::uint16_t space, std::string_view prefix) const {
  const auto all = entries();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Entry& entry) {
    return entry.is_of(space) && entry.rule.prefix == prefix;
  });
  return found == all.end() ? nullptr : &found->rule;
}

std::vector<ExpiryRule> ExpiryRules::of_space(std::uint16_t space) const {
  std::vector<ExpiryRule> rules;
  for (const Entry& entry : entries())
    if (entry.is_of(space)) rules.push_back(entry.rule);
  return rules;
}

bool ExpiryRules::reuses() const {
  const auto all = entries();
  return std::any_of(all.begin(), all.end(),
                     [](const Entry& entry) { return entry.is_of(kNobodys); });
}

bool ExpiryRules::full() const { return entries().size() == kMost && !reuses(); }

bool ExpiryRules::add(std::uint16_t space, ExpiryRule rule, std::uint64_t since) {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && !entries_[at].is_of(kNobodys))
    ++at;
  if (at == kMost) return false;
  entries_[at].rule = std::move(rule);
  entries_[at].since = since;
  entries_[at].space.store(space, std::memory_order_release);
  if (at == count) count_.store(count + 1, std::memory_order_release);
  return true;
}

void ExpiryRules::forget(std::uint16_t space) {
  for (Entry& entry : std::span(entries_).first(count_.load(std::memory_order_acquire)))
    if (entry.is_of(space)) entry.space.store(kNobodys, std::memory_order_release);
}

std::string encode_clock(std::uint64_t clock) {
  std::string text;
  append_bytes_of(text, clock);
  return text;
}

std::string encode_rule_key(std::uint16_t space, std::string_view prefix) {
  std::string text = "e";
  append_bytes_of(text, space);
  return text.append(prefix);
}

std::string encode_rule(const ExpiryRule& rule) {
  std::string text;
  append_bytes_of(text, rule.offset_bytes);
  append_bytes_of(text, rule.width_bytes);
  append_bytes_of(text, static_cast<std::uint8_t>(rule.order == std::endian::big));
  append_bytes_of(text, rule.ttl);
  return text;
}

std::uint16_t space_of_rule(std::string_view key) {
  if (key.size() < 3 || key[0] != 'e') return kDefaultSpace;
  key.remove_prefix(1);
  return take_bytes_of<std::uint16_t>(key);
}

bool adopt_expiry(ExpiryRules& rules, std::string_view key, std::string_view value) {
  if (key == kClockKey) {
    if (value.size() != sizeof(std::uint64_t)) return false;
    rules.set_clock(take_bytes_of<std::uint64_t>(value));
    return true;
  }
  if (key.size() < 3 || key[0] != 'e' || value.size() != kRuleBytes) return false;
  key.remove_prefix(1);
  const auto space = take_bytes_of<std::uint16_t>(key);
  ExpiryRule rule{.prefix = std::string(key)};
  rule.offset_bytes = take_bytes_of<std::uint32_t>(value);
  rule.width_bytes = take_bytes_of<std::uint32_t>(value);
  const auto order = take_bytes_of<std::uint8_t>(value);
  rule.ttl = take_bytes_of<std::uint64_t>(value);
  rule.order = order == 0 ? std::endian::little : std::endian::big;
  if ((rule.width_bytes != 4 && rule.width_bytes != 8) || order > 1) return false;
  return rules.add(space, std::move(rule));
}

}  // namespace holdfast::kv
