// index_subject.hpp: one index under the operations of the suites. What is found is compared with
// what the key says it must be; what was inserted is looked up after the phase, and taken out.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <holdfast/bench/index/adapters.hpp>
#include <holdfast/bench/index/index_suites.hpp>
#include <holdfast/bench/index/key_choice.hpp>
#include <holdfast/bench/index/mix.hpp>
#include <holdfast/bench/index/record_sizes.hpp>

namespace holdfast::bench::index {

inline constexpr unsigned kGroup = 64;     // Keys of an interleaved call.
inline constexpr unsigned kScanned = 100;  // Records of a scan.

template <class Adapter, bool kInterleaved = false>
class IndexSubject final : public blocks::BlockSubject {
  static_assert(!kInterleaved || Adapter::kMany);
  using Session = typename Adapter::Session;

 public:
  // records: 0 for records_of(). sizes: for an adapter whose keys and values have lengths.
  IndexSubject(const blocks::Context& context, Distribution distribution, std::uint64_t records = 0,
               RecordSizes sizes = {})
      : BlockSubject(context),
        distribution_(distribution),
        mix_(context.options.mix.empty() ? Mix{} : Mix::parse(context.options.mix).value()),
        records_(records != 0 ? records : records_of(context)),
        sizes_(sizes) {}

  Status create() override {
    if constexpr (std::is_constructible_v<Adapter, const blocks::Context&, RecordSizes>)
      adapter_.emplace(context_, sizes_);
    else
      adapter_.emplace(context_);
    return adapter_->create(records_);
  }
  Status prefill() override {
    Session session(*adapter_);
    for (std::uint64_t number = 0; number < records_; ++number) {
      const auto key = key_of(number);
      if (!session.insert(key, value_of(key)))
        return Error{Errc::kNoSpace, "record " + std::to_string(number) + " was refused"};
      greatest_key_ = std::max(greatest_key_, key);
    }
    return {};
  }
  bool supports(const std::string& operation) const override {
    if (kInterleaved) return operation == "find" || operation == "insert";
    if (operation == "scan_100") return Adapter::kScans;
    if (operation == "open") return Adapter::kPersistent;
    if (operation == mix_.name()) return Adapter::kUpdates || mix_.update == 0;
    return Adapter::kUpdates || operation == "find" || operation == "insert";
  }
  bool counts_persists() const override { return Adapter::kPersistent; }
  std::uint64_t operations_bound(const std::string& operation) const override {
    if (operation == mix_.name()) return mix_.insert == 0 ? 0 : records_ / 4 * 100 / mix_.insert;
    return operation == "insert" ? records_ / 4 : 0;
  }
  results::Fields facts() const override {
    results::Fields facts;
    facts.set("records", records_);
    const auto each = [&](std::uint64_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(records_);
    };
    if (adapter_->medium_bytes() != 0)
      facts.set("medium_bytes_per_record", each(adapter_->medium_bytes()));
    facts.set("dram_bytes_per_record", each(adapter_->dram_bytes()));
    return facts;
  }
  Status run(PhaseThread& thread) override {
    const auto& operation = thread.phase().operation;
    if constexpr (Adapter::kPersistent) {
      if (operation == "open") return open(thread);
    }
    Session session(*adapter_);
    if constexpr (kInterleaved)
      return operation == "insert" ? insert_many(thread, session) : find_many(thread, session);
    if (operation == "insert") return insert(thread, session);
    const auto choice = choose_keys(thread);
    if (operation == "find") return mixed(thread, session, choice, 0);
    if (operation == "update") return mixed(thread, session, choice, 100);
    if (operation == "mixed_90_10") return mixed(thread, session, choice, 10);
    if (operation == mix_.name()) return mixed_as_asked(thread, session, choice);
    if constexpr (Adapter::kScans) return scan(thread, session, choice);
    return Error{Errc::kUnsupported, operation};
  }
  Status after(const Phase& phase) override {
    if (phase.operation != "insert" && phase.operation != mix_.name()) return {};
    Session session(*adapter_);
    for (unsigned thread = 0; thread < phase.threads; ++thread) {
      for (std::uint64_t i = 0; i < inserted_[thread]; ++i) {
        const auto key = new_key(thread, i);
        if (i % 16 == 0 && session.find(key) != value_of(key))
          return Error{Errc::kCorrupt, "wrong: key " + std::to_string(key) + " was inserted"};
        if (!session.erase(key))
          return Error{Errc::kCorrupt, "wrong: key " + std::to_string(key) + " cannot be erased"};
      }
    }
    return {};
  }
  void destroy() override { adapter_.reset(); }

 private:
  static constexpr unsigned kChunk = 32;  // Operations between two looks at the clock.

