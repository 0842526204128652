// holdfast_store.hpp: how the subjects of our own, bytes and typed, open, close and weigh a store,
// and what they do with it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/bench/kv/rest.hpp>
#include <holdfast/bench/kv/scans.hpp>
#include <holdfast/bench/kv/steady.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/kv/store.hpp>
#include <holdfast/memory/spec.hpp>

namespace holdfast::bench::kv {

// The verbs of a store of ours. `Form` says how it takes keys and values:
//   Form::Key, Form::Value                      as put_many() takes them, each made by
//   Form::of(const Key&), Form::of(ValueView)   as put() takes one
//   Form::Found                                 what get_many() gives
//   std::uint32_t Form::get(StoreType&, const Key&, std::span<std::byte> out)   as Session::get()
template <class StoreType, class Form>
class OwnSession {
 public:
  OwnSession(StoreType& store, const Records& records) : store_(store), records_(records) {}

  bool put(const Key& key, ValueView value) {
    return note(store_.put(Form::of(key), Form::of(value)));
  }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    take_keys(keys, count);
    values_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      values_[i] = Form::of(values[i]);
    return note(store_.put_many(keys_, values_));
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    return Form::get(store_, key, std::span(out, records_.value_stride()));
  }
  bool get_many(const Key* keys, unsigned count, std::byte*, std::size_t, ValueView* values) {
    take_keys(keys, count);
    found_.resize(count);
    outcomes_.resize(count);
    if (!note(store_.get_many(keys_, found_, outcomes_))) return false;
    for (unsigned i = 0; i < count; ++i) {
      const auto& value = found_[i];
      values[i] = {reinterpret_cast<const std::byte*>(value.data()),
                   outcomes_[i] == Errc::kOk ? static_cast<std::uint32_t>(value.size()) : kAbsent};
    }
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    return note(store_.update_word(Form::of(key), 0,
                                   [stamp](std::uint64_t word) { return stamped(word, stamp); }));
  }
  bool erase(const Key& key) {
    const auto erased = store_.erase(Form::of(key));
    return note(erased) && *erased;
  }
  std::string error() const { return error_.empty() ? "the key is not there" : error_; }

 protected:
  template <class T>
  bool note(const Result<T>& result) {
    if (result) [[likely]]
      return true;
    error_ = result.error().message();
    return false;
  }

 private:
  void take_keys(const Key* keys, unsigned count) {
    keys_.resize(count);
    for (unsigned i = 0; i < count; ++i)
      keys_[i] = Form::of(keys[i]);
  }

  StoreType& store_;
  const Records& records_;
  std::vector<typename Form::Key> keys_;
  std::vector<typename Form::Value> values_;
  std::vector<typename Form::Found> found_;
  std::vector<Errc> outcomes_;
  std::string error_;
};

// StoreType: Store<> or Store<K, V>; Session: made from it and the Records.
template <class StoreType, class Session>
class HoldfastStore {
 public:
  static constexpr bool kKeepsFiles = true;
  static constexpr bool kReclaims = true;
  static constexpr bool kCountsPersists = true;
  static constexpr std::size_t kLoadBatch = 64;

  HoldfastStore(const Context& context, const Records& records, const std::string& name)
      : context_(context), records_(records), place_(place_of(context, name)) {}

