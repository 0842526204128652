// Our own store, as anybody would use it: the public interface of kv/store.hpp and nothing else.
#include <cstring>
#include <filesystem>
#include <optional>

#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/kv/store.hpp>

namespace holdfast::bench::kv {
namespace {

namespace store = holdfast::kv;

class HoldfastSession {
 public:
  HoldfastSession(store::Store<>& store, const Records& records) : store_(store), records_(records) {}

  bool put(const Key& key, ValueView value) { return note(store_.put(key.view(), value.view())); }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    views(keys, count);
    value_views_.resize(count);
    for (unsigned i = 0; i < count; ++i) value_views_[i] = values[i].view();
    return note(store_.put_many(keys_, value_views_));
  }
  std::uint32_t get(const Key& key, std::byte* out) {
    const auto size = store_.get(key.view(), std::span(out, records_.value_stride()));
    return size ? static_cast<std::uint32_t>(*size) : kAbsent;
  }
  bool get_many(const Key* keys, unsigned count, std::byte*, std::size_t, ValueView* values) {
    views(keys, count);
    values_.resize(count);
    outcomes_.resize(count);
    if (!note(store_.get_many(keys_, values_, outcomes_))) return false;
    for (unsigned i = 0; i < count; ++i) {
      const auto& value = values_[i];
      values[i] = {reinterpret_cast<const std::byte*>(value.data()),
                   outcomes_[i] == Errc::kOk ? static_cast<std::uint32_t>(value.size()) : kAbsent};
    }
    return true;
  }
  bool update8(const Key& key, std::uint64_t stamp) {
    return note(store_.update_word(key.view(), 0, [stamp](std::uint64_t word) { return stamped(word, stamp); }));
  }
  bool erase(const Key& key) {
    const auto erased = store_.erase(key.view());
    return note(erased) && *erased;
  }
  std::string error() const { return error_.empty() ? "the key is not there" : error_; }

 private:
  template <class T>
  bool note(const Result<T>& result) {
    if (result) [[likely]] return true;
    error_ = result.error().message();
    return false;
  }
  void views(const Key* keys, unsigned count) {
    keys_.resize(count);
    for (unsigned i = 0; i < count; ++i) keys_[i] = keys[i].view();
  }

  store::Store<>& store_;
  const Records& records_;
  std::vector<std::string_view> keys_, value_views_;
  std::vector<std::string> values_;
  std::vector<Errc> outcomes_;
  std::string error_;
};

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
    store::StoreOptions options;
    options.access = opening == Opening::kExisting ? RegionAccess::kOpen : RegionAccess::kOpenOrCreate;
    options.patchable_words = {0};
    options.prefault = true;
    options.reclaim.background = context_.background_reclaim;
    options.recovery_threads = context_.recovery_threads;
    if (opening == Opening::kPlanned) {
      const auto record = round_up(std::uint64_t{56} + records_.max_key_bytes() + records_.max_value_bytes(), 32);
      const auto records = context_.records + context_.records / 3 + context_.planned_new_records;
      options.initial_bytes = round_up(records * record, options.segment_bytes);
    }
    if (context_.promise == Promise::kPower) options.durability = store::Durability::kPower;
    if (context_.promise == Promise::kProcess) options.durability = store::Durability::kProcess;
    auto opened = store::Store<>::open(place_, options);
    if (!opened) return std::move(opened).error();
    store_.emplace(std::move(*opened));
    return {};
  }
  Status reserve(std::uint64_t, std::uint64_t) { return {}; }
  Status settle() { return {}; }
  Status reclaim() { return store_->reclaim(); }
  Status close() {
    if (!store_) return {};
    auto status = store_->close();
    store_.reset();
    return status;
  }
  void remove() {
    store_.reset();
    const auto path = place_.substr(0, place_.find('?'));
    if (!path.starts_with("/") || path.starts_with("/dev/dax")) return;
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  // What the file system gave, segments that are not full included; on a device what is in use.
  std::uint64_t medium_bytes() const {
    const auto allocated = allocated_bytes(place_.substr(0, place_.find('?')));
    return allocated != 0 ? allocated : store_->stats().used_bytes;
  }
  bool persist_total(PersistCounts& counts) const {
    if (!store_) return false;
    const auto stats = store_->stats();
    counts.fences = stats.fences;
    counts.lines_written_back = stats.lines_written_back;
    return true;
  }
  Fields facts() const {
    auto facts = region_facts(store_->region_report(), context_.promise);
    const auto stats = store_->stats();
    facts.set("dram_index_bytes_per_record", static_cast<double>(stats.dram_index_bytes) / static_cast<double>(context_.records));
    facts.set("settings", "Store<>, word 0 of the value patchable, prefaulted, background reclamation on");
    return facts;
  }
  HoldfastSession session(unsigned) { return {*store_, records_}; }

 private:
  const Context& context_;
  const Records& records_;
  const std::string place_;
  std::optional<store::Store<>> store_;
};

}  // namespace

SubjectKind holdfast_kind() { return kind_of<HoldfastStore>("holdfast"); }

}  // namespace holdfast::bench::kv