  // Each thread has numbers of its own.
  std::uint64_t new_key(unsigned thread, std::uint64_t i) const {
    return key_of(records_ + thread * (records_ / 4 + 4'096) + i);
  }
  KeyChoice choose_keys(const PhaseThread& thread) const {
    const auto& options = context_.options;
    const auto seed = options.seed + thread.index() * 1000 + thread.phase().number;
    return KeyChoice(distribution_, records_, seed, options.zipf);
  }
  static void check(PhaseThread& thread, std::uint64_t key,
                    const std::optional<std::uint64_t>& value) {
    if (!value || !is_value_of(*value, key)) thread.wrong("key " + std::to_string(key));
  }

  // Closes, opens, and looks a key up: what was left to the first access is a part of it.
  Status open(PhaseThread& thread) {
    Status status;
    HF_RETURN_IF_ERROR(blocks::timed_loop(thread, 1, 1, 0, [&](std::uint64_t i) {
      if (status) status = adapter_->reopen();
      if (!status) return thread.wrong("it cannot be opened");
      const auto key = key_of(i * 7'919 % records_);
      check(thread, key, Session(*adapter_).find(key));
    }));
    return status;
  }
  Status mixed(PhaseThread& thread, Session& session, const KeyChoice& choice,
               unsigned update_percent) {
    return blocks::timed_loop(thread, kChunk, 1, 16, [&](std::uint64_t i) {
      const auto key = choice.key(i);
      if (i % 100 >= update_percent)
        check(thread, key, session.find(key));
      else if (!session.update(key, value_of(key, i)))
        thread.wrong("key " + std::to_string(key) + " was not updated");
    });
  }
  // Keys that it inserts are new, those of the others are drawn.
  Status mixed_as_asked(PhaseThread& thread, Session& session, const KeyChoice& choice) {
    std::uint64_t inserted = 0;
    const auto status = blocks::timed_loop(thread, kChunk, 1, 16, [&](std::uint64_t i) {
      const auto operation = mix_.at(i);
      const auto key = operation == MixedOperation::kInsert ? new_key(thread.index(), inserted++)
                                                            : choice.key(i);
      if (operation == MixedOperation::kFind)
        check(thread, key, session.find(key));
      else if (operation == MixedOperation::kUpdate ? !session.update(key, value_of(key, i))
                                                    : !session.insert(key, value_of(key)))
        thread.wrong("key " + std::to_string(key) + " was not updated or inserted");
    });
    inserted_[thread.index()] = inserted;
    return status;
  }
  Status scan(PhaseThread& thread, Session& session, const KeyChoice& choice) {
    return blocks::timed_loop(thread, 1, 1, kScanned * 16, [&](std::uint64_t i) {
      auto last = choice.key(i);
      unsigned seen = 0;
      bool right = true;
      const auto done = session.scan(last, [&](std::uint64_t key, std::uint64_t value) {
        right &= (seen == 0 ? key == last : key > last) && is_value_of(value, key);
        last = key;
        return ++seen < kScanned;
      });
      // Fewer are right at the end of the keys only. The key it starts from is there.
      const bool all = seen == kScanned || (seen > 0 && last >= greatest_key_);
      if (!done || !right || !all) thread.wrong("a scan from key " + std::to_string(choice.key(i)));
    });
  }
  Status insert(PhaseThread& thread, Session& session) {
    const auto status = blocks::timed_loop(thread, kChunk, 1, 16, [&](std::uint64_t i) {
      const auto key = new_key(thread.index(), i);
      if (!session.insert(key, value_of(key)))
        thread.wrong("key " + std::to_string(key) + " was not inserted");
    });
    inserted_[thread.index()] = thread.operations;
    return status;
  }

  Status find_many(PhaseThread& thread, Session& session) {
    const auto choice = choose_keys(thread);
    std::array<std::uint64_t, kGroup> keys;
    std::array<std::optional<std::uint64_t>, kGroup> values;
    return blocks::timed_loop(thread, 1, kGroup, kGroup * 16, [&](std::uint64_t call) {
      for (unsigned i = 0; i < kGroup; ++i)
        keys[i] = choice.key(call * kGroup + i);
      if (!session.find_many(keys, values)) thread.wrong("find_many failed");
      for (unsigned i = 0; i < kGroup; ++i)
        check(thread, keys[i], values[i]);
    });
  }
  Status insert_many(PhaseThread& thread, Session& session) {
    std::array<typename Adapter::Record, kGroup> records;
    std::array<Errc, kGroup> outcomes;
    const auto status = blocks::timed_loop(thread, 1, kGroup, kGroup * 16, [&](std::uint64_t call) {
      for (unsigned i = 0; i < kGroup; ++i) {
        const auto key = new_key(thread.index(), call * kGroup + i);
        records[i] = {key, value_of(key)};
      }
      if (!session.insert_many(records, outcomes)) thread.wrong("insert_many failed");
      for (const auto outcome : outcomes) {
        if (outcome != Errc::kOk) thread.wrong("a key was not inserted");
      }
    });
    inserted_[thread.index()] = thread.operations;
    return status;
  }

  const Distribution distribution_;
  const Mix mix_;  // With no shares: none was asked for.
  const std::uint64_t records_;
  std::uint64_t greatest_key_ = 0;  // Of those filled in.
  const RecordSizes sizes_;
  std::optional<Adapter> adapter_;
  std::array<std::uint64_t, 64> inserted_{};  // By thread, in the last phase.
};

}  // namespace holdfast::bench::index
