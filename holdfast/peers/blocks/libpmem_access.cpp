// libpmem (PMDK 1.12) in suite access: pmem_memcpy into the region, told which kind of store to
// use.
#include <libpmem.h>

#include <holdfast/bench/blocks/access_suite.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/peers/blocks/pmdk.hpp>

namespace holdfast::bench::blocks {
namespace {

class LibpmemWriter {
 public:
  static constexpr bool kCountsPersists = false;
  LibpmemWriter(const Context& context, const AccessShape& shape)
      : context_(context),
        flags_((shape.flush == memory::Flush::kNonTemporal ? PMEM_F_MEM_NONTEMPORAL
                                                           : PMEM_F_MEM_TEMPORAL) |
               (shape.fence ? 0u : PMEM_F_MEM_NODRAIN)) {}
  Status ready() const { return check_pmdk_environment(context_); }
  void add_facts(results::Fields& facts) const { add_pmdk_facts(facts, context_); }
  void write(std::byte* to, const std::byte* from, std::size_t bytes) const {
    ::pmem_memcpy(to, from, bytes, flags_);
  }
  void finish() const { ::pmem_drain(); }

 private:
  const Context& context_;
  const unsigned flags_;
};

SubjectEntry entry(const Context& context, const AccessShape& shape,
                   std::shared_ptr<AccessMemory> memory) {
  return subject_entry<CopySubject<LibpmemWriter>>("libpmem", context, shape, memory);
}

const modules::Offer offer{"libpmem", entry};

}  // namespace
}  // namespace holdfast::bench::blocks
