#include <holdfast/kv/store.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/kv/store_verbs.hpp>

namespace holdfast::kv {
namespace {

// Never of address null: what follows copies and compares also where there is nothing.
std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data() == nullptr ? std::string_view("") : text));
}

Error empty_snapshot() {
  return {Errc::kClosed, "the snapshot was moved from, or its store closed; take another"};
}

RegionOptions region_options(const StoreOptions& options) {
  RegionOptions region;
  region.access = options.access;
  region.unit_bytes = options.segment_bytes;
  region.size_bytes = std::max(options.initial_bytes, options.segment_bytes);
  // Up to whole segments, but not beyond those that max_bytes leaves room for.
  const std::uint64_t segments = std::min((region.size_bytes - 1) / options.segment_bytes + 1,
                                          options.max_bytes / options.segment_bytes);
  region.size_bytes = segments * options.segment_bytes;
  region.reserve_bytes = options.max_bytes / kPageBytes * kPageBytes;
  region.prefault = options.prefault;
  region.tolerate_damage = options.access == RegionAccess::kOpenReadOnly;
  return region;
}

}  // namespace

void StoreCoreDeleter::operator()(StoreCore* core) const {
  // It has threads to join and locks to take that are not in this process: it is left as it is.
  if (core->left_to_parent()) return;
  delete core;
}

StoreCore::~StoreCore() { (void)close(); }

// ---- Pinned, Snapshot ----

Pinned::Pinned(Pinned&& other) noexcept
    : run_(std::exchange(other.run_, nullptr)),
      copy_(std::move(other.copy_)),
      value_(std::exchange(other.value_, {})),
      version_(other.version_) {}
Pinned& Pinned::operator=(Pinned&& other) noexcept {
  if (this != &other) {
    unpin();
    run_ = std::exchange(other.run_, nullptr);
    copy_ = std::move(other.copy_);
    value_ = std::exchange(other.value_, {});
    version_ = other.version_;
  }
  return *this;
}
Pinned::~Pinned() { unpin(); }
void Pinned::unpin() {
  if (run_ != nullptr) std::exchange(run_, nullptr)->pins.fetch_sub(1, std::memory_order_release);
}

Snapshot::Snapshot(Snapshot&& other) noexcept
    : core_(std::exchange(other.core_, nullptr)), version_(other.version_) {}
Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
  if (this != &other) {
    if (core_ != nullptr) core_->release_snapshot(version_);
    core_ = std::exchange(other.core_, nullptr);
    version_ = other.version_;
  }
  return *this;
}
Snapshot::~Snapshot() {
  if (core_ != nullptr) core_->release_snapshot(version_);
}
Result<Version> Snapshot::get(std::string_view key, std::string& value) const {
  if (core_ == nullptr) return empty_snapshot();
  return core_->snapshot_get(version_, bytes(key), value);
}
Status Snapshot::for_each(
    const std::function<bool(std::string_view, std::string_view, Version)>& visit) const {
  if (core_ == nullptr) return empty_snapshot();
  return core_->snapshot_for_each(version_, visit);
}
std::uint64_t Snapshot::count() const {
  std::uint64_t records = 0;
  if (core_ == nullptr) return records;
  (void)core_->snapshot_for_each(
      version_, [&](std::string_view, std::string_view, Version) { return ++records, true; });
  return records;
}

// ---- StoreBase ----

StoreBase::StoreBase(StoreCorePointer core) : core_(std::move(core)) {}
Result<StoreCorePointer> StoreBase::open_core(std::string_view spec, const StoreOptions& options,
                                              RecordShape shape) {
  HF_RETURN_IF_ERROR(options.validate());
  HF_ASSIGN_OR_RETURN(Region region, Region::open(spec, region_options(options)));
  return StoreCore::open(std::move(region), options, shape);
}
Result<StoreCorePointer> StoreBase::open_core(Region region, const StoreOptions& options,
                                              RecordShape shape) {
  return StoreCore::open(std::move(region), options, shape);
}
Error StoreBase::closed() {
  return {Errc::kClosed, "the store was closed, or moved from; open it again"};
}
std::uint64_t StoreBase::count() const { return core_ ? core_->count() : 0; }
Status StoreBase::sync() {
  if (!core_) return closed();
  return core_->sync();
}
Version StoreBase::durable_up_to() const { return core_ ? core_->durable_up_to() : 0; }
Snapshot StoreBase::snapshot() { return core_ ? core_->snapshot() : Snapshot(); }
StoreStats StoreBase::stats() const { return core_ ? core_->stats() : StoreStats{}; }
const RecoveryReport& StoreBase::recovery() const {
  static const RecoveryReport nothing;
  return core_ ? core_->recovery() : nothing;
}
RegionReport StoreBase::region_report() const {
  return core_ ? core_->region_report() : RegionReport{};
}
Status StoreBase::reserve(std::uint64_t records) {
  if (!core_) return closed();
  return core_->reserve(records);
}
Status StoreBase::reclaim() {
  if (!core_) return closed();
  return core_->reclaim();
}
VerifyReport StoreBase::verify() const {
  if (core_) return core_->verify();
  VerifyReport nothing_read;
  nothing_read.defects = {{0, closed().message()}};
  nothing_read.defects_total = 1;
  return nothing_read;
}
Status StoreBase::close() {
  if (!core_) return {};
  if (const std::uint64_t open = core_->snapshots_open(); open != 0) {
    return Error{Errc::kBusy, std::to_string(open) + " snapshots of the store are open; let " +
                                  "them go, then close it"};
  }
  Status status = core_->close();
  core_.reset();
  return status;
}
bool StoreBase::read_only() const { return !core_ || core_->read_only(); }
Durability StoreBase::durability() const {
  return core_ ? core_->default_durability() : Durability::kProcess;
}

