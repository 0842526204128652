#include <holdfast/peers/blocks/pmdk.hpp>

#include <cstdlib>

#include <holdfast/memory/pages.hpp>

namespace holdfast::bench::blocks {
namespace {

bool is_set(const std::string& assignment) {
  const auto at = assignment.find('=');
  const char* value = std::getenv(assignment.substr(0, at).c_str());
  return value != nullptr && assignment.substr(at + 1) == value;
}

}  // namespace

std::vector<std::string> pmdk_environment(bool nt_evicts) {
  std::vector<std::string> wanted = {"PMEM_IS_PMEM_FORCE=1", "PMEMOBJ_CONF=sds.at_create=0",
                                     "PMEMLOG_CONF=sds.at_create=0",
                                     "PMEMBLK_CONF=sds.at_create=0"};
  wanted.push_back(nt_evicts ? "PMEM_NO_MOVNT=0" : "PMEM_NO_MOVNT=1");
  return wanted;
}

void add_pmdk_facts(results::Fields& facts, const Context& context) {
  std::string text;
  for (const auto& assignment : pmdk_environment(context.region.persist().nt_evicts())) {
    if (is_set(assignment)) text += (text.empty() ? "" : " ") + assignment;
  }
  facts.set("peer_environment", text);
  facts.set("peer_directory", context.peer_directory);
}

void PoolPages::obtain(const Context& context, const void* pool, std::uint64_t bytes) {
  using namespace memory_detail;
  auto* begin = static_cast<std::byte*>(const_cast<void*>(pool));
  bytes = round_up(bytes, kPageBytes);
  // Not the first: PMDK takes the pool's header away from itself. It must not be touched, and makes
  // that page small.
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const auto first = round_up(address + kPageBytes, kHugePageBytes) - address;
  if (context.region.report().page_bytes >= kHugePageBytes && bytes > first) {
    const auto rest = (bytes - first) / kHugePageBytes * kHugePageBytes;
    // Where the system refuses, the fact says so.
    if (rest > 0 && collapse(begin + first, rest) == 0) populate(begin + first, rest, false);
  }
  const auto got = pages_obtained(begin, bytes);
  page_bytes_ = got.resident_bytes > 0 && 2 * got.huge_bytes >= got.resident_bytes
                    ? kHugePageBytes
                    : got.kernel_page_bytes;
}

void PoolPages::add_facts(results::Fields& facts) const {
  facts.set("pool_page_bytes", page_bytes_);
}

Status check_pmdk_environment(const Context& context) {
  for (const auto& assignment : pmdk_environment(context.region.persist().nt_evicts())) {
    if (!is_set(assignment))
      return Error{
          Errc::kUnsupported,
          "PMDK was loaded without " + assignment +
              " in the environment; run the command `holdfast blocks bench`, which sets it"};
  }
  return {};
}

}  // namespace holdfast::bench::blocks
