// expiry_rules.hpp: which records have expired: the rules of a store, and its clock. expiry.hpp.
//
// Threads    Any; add() and set_clock() one at a time each, forget() beside them.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/kv/expiry.hpp>
#include <holdfast/kv/record.hpp>

namespace holdfast::kv {

class ExpiryRules {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::uint64_t kNewest = ~std::uint64_t{0};  // A version above all.

  bool any() const { return count_.load(std::memory_order_acquire) != 0; }
  std::uint64_t clock() const { return clock_.load(std::memory_order_seq_cst); }
  bool expired(const RecordView& record) const { return any() && expired(record, clock()); }
  // `version`: of the snapshot that asks. It knows only the rules that were there before it.
  bool expired(const RecordView& record, std::uint64_t clock,
               std::uint64_t version = kNewest) const {
    const auto end = end_of(record, version);
    return end && *end <= clock;
  }
  // The clock at which a put that fits its run expires; nothing: never.
  std::optional<std::uint64_t> end_of(const RecordView& record,
                                      std::uint64_t version = kNewest) const;

  // Puts the clock where such a key's value has its stamp, if a rule with a ttl says so and the
  // value is long enough.
  void renew(std::uint16_t space, std::string_view key, std::span<char> value) const;

  // Where the stamp of such a key's value ends; 0: there is no rule for it.
  std::uint64_t stamp_end(std::uint16_t space, std::string_view key) const;

  const ExpiryRule* find(std::uint16_t space, std::string_view prefix) const;
  // The one that counts for such a key, or null.
  const ExpiryRule* rule_of(std::uint16_t space, std::string_view key,
                            std::uint64_t version = kNewest) const;
  std::vector<ExpiryRule> of_space(std::uint16_t space) const;

  bool full() const;
  // Whether add() would take the place of a rule that was forgotten. Before add() the caller waits
  // for all guards, since a thread in one may still read that rule.
  bool reuses() const;
  // False: it is full. Replaces none. `since`: snapshots of older versions do not know the rule.
  bool add(std::uint16_t space, ExpiryRule rule, std::uint64_t since = 0);
  // Forgets the rules of a dropped space: no thread asks for them from here on.
  void forget(std::uint16_t space);
  void set_clock(std::uint64_t now) { clock_.store(now, std::memory_order_seq_cst); }

 private:
  static constexpr std::uint32_t kNobodys = 0x10000;  // No number of a space.
  struct Entry {
    std::atomic<std::uint32_t> space{kNobodys};
    ExpiryRule rule;
    std::uint64_t since = 0;
    bool is_of(std::uint32_t other) const { return space.load(std::memory_order_acquire) == other; }
  };
  std::span<const Entry> entries() const {
    return std::span(entries_).first(count_.load(std::memory_order_acquire));
  }

  // Those before count_ do not change, but for those that are nobody's.
  std::array<Entry, kMost> entries_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> clock_{0};
};

// ---- As records of the system space (space_names.hpp) ----
//
//   clock   key "c"                       value: the clock, 8 bytes
//   rule    key 'e', space (2), prefix    value: offset (4), width (4), order (1), ttl (8)
//
// Little-endian.
inline constexpr std::string_view kClockKey = "c";
std::string encode_clock(std::uint64_t clock);
std::string encode_rule_key(std::uint16_t space, std::string_view prefix);
std::string encode_rule(const ExpiryRule& rule);
// Of the key of a rule: whose it is; of another key that of the store's own keys.
std::uint16_t space_of_rule(std::string_view key);
// Takes what a record of the system space says. False: it is none of these, or not valid.
bool adopt_expiry(ExpiryRules& rules, std::string_view key, std::string_view value);

}  // namespace holdfast::kv