  bool supports(const std::string&) const { return true; }
  Status open(Opening opening) {
    holdfast::kv::StoreOptions options;
    planned_ = opening == Opening::kPlanned;
    options.access =
        opening == Opening::kExisting ? RegionAccess::kOpen : RegionAccess::kOpenOrCreate;
    options.patchable_words = {0};
    options.order = ScansInOrder<Session>;
    // What is timed of an existing store is how soon it serves; a first touch then costs its user.
    options.prefault = opening != Opening::kExisting;
    options.reclaim.background = context_.background_reclaim;
    options.reclaim.space_amplification = context_.space_goal;
    options.recovery_threads = context_.recovery_threads;
    if (opening == Opening::kPlanned) {
      const auto record =
          round_up(std::uint64_t{56} + records_.max_key_bytes() + records_.max_value_bytes(), 32);
      const auto records = context_.records + context_.records / 3 + context_.planned_new_records;
      options.initial_bytes = round_up(records * record, options.segment_bytes);
    }
    if (context_.promise == Promise::kPower) options.durability = holdfast::kv::Durability::kPower;
    if (context_.promise == Promise::kProcess)
      options.durability = holdfast::kv::Durability::kProcess;
    if (opening != Opening::kExisting && place_.starts_with("/dev/dax"))
      HF_RETURN_IF_ERROR(wipe_device());
    auto opened = StoreType::open(place_, options);
    if (!opened) return std::move(opened).error();
    store_.emplace(std::move(*opened));
    return {};
  }
  Status reserve(std::uint64_t records, std::uint64_t) {
    return planned_ ? store_->reserve(records) : Status();
  }
  // Reclamation of what was superseded goes on behind the phase that did it.
  Status settle() {
    if (!context_.background_reclaim) return {};
    AtRest rest;
    rest.counters = [this]() -> std::vector<std::uint64_t> {
      const auto now = store_->stats();
      return {now.reclaimed_blocks, now.relocated_bytes, now.tombstones_dropped,
              now.medium_bytes,     now.free_blocks,     now.open_blocks};
    };
    rest.nothing_left = [this] {
      const auto now = store_->stats();
      return static_cast<double>(now.used_bytes) <=
             context_.space_goal * static_cast<double>(now.live_bytes);
    };
    return wait_until_at_rest(rest);
  }
  SpaceUse space() const {
    const auto now = store_->stats();
    return {now.records, now.live_bytes, now.used_bytes, now.relocated_bytes};
  }
  Status reclaim() { return store_->reclaim(); }
  Status close() {
    if (!store_) return {};
    auto status = store_->close();
    store_.reset();
    return status;
  }
  void remove() {
    store_.reset();
    const auto path = parts_of(place_).place;
    if (!path.starts_with("/") || path.starts_with("/dev/dax")) return;
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  bool reopens() const {
    return !context_.base.empty();
  }  // Anonymous memory is gone when it is closed.
  // What the file system gave, segments that are not full included; on a device what is in use.
  std::uint64_t medium_bytes() const {
    const auto allocated = allocated_bytes(parts_of(place_).place);
    return allocated != 0 ? allocated : store_->stats().used_bytes;
  }
  bool persist_total(PersistCounts& counts) const {
    if (!store_) return false;
    const auto stats = store_->stats();
    counts.fences = stats.fences;
    counts.lines_written_back = stats.lines_written_back;
    return true;
  }
  results::Fields facts() const {
    auto facts = region_facts(store_->region_report(), context_.promise);
    const auto stats = store_->stats();
    facts.set("dram_index_bytes_per_record",
              static_cast<double>(stats.dram_index_bytes) / static_cast<double>(context_.records));
    facts.set(
        "settings",
        "word 0 of the value patchable, prefaulted, index reserved, background reclamation on");
    return facts;
  }
  Session session(unsigned) { return {*store_, records_}; }

 private:
  // A device holds what the subject before left on it, and a store is only created on zeros. The
  // user has agreed: --erase-device.
  Status wipe_device() const {
    HF_ASSIGN_OR_RETURN(auto region, Region::open(place_));
    const std::vector<std::byte> zeros(64 * MiB);
    for (std::uint64_t at = 0; at < region.size_bytes(); at += zeros.size()) {
      HF_RETURN_IF_ERROR(region.write(at, std::span(zeros).first(std::min<std::uint64_t>(
                                              zeros.size(), region.size_bytes() - at))));
    }
    return region.sync();
  }

  const Context& context_;
  const Records& records_;
  const std::string place_;
  std::optional<StoreType> store_;
  bool planned_ = false;
};

}  // namespace holdfast::bench::kv
