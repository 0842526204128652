// libpmem (PMDK 1.12) in suite pmdk, on the region's own memory: its functions take any address.
#include <libpmem.h>

#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>
#include <holdfast/peers/blocks/pmdk_bytes.hpp>

namespace holdfast::bench::blocks {
namespace {

using O = ByteOperation;

struct LibpmemCalls : ByteCalls {
  explicit LibpmemCalls(StoreHint hint)
      : hint_(hint),
        flags_(hint == StoreHint::kNone       ? 0u
               : hint == StoreHint::kTemporal ? PMEM_F_MEM_TEMPORAL
                                              : PMEM_F_MEM_NONTEMPORAL) {}
  Status open(const Context& context, const ByteShape&) { return check_pmdk_environment(context); }
  bool has(O operation) const {
    return operation != O::kMemcpy && operation != O::kMemset && operation != O::kUnknown;
  }
  results::Fields facts(const Context& context) const {
    static constexpr const char* kNames[] = {"", "PMEM_F_MEM_TEMPORAL", "PMEM_F_MEM_NONTEMPORAL"};
    results::Fields facts;
    facts.set("flags", kNames[static_cast<int>(hint_)]);
    add_pmdk_facts(facts, context);
    return facts;
  }
  bool flush(std::byte* to, std::size_t bytes) const { return ::pmem_flush(to, bytes), true; }
  bool persist(std::byte* to, std::size_t bytes) const { return ::pmem_persist(to, bytes), true; }
  bool deep_persist(std::byte* to, std::size_t bytes) const {
    return ::pmem_deep_persist(to, bytes) == 0;
  }
  bool msync(std::byte* to, std::size_t bytes) const { return ::pmem_msync(to, bytes) == 0; }
  void copy_nodrain(std::byte* to, const std::byte* from, std::size_t bytes) const {
    ::pmem_memcpy(to, from, bytes, flags_ | PMEM_F_MEM_NODRAIN);
  }
  void copy_persist(std::byte* to, const std::byte* from, std::size_t bytes) const {
    ::pmem_memcpy(to, from, bytes, flags_);
  }
  void set_nodrain(std::byte* to, unsigned char byte, std::size_t bytes) const {
    ::pmem_memset(to, byte, bytes, flags_ | PMEM_F_MEM_NODRAIN);
  }
  void set_persist(std::byte* to, unsigned char byte, std::size_t bytes) const {
    ::pmem_memset(to, byte, bytes, flags_);
  }
  void drain() const { ::pmem_drain(); }

 private:
  StoreHint hint_;
  unsigned flags_;
};

SubjectEntry entry(const Context& context, const ByteShape& shape) {
  return byte_entry(libpmem_name(shape.hint), context, shape, LibpmemCalls(shape.hint));
}

const modules::Offer offer{"libpmem", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
