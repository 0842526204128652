#include <holdfast/kv/store.hpp>

#include <algorithm>
#include <utility>

#include <holdfast/kv/read_verbs.hpp>
#include <holdfast/kv/region_options.hpp>
#include <holdfast/kv/store_core.hpp>
#include <holdfast/kv/verify.hpp>
#include <holdfast/kv/write_verbs.hpp>

namespace holdfast::kv {

// ---- A closed store ----

namespace {

Error is_closed() { return {Errc::kClosed, "the store was closed, or moved from; open it again"}; }

template <class T, class... Arguments>
RawResult<T> refuse(HotVerbs&, Arguments...) {
  return Result<T>(is_closed()).raw();
}
template <class T, class... Arguments>
RawResult<T> refuse_child(HotVerbs&, Arguments...) {
  return Result<T>(WriteGate::refusal_to_child()).raw();
}

}  // namespace

constinit HotVerbs closed_verbs = {&refuse, &refuse, &refuse, &refuse, &refuse, &refuse};
constinit HotVerbs parents_verbs = {&refuse_child, &refuse_child, &refuse_child,
                                    &refuse_child, &refuse_child, &refuse_child};

// ---- Pinned ----

Pinned::Pinned(Pinned&& other) noexcept
    : pins_(std::exchange(other.pins_, nullptr)),
      copy_(std::move(other.copy_)),
      value_(std::exchange(other.value_, {})),
      version_(other.version_) {}
Pinned& Pinned::operator=(Pinned&& other) noexcept {
  Pinned ends(std::move(*this));  // Of what this held.
  pins_ = std::exchange(other.pins_, nullptr);
  copy_ = std::move(other.copy_);
  value_ = std::exchange(other.value_, {});
  version_ = other.version_;
  return *this;
}
Pinned::~Pinned() {
  if (pins_ != nullptr) pins_->fetch_sub(1, std::memory_order_release);
}

// ---- StoreBase ----

StoreBase::StoreBase(StoreCorePointer core) : core_(std::move(core)), verbs_(core_.get()) {}
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
StoreCore* StoreBase::core() const {
  return core_ && !core_->rooms.gate.is_parents_alone() ? core_.get() : nullptr;
}
Error StoreBase::closed() const { return core_ ? core_->rooms.gate.refusal() : is_closed(); }
std::uint64_t StoreBase::count() const { return core() ? core()->count() : 0; }
Status StoreBase::sync() {
  if (!core()) return closed();
  return core_->sync();
}
Version StoreBase::durable_up_to() const { return core() ? core()->durable_up_to() : 0; }
StoreStats StoreBase::stats() const { return core() ? core()->stats() : StoreStats{}; }
Status StoreBase::sample_latencies(std::uint32_t one_in) {
  if (!core()) return closed();
  core_->sample_latencies(one_in);
  return {};
}
Latencies StoreBase::latencies() const {
  return core() ? core()->latencies.snapshot() : Latencies{};
}
const RecoveryReport& StoreBase::recovery() const {
  static const RecoveryReport nothing;
  return core() ? core()->recovery() : nothing;
}
RegionReport StoreBase::region_report() const {
  return core() ? core()->rooms.medium.region().report() : RegionReport{};
}
Status StoreBase::reserve(std::uint64_t records) {
  if (!core()) return closed();
  if (core_->rooms.inside())
    return Error{Errc::kBusy, "a verb that is under way has called this; reserve later"};
  return core_->reserve(records);
}
Status StoreBase::reclaim() {
  if (!core()) return closed();
  if (core_->rooms.inside())
    return Error{Errc::kBusy, "a verb that is under way has called this; reclaim later"};
  return core_->maintenance.reclaim();
}
VerifyReport StoreBase::verify() const {
  return core() ? core()->verify() : nothing_verified(closed());
}
Status StoreBase::close() {
  if (!core_) return {};
  Status status;
  if (!core()) {
    status = closed();  // It stays open in the parent.
  } else {
    HF_RETURN_IF_ERROR(core_->may_close());
    status = core_->close();
  }
  verbs_ = &closed_verbs;
  core_.reset();
  return status;
}
bool StoreBase::read_only() const { return !core() || core_->rooms.gate.read_only(); }
Durability StoreBase::durability() const {
  return core() ? core()->rooms.options.durability : Durability::kProcess;
}

// ---- The verbs on bytes ----

// The hot ones end in a jump to what was compiled for this CPU and this medium.
// The durability of the store is what its hot verbs give.
Result<PutOutcome> StoreBase::put_with(std::string_view key, std::string_view value,
                                       WriteOptions options) {
  if (options.durability == durability()) return put_bytes(key, value, {});
  if (!core()) return closed();
  return core_->writes.put<AnyPath>(bytes_of(key), bytes_of(value), options);
}
Result<bool> StoreBase::erase_with(std::string_view key, WriteOptions options) {
  if (options.durability == durability()) return erase_bytes(key, {});
  if (!core()) return closed();
  return core_->writes.erase<AnyPath>(bytes_of(key), options);
}
Result<std::uint64_t> StoreBase::update_word_with(std::string_view key, std::uint32_t offset_bytes,
                                                  WordChange change, WriteOptions options) {
  if (options.durability == durability()) return update_word_of(key, offset_bytes, change, {});
  if (!core()) return closed();
  return core_->writes.update_word<AnyPath>(bytes_of(key), offset_bytes, change, options);
}

Result<Version> StoreBase::put_bytes_if_absent(std::string_view key, std::string_view value,
                                               WriteOptions options) {
  if (!core()) return closed();
  return core_->writes.put_if(bytes_of(key), bytes_of(value), Writes::Condition::kAbsent, 0,
                              options);
}
Result<Version> StoreBase::put_bytes_if_version(std::string_view key, Version expected,
                                                std::string_view value, WriteOptions options) {
  if (!core()) return closed();
  return core_->writes.put_if(bytes_of(key), bytes_of(value), Writes::Condition::kVersion, expected,
                              options);
}
Result<Pinned> StoreBase::get_bytes_pinned(std::string_view key) const {
  if (!core()) return closed();
  return core_->reads.get_pinned(bytes_of(key));
}

Result<Version> StoreBase::update_bytes(std::string_view key,
                                        FunctionRef<void(std::string&)> change, bool fixed_size,
                                        WriteOptions options) {
  if (!core()) return closed();
  return core_->writes.update(bytes_of(key), change, fixed_size, options);
}
Result<Version> StoreBase::merge_bytes(std::string_view key, MergeFunction function,
                                       std::string_view operand, WriteOptions options) {
  if (!core()) return closed();
  return core_->merges.merge(bytes_of(key), bytes_of(operand), function, options);
}
Result<Version> StoreBase::write_batch(const WriteBatch& batch, WriteOptions options) {
  if (!core()) return closed();
  if (!batch.spaces().empty()) return core_->keyspaces.write(batch, options);
  return core_->batches.write(batch, options);
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

}  // namespace holdfast::kv