// ---- Store<> ----

Result<Store<>> Store<>::open(std::string_view spec, const StoreOptions& options) {
  HF_ASSIGN_OR_RETURN(auto core, open_core(spec, options, {}));
  return Store(std::move(core));
}
Result<Store<>> Store<>::open(Region region, const StoreOptions& options) {
  HF_ASSIGN_OR_RETURN(auto core, open_core(std::move(region), options, {}));
  return Store(std::move(core));
}
[[gnu::flatten]] Result<PutOutcome> Store<>::put(std::string_view key, std::string_view value,
                                                 WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->put(bytes(key), bytes(value), options);
}
Result<Version> Store<>::put_if_absent(std::string_view key, std::string_view value,
                                       WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->put_if(bytes(key), bytes(value), StoreCore::Condition::kAbsent, 0, options);
}
Result<Version> Store<>::compare_and_put(std::string_view key, Version expected,
                                         std::string_view value, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->put_if(bytes(key), bytes(value), StoreCore::Condition::kVersion, expected, options);
}
Result<Version> Store<>::get(std::string_view key, std::string& value) const {
  if (!core_) [[unlikely]]
    return closed();
  return core_->get(bytes(key),
                    [&](const RecordView& record) { core_->copy_value(record, value); });
}
[[gnu::flatten]] Result<std::uint64_t> Store<>::get(std::string_view key,
                                                    std::span<std::byte> buffer) const {
  if (!core_) [[unlikely]]
    return closed();
  std::uint64_t length = 0;
  HF_RETURN_IF_ERROR(core_->get(bytes(key), [&](const RecordView& record) {
    length = record.value_bytes();
    if (!buffer.empty())  // An empty span may have no address.
      core_->copy_value(record, buffer.data(), std::min<std::uint64_t>(length, buffer.size()));
  }));
  return length;
}
Result<Pinned> Store<>::get_pinned(std::string_view key) const {
  if (!core_) [[unlikely]]
    return closed();
  return core_->get_pinned(bytes(key));
}
Status Store<>::get_many(std::span<const std::string_view> keys, std::span<std::string> values,
                         std::span<Errc> outcomes) const {
  if (!core_) [[unlikely]]
    return closed();
  if (values.size() != keys.size() || outcomes.size() != keys.size()) {
    return Error{Errc::kInvalidOption, "get_many: " + std::to_string(keys.size()) + " keys, " +
                                           std::to_string(values.size()) + " values, " +
                                           std::to_string(outcomes.size()) +
                                           " outcomes; equally many are allowed"};
  }
  return core_->get_many(
      keys.size(), [&](std::size_t i) { return bytes(keys[i]); },
      [&](std::size_t i, const RecordView& record) { core_->copy_value(record, values[i]); },
      outcomes);
}
Status Store<>::put_many(std::span<const std::string_view> keys,
                         std::span<const std::string_view> values, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  if (values.size() != keys.size()) {
    return Error{Errc::kInvalidOption, "put_many: " + std::to_string(keys.size()) + " keys and " +
                                           std::to_string(values.size()) +
                                           " values; equally many are allowed"};
  }
  return core_->put_many(
      keys.size(), [&](std::size_t i) { return bytes(keys[i]); },
      [&](std::size_t i) { return bytes(values[i]); }, options);
}
Result<Version> Store<>::update(std::string_view key,
                                const std::function<void(std::string&)>& change,
                                WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->update(bytes(key), change, false, options);
}
[[gnu::flatten]] Result<std::uint64_t> Store<>::update_word(
    std::string_view key, std::uint32_t offset_bytes,
    FunctionRef<std::uint64_t(std::uint64_t)> change, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->update_word(bytes(key), offset_bytes, change, options);
}
[[gnu::flatten]] Result<bool> Store<>::erase(std::string_view key, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->erase(bytes(key), options);
}
Result<Version> Store<>::write(const WriteBatch& batch, WriteOptions options) {
  if (!core_) [[unlikely]]
    return closed();
  return core_->write(batch, options);
}

}  // namespace holdfast::kv
