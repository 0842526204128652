// The verbs of many keys of one kind, of a store's own keys and of a keyspace's. Updates and erases
// are groups of operations (group_verbs.hpp).
#include <algorithm>
#include <functional>
#include <vector>

#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/store_core.hpp>

namespace holdfast::kv {
namespace {

Status check_counts(std::size_t keys, std::size_t outcomes) {
  if (keys == outcomes) return {};
  return Error{Errc::kInvalidOption, std::to_string(keys) + " keys and " +
                                         std::to_string(outcomes) +
                                         " outcomes; equally many are allowed"};
}

Status check_put_counts(std::size_t keys, std::size_t values) {
  if (keys == values) return {};
  return Error{Errc::kInvalidOption, "put_many: " + std::to_string(keys) + " keys and " +
                                         std::to_string(values) +
                                         " values; equally many are allowed"};
}
Status check_get_counts(std::size_t keys, std::size_t values, std::size_t outcomes) {
  if (keys == values && keys == outcomes) return {};
  return Error{Errc::kInvalidOption,
               "get_many: " + std::to_string(keys) + " keys, " + std::to_string(values) +
                   " values, " + std::to_string(outcomes) + " outcomes; equally many are allowed"};
}

// `core`: a StoreCore or a SpaceCore. `complete(operation, i)` sets what the verb needs beside its
// key.
template <class Core, class Complete>
Status run_many(Core& core, Operation::Verb verb, const ByteSpans& keys, std::span<Errc> outcomes,
                WriteOptions options, Complete&& complete) {
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
template <class Core>
std::function<void(std::string&)> change_of(const Core& core, std::string_view key,
                                            const ChangeOne& change, std::size_t i,
                                            WriteOptions options) {
  if (!options.renew) return [&change, i](std::string& value) { change(i, value); };
  return [&core, key, &change, i](std::string& value) {
    change(i, value);
    core.rooms.expiry.renew(id_of(core.rooms), key, value);
  };
}

// For keys that are texts.
template <class Core>
Status update_texts_of(Core& core, std::span<const std::string_view> keys, const ChangeOne& change,
                       std::span<Errc> outcomes, WriteOptions options) {
  return run_many(core, Operation::Verb::kUpdate, ByteSpans(keys), outcomes, options,
                  [&](Operation& operation, std::size_t i) {
                    operation.change = change_of(core, keys[i], change, i, options);
                  });
}

using ChangeWordOne = FunctionRef<std::uint64_t(std::size_t i, std::uint64_t word)>;
template <class Core>
Status update_words_in(Core& core, const ByteSpans& keys, std::uint32_t offset_bytes,
                       const ChangeWordOne& change, std::span<Errc> outcomes,
                       WriteOptions options) {
  return run_many(core, Operation::Verb::kUpdateWord, keys, outcomes, options,
                  [&](Operation& operation, std::size_t i) {
                    operation.offset_bytes = offset_bytes;
                    operation.change_word = [&change, i](std::uint64_t word) {
                      return change(i, word);
                    };
                  });
}

template <class Core>
Status erase_in(Core& core, const ByteSpans& keys, std::span<Errc> outcomes, WriteOptions options) {
  return run_many(core, Operation::Verb::kErase, keys, outcomes, options,
                  [](Operation&, std::size_t) {});
}

}  // namespace

// ---- Of the store's own keys ----

Status StoreBase::put_texts(std::span<const std::string_view> keys,
                            std::span<const std::string_view> values, WriteOptions options) {
  if (!core()) return closed();
  HF_RETURN_IF_ERROR(check_put_counts(keys.size(), values.size()));
  const LatencyTimer timer(core_->latencies, TimedVerb::kPutMany);
  return core_->put_many(*core_, ByteSpans(keys), ByteSpans(values), options);
}
Status StoreBase::put_objects(Objects keys, Objects values, WriteOptions options) {
  if (!core()) return closed();
  HF_RETURN_IF_ERROR(check_put_counts(keys.count, values.count));
  const LatencyTimer timer(core_->latencies, TimedVerb::kPutMany);
  return core_->put_many(*core_, ByteSpans(keys.first, keys.bytes, keys.count),
                         ByteSpans(values.first, values.bytes, values.count), options);
}
Status StoreBase::get_texts(std::span<const std::string_view> keys, std::span<std::string> values,
                            std::span<Errc> outcomes) const {
  if (!core()) return closed();
  HF_RETURN_IF_ERROR(check_get_counts(keys.size(), values.size(), outcomes.size()));
  const LatencyTimer timer(core_->latencies, TimedVerb::kGetMany);
  return core_->get_texts(*core_, ByteSpans(keys), values.data(), outcomes);
}
Status StoreBase::get_objects(Objects keys, Objects values, std::span<Errc> outcomes) const {
  if (!core()) return closed();
  HF_RETURN_IF_ERROR(check_get_counts(keys.count, values.count, outcomes.size()));
  // NOLINTNEXTLINE: the caller's values, which it may write.
  auto* const to = static_cast<std::byte*>(const_cast<void*>(values.first));
  const LatencyTimer timer(core_->latencies, TimedVerb::kGetMany);
  return core_->get_objects(*core_, ByteSpans(keys.first, keys.bytes, keys.count), to, values.bytes,
                            outcomes);
}

Status StoreBase::update_texts(std::span<const std::string_view> keys, ChangeOne change,
                               std::span<Errc> outcomes, WriteOptions options) {
  if (!core()) return closed();
  return update_texts_of(*core_, keys, change, outcomes, options);
}

Status StoreBase::update_objects(Objects keys, ChangeOne change, std::span<Errc> outcomes,
                                 WriteOptions options) {
  if (!core()) return closed();
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
  if (!core()) return closed();
  return update_words_in(*core_, ByteSpans(keys), offset_bytes, change, outcomes, options);
}

Status StoreBase::update_words_of(Objects keys, std::uint32_t offset_bytes, ChangeWordOne change,
                                  std::span<Errc> outcomes, WriteOptions options) {
  if (!core()) return closed();
  return update_words_in(*core_, ByteSpans(keys.first, keys.bytes, keys.count), offset_bytes,
                         change, outcomes, options);
}

Status StoreBase::erase_texts(std::span<const std::string_view> keys, std::span<Errc> outcomes,
                              WriteOptions options) {
  if (!core()) return closed();
  return erase_in(*core_, ByteSpans(keys), outcomes, options);
}

Status StoreBase::erase_objects(Objects keys, std::span<Errc> outcomes, WriteOptions options) {
  if (!core()) return closed();
  return erase_in(*core_, ByteSpans(keys.first, keys.bytes, keys.count), outcomes, options);
}

// ---- Of a keyspace ----

Status Space::get_many(std::span<const std::string_view> keys, std::span<std::string> values,
                       std::span<Errc> outcomes) const {
  return in([&](SpaceCore& core) -> Status {
    HF_RETURN_IF_ERROR(check_get_counts(keys.size(), values.size(), outcomes.size()));
    return core.reads.get_many<AnyPath>(ByteSpans(keys), outcomes,
                                        [values](std::size_t i, const RecordView&, Bytes value) {
                                          copy_text<AnyPath>(value, values[i]);
                                        });
  });
}

Status Space::put_many(std::span<const std::string_view> keys,
                       std::span<const std::string_view> values, WriteOptions options) {
  return in([&](SpaceCore& core) -> Status {
    HF_RETURN_IF_ERROR(check_put_counts(keys.size(), values.size()));
    std::size_t done = 0;
    return core.writes.put_many(ByteSpans(keys), ByteSpans(values), options, done);
  });
}

Status Space::update_many(std::span<const std::string_view> keys, ChangeOne change,
                          std::span<Errc> outcomes, WriteOptions options) {
  return in(
      [&](SpaceCore& core) { return update_texts_of(core, keys, change, outcomes, options); });
}

Status Space::update_word_many(std::span<const std::string_view> keys, std::uint32_t offset_bytes,
                               ChangeWordOne change, std::span<Errc> outcomes,
                               WriteOptions options) {
  return in([&](SpaceCore& core) {
    return update_words_in(core, ByteSpans(keys), offset_bytes, change, outcomes, options);
  });
}

Status Space::erase_many(std::span<const std::string_view> keys, std::span<Errc> outcomes,
                         WriteOptions options) {
  return in([&](SpaceCore& core) { return erase_in(core, ByteSpans(keys), outcomes, options); });
}

}  // namespace holdfast::kv
