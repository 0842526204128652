// The subjects that are made with libraries of PMDK: their modules make them. Where a module is not
// there, a row says so, under the name that the subject would have.
#include <holdfast/modules/modules.hpp>

#include <memory>
#include <string>
#include <utility>

#include <holdfast/bench/blocks/access_suite.hpp>
#include <holdfast/bench/blocks/field_suite.hpp>
#include <holdfast/bench/blocks/log_suite.hpp>
#include <holdfast/bench/blocks/page_suite.hpp>
#include <holdfast/peers/blocks/pmdk_suite.hpp>

namespace holdfast::bench::blocks {
namespace {

// What the module of `peer` makes of the arguments of a suite; `subject` where there is no module.
template <class... Parameters>
SubjectEntry entry_of(const std::string& peer, const std::string& subject, const Context& context,
                      Parameters... parameters) {
  const auto make = modules::function<SubjectEntry(const Context&, Parameters...)>(peer);
  if (!make) return {subject, {}, make.error().detail};
  return (*make)(context, std::forward<Parameters>(parameters)...);
}

}  // namespace

SubjectEntry libpmem_access_entry(const Context& context, const AccessShape& shape,
                                  std::shared_ptr<AccessMemory> memory) {
  return entry_of<const AccessShape&, std::shared_ptr<AccessMemory>>("libpmem", "libpmem", context,
                                                                     shape, std::move(memory));
}
SubjectEntry libpmem_field_entry(const Context& context, const FieldShape& shape) {
  return entry_of<const FieldShape&>("libpmem", "libpmem", context, shape);
}
SubjectEntry libpmem_entry(const Context& context, const ByteShape& shape) {
  return entry_of<const ByteShape&>("libpmem", libpmem_name(shape.hint), context, shape);
}
SubjectEntry libpmem2_entry(const Context& context, const ByteShape& shape,
                            const std::string& granularity) {
  return entry_of<const ByteShape&, const std::string&>("libpmem2", "libpmem2-" + granularity,
                                                        context, shape, granularity);
}
SubjectEntry libpmemobj_field_entry(const Context& context, const FieldShape& shape) {
  return entry_of<const FieldShape&>("libpmemobj", "libpmemobj", context, shape);
}
SubjectEntry libpmemobj_entry(const Context& context, const ByteShape& transactions) {
  return entry_of<const ByteShape&>("libpmemobj", "libpmemobj", context, transactions);
}
SubjectEntry libpmemobj_entry(const Context& context, const AllocationShape& shape,
                              const std::string& api) {
  return entry_of<const AllocationShape&, const std::string&>("libpmemobj", "libpmemobj-" + api,
                                                              context, shape, api);
}
SubjectEntry libpmemobj_entry(const Context& context, const LockShape& shape) {
  return entry_of<const LockShape&>("libpmemobj", "libpmemobj", context, shape);
}
SubjectEntry libpmemlog_entry(const Context& context, const LogShape& shape) {
  return entry_of<const LogShape&>("libpmemlog", "libpmemlog", context, shape);
}
SubjectEntry libpmemblk_entry(const Context& context, const PageShape& shape,
                              std::shared_ptr<DramPages> pages) {
  return entry_of<const PageShape&, std::shared_ptr<DramPages>>("libpmemblk", "libpmemblk", context,
                                                                shape, std::move(pages));
}

}  // namespace holdfast::bench::blocks
