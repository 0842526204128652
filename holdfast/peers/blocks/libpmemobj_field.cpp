// libpmemobj (PMDK 1.12) in suite field: a transaction that takes a snapshot of the field and
// overwrites it.
#include <libpmemobj.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include <holdfast/bench/blocks/field_suite.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

namespace holdfast::bench::blocks {
namespace {

template <std::uint32_t kFieldBytes>
class Libpmemobj : public FieldAccessDefaults {
 public:
  static constexpr std::uint32_t kBytes = kFieldBytes;
  static constexpr std::uint64_t kStrideBytes = (kBytes + 63) / 64 * 64;
  static constexpr bool kCountsPersists = false;
  using Value = FieldValue<kBytes>;

  Libpmemobj(const Context& context, const FieldShape& shape)
      : context_(context), shape_(shape), path_(context.peer_directory + "/fields.pmemobj") {}
  ~Libpmemobj() { destroy(); }
  Status create() {
    HF_RETURN_IF_ERROR(check_pmdk_environment(context_));
    const auto bytes = shape_.fields * kStrideBytes + kCacheLineBytes;
    pool_ = ::pmemobj_create(path_.c_str(), "fields", bytes + bytes / 8 + 32 * MiB, 0600);
    if (pool_ == nullptr)
      return Error{Errc::kIo, "pmemobj_create " + path_ + ": " + ::pmemobj_errormsg()};
    pages_.obtain(context_, pool_, bytes + bytes / 8 + 32 * MiB);
    const auto root = ::pmemobj_root(pool_, bytes);
    if (OID_IS_NULL(root))
      return Error{Errc::kIo, std::string("pmemobj_root: ") + ::pmemobj_errormsg()};
    // Fields on lines of their own, as everybody else's.
    const auto address = reinterpret_cast<std::uintptr_t>(::pmemobj_direct(root));
    fields_ = reinterpret_cast<std::byte*>(round_up(address, kCacheLineBytes));
    return {};
  }
  void destroy() {
    if (pool_ == nullptr) return;
    ::pmemobj_close(std::exchange(pool_, nullptr));
    ::unlink(path_.c_str());
  }
  void add_facts(results::Fields& facts) const {
    add_pmdk_facts(facts, context_);
    pages_.add_facts(facts);
  }
  void set(std::uint64_t index, const Value& value) {
    std::memcpy(place(index), &value, sizeof value);
  }
  void settle() { ::pmemobj_persist(pool_, fields_, shape_.fields * kStrideBytes); }
  // Without the macros, which set up a jump for an abort on each transaction.
  Status update(unsigned, std::uint64_t index, const Value& value) {
    if (::pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE) != 0) return failed("begin");
    const bool snapshot = ::pmemobj_tx_add_range_direct(place(index), sizeof value) == 0;
    if (snapshot) {
      std::memcpy(place(index), &value, sizeof value);
      ::pmemobj_tx_commit();
    }
    return ::pmemobj_tx_end() == 0 && snapshot ? Status() : failed("add_range");
  }
  Value read(std::uint64_t index) const {
    Value value;
    std::memcpy(&value, place(index), sizeof value);
    return value;
  }

 private:
  static Error failed(const char* what) {
    return {Errc::kIo, std::string("pmemobj_tx_") + what + ": " + ::pmemobj_errormsg()};
  }
  std::byte* place(std::uint64_t index) const { return fields_ + index * kStrideBytes; }

  const Context& context_;
  const FieldShape shape_;
  const std::string path_;
  PMEMobjpool* pool_ = nullptr;
  PoolPages pages_;
  std::byte* fields_ = nullptr;
};

SubjectEntry entry(const Context& context, const FieldShape& shape) {
  switch (shape.field_bytes) {
#define HF_ENTRY(size) \
  case size: return field_entry<Libpmemobj<size>>("libpmemobj", context, shape);
    HF_FIELD_SIZES(HF_ENTRY)
#undef HF_ENTRY
  }
  return {"libpmemobj", {}, "no such size"};
}

const modules::Offer offer{"libpmemobj", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
