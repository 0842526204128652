// The verbs of many keys of one kind: groups of operations (group_verbs.hpp).
#include <algorithm>
#include <functional>
#include <vector>

#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

Status check_counts(std::size_t keys, std::size_t outcomes) {
  if (keys == outcomes) return {};
  return Error{Errc::kInvalidOption, std::to_string(keys) + " keys and " +
                                         std::to_string(outcomes) +
                                         " outcomes; equally many are allowed"};
}

// `complete(operation, i)` sets what the verb needs beside its key.
template <class Complete>
Status run_many(StoreCore& core, Operation::Verb verb, const ByteSpans& keys,
                std::span<Errc> outcomes, WriteOptions options, Complete&& complete) {
  constexpr std::size_t kGroup = 64;
  HF_RETURN_IF_ERROR(check_counts(keys.size(), outcomes.size()));
  const Durability durability = core.rooms.effective(options);
  std::vector<Operation> group(std::min(kGroup, keys.size()));
  Status first_failure;
  for (std::size_t first = 0; first < keys.size(); first += kGroup) {
    const std::size_t count = std::min(kGroup, keys.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      group[i].begin(verb, keys[first + i], {});
      complete(group[i], first + i);
      core.groups.prepare(group[i]);
    }
    core.groups.run(std::span(group).first(count), durability);
    for (std::size_t i = 0; i < count; ++i) {
      const Result<std::uint64_t>& outcome = group[i].outcome;
      const bool absent = verb == Operation::Verb::kErase && outcome && *outcome == 0;
      outcomes[first + i] = absent ? Errc::kNotFound : outcome.code();
      if (!outcome && outcome.code() != Errc::kNotFound && first_failure)
        first_failure = outcome.error();
    }
  }
  return first_failure;
}

// What an operation does to the value of `key`. Without an allocation where nothing is renewed.
using ChangeOne = FunctionRef<void(std::size_t i, std::string& value)>;
std::function<void(std::string&)> change_of(const StoreCore& core, std::string_view key,
                                            const ChangeOne& change, std::size_t i,
                                            WriteOptions options) {
  if (!options.renew) return [&change, i](std::string& value) { change(i, value); };
  return [&rules = core.rooms.expiry, key, &change, i](std::string& value) {
    change(i, value);
    rules.renew(kDefaultSpace, key, value);
  };
}

}  // namespace

Status StoreBase::update_texts(std::span<const std::string_view> keys, ChangeOne change,
                               std::span<Errc> outcomes, WriteOptions options) {
  if (!core_) return closed();
  return run_many(*core_, Operation::Verb::kUpdate, ByteSpans(keys), outcomes, options,
                  [&](Operation& operation, std::size_t i) {
                    operation.change = change_of(*core_, keys[i], change, i, options);
                  });
}

Status StoreBase::update_objects(Objects keys, ChangeOne change, std::span<Errc> outcomes,
                                 WriteOptions options) {
  if (!core_) return closed();
  return run_many(*core_, Operation::Verb::kUpdate, ByteSpans(keys.first, keys.bytes, keys.count),
                  outcomes, options, [&](Operation& operation, std::size_t i) {
                    operation.fixed_bytes = true;
                    const auto* const first = static_cast<const char*>(keys.first);
                    operation.change =
                        change_of(*core_, {first + i * keys.bytes, keys.bytes}, change, i, options);
                  });
}

Status StoreBase::update_words_of(std::span<const std::string_view> keys,
                                  std::uint32_t offset_bytes, ChangeWordOne change,
                                  std::span<Errc> outcomes, WriteOptions options) {
  if (!core_) return closed();
  return run_many(*core_, Operation::Verb::kUpdateWord, ByteSpans(keys), outcomes, options,
                  [&](Operation& operation, std::size_t i) {
                    operation.offset_bytes = offset_bytes;
                    operation.change_word = [&change, i](std::uint64_t word) {
                      return change(i, word);
                    };
                  });
}

Status StoreBase::update_words_of(Objects keys, std::uint32_t offset_bytes, ChangeWordOne change,
                                  std::span<Errc> outcomes, WriteOptions options) {
  if (!core_) return closed();
  return run_many(
      *core_, Operation::Verb::kUpdateWord, ByteSpans(keys.first, keys.bytes, keys.count), outcomes,
      options, [&](Operation& operation, std::size_t i) {
        operation.offset_bytes = offset_bytes;
        operation.change_word = [&change, i](std::uint64_t word) { return change(i, word); };
      });
}

Status StoreBase::erase_texts(std::span<const std::string_view> keys, std::span<Errc> outcomes,
                              WriteOptions options) {
  if (!core_) return closed();
  return run_many(*core_, Operation::Verb::kErase, ByteSpans(keys), outcomes, options,
                  [](Operation&, std::size_t) {});
}

Status StoreBase::erase_objects(Objects keys, std::span<Errc> outcomes, WriteOptions options) {
  if (!core_) return closed();
  return run_many(*core_, Operation::Verb::kErase, ByteSpans(keys.first, keys.bytes, keys.count),
                  outcomes, options, [](Operation&, std::size_t) {});
}

}  // namespace holdfast::kv
