// libpmem (PMDK 1.12) in suite field: the bytes in place and pmem_persist, on the same memory as
// everybody else. Like `fence` it is not failure-atomic: libpmem has nothing that is.
#include <libpmem.h>

#include <cstring>

#include <holdfast/bench/blocks/field_suite.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

namespace holdfast::bench::blocks {
namespace {

template <std::uint32_t kFieldBytes>
class Libpmem : public FieldAccessDefaults {
 public:
  static constexpr std::uint32_t kBytes = kFieldBytes;
  static constexpr std::uint64_t kStrideBytes = (kBytes + 63) / 64 * 64;
  static constexpr bool kCountsPersists = false;
  using Value = FieldValue<kBytes>;

  Libpmem(const Context& context, const FieldShape& shape) : context_(context), shape_(shape) {}
  Status create() { return check_pmdk_environment(context_); }
  void add_facts(results::Fields& facts) const { add_pmdk_facts(facts, context_); }
  void set(std::uint64_t index, const Value& value) {
    std::memcpy(place(index), &value, sizeof value);
  }
  void settle() { ::pmem_persist(context_.region.data(), shape_.fields * kStrideBytes); }
  Status update(unsigned, std::uint64_t index, const Value& value) {
    std::memcpy(place(index), &value, sizeof value);
    ::pmem_persist(place(index), sizeof value);
    return {};
  }
  Value read(std::uint64_t index) const {
    Value value;
    std::memcpy(&value, place(index), sizeof value);
    return value;
  }

 private:
  std::byte* place(std::uint64_t index) const {
    return context_.region.data() + index * kStrideBytes;
  }
  const Context& context_;
  const FieldShape shape_;
};

SubjectEntry entry(const Context& context, const FieldShape& shape) {
  switch (shape.field_bytes) {
#define HF_ENTRY(size) \
  case size: return field_entry<Libpmem<size>>("libpmem", context, shape);
    HF_FIELD_SIZES(HF_ENTRY)
#undef HF_ENTRY
  }
  return {"libpmem", {}, "no such size"};
}

const modules::Offer offer{"libpmem", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
