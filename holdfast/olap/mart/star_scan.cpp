#include <holdfast/olap/mart/star_scan.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include <holdfast/olap/mart/scan_worker.hpp>
#include <holdfast/olap/morsels.hpp>

namespace holdfast::olap::mart {
namespace {

// Rows that are wanted of a plan without groups and order.
std::uint64_t wanted(const StarPlan& plan) {
  return plan.grouped || !plan.order.empty() ? StarPlan::kAll : plan.first_rows();
}

}  // namespace

Result<ScannedRows> scan(const MartVersion& version, const StarPlan& plan, Team& team,
                         VectorWidth width) {
  HF_ASSIGN_OR_RETURN(const auto prepared, prepare(version, plan));
  const auto most = wanted(plan);
  std::vector<Extent> places;
  for (const auto& block : version.catalogue().tables[plan.table].blocks) {
    if (!prepared.nothing) places.push_back({block.offset, block.bytes});
  }
  // Where few rows are wanted, blocks are taken in order, wherever they lie: when enough rows are
  // there, the first ones are among them.
  auto morsels =
      most == StarPlan::kAll ? Morsels::of(version.region(), places, team) : Morsels(places.size());
  std::vector<std::unique_ptr<ScanWorker>> workers;
  for (unsigned i = 0; i < team.size(); ++i)
    workers.push_back(std::make_unique<ScanWorker>(plan, prepared, index_kernels(width)));
  std::vector<Status> statuses(team.size());
  std::atomic<std::uint64_t> collected{0};
  team.run([&](unsigned number) {
    auto& worker = *workers[number];
    while (collected.load(std::memory_order_relaxed) < most) {
      const auto block = morsels.next(team.node_of(number));
      if (!block) return;
      const auto before = worker.collected();
      try {
        statuses[number] = worker.add_block(*block, most);
      } catch (const std::bad_alloc&) {
        statuses[number] = Error{Errc::kNoSpace, "star: the query needs more memory than there is"};
      }
      if (!statuses[number]) return;
      collected.fetch_add(worker.collected() - before, std::memory_order_relaxed);
    }
  });
  for (auto& status : statuses)
    HF_RETURN_IF_ERROR(std::move(status));
  for (std::size_t i = 1; i < workers.size(); ++i)
    workers[0]->merge(*workers[i]);
  HF_ASSIGN_OR_RETURN(auto rows, workers[0]->rows());
  return ScannedRows{std::move(rows), workers[0]->counts()};
}

}  // namespace holdfast::olap::mart
