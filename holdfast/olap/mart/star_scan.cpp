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

using AllGroups = std::vector<std::unique_ptr<Groups>>;

Error no_memory() { return {Errc::kNoSpace, "star: the query needs more memory than there is"}; }

// Rows that are wanted of a plan without groups and order.
std::uint64_t wanted(const StarPlan& plan) {
  return plan.grouped || !plan.order.empty() ? StarPlan::kAll : plan.first_rows();
}

// The groups of all workers: in one, or in parts that have none in common.
Result<AllGroups> merged(const StarPlan& plan, const PreparedPlan& prepared, AllGroups all,
                         Team& team) {
  std::uint64_t count = 0;
  for (const auto& one : all)
    count += one->count();
  if (all.size() == 1) return all;
  if (!all[0]->has_parts() || count < kManyGroups) {
    for (std::size_t i = 1; i < all.size(); ++i)
      all[0]->merge(*all[i], 0, 1);
    all.resize(1);
    return all;
  }
  AllGroups parts(team.size());
  std::atomic<std::uint32_t> next{0};
  std::atomic<bool> failed{false};
  team.run([&](unsigned) {
    for (auto part = next++; part < parts.size(); part = next++) {
      try {
        parts[part] = std::make_unique<Groups>(plan, prepared);
        for (const auto& one : all)
          parts[part]->merge(*one, part, static_cast<std::uint32_t>(parts.size()));
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
  });
  if (failed) return no_memory();
  return parts;
}

Status take_columns(const StarPlan& plan, std::shared_ptr<const PreparedPlan> prepared,
                    AllGroups parts, Scanned& to) {
  std::vector<std::vector<std::uint32_t>> met;
  for (const auto& part : parts)
    to.groups += met.emplace_back(part->met()).size();
  // What texts lie in.
  const auto owner = std::make_shared<std::pair<std::shared_ptr<const PreparedPlan>, AllGroups>>(
      std::move(prepared), std::move(parts));
  to.columns.resize(plan.keys.size() + plan.aggregates.size());
  for (std::size_t i = 0; i < to.columns.size(); ++i) {
    const auto keys = plan.keys.size();
    to.columns[i].reset(form_of(i < keys ? plan.keys[i]->type : plan.aggregates[i - keys].type),
                        to.groups);
    to.columns[i].keep(owner);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < met.size(); ++i) {
    HF_RETURN_IF_ERROR(owner->second[i]->columns(met[i], to.columns, at));
    at += met[i].size();
  }
  return {};
}

}  // namespace

Result<Scanned> scan(const MartVersion& version, const StarPlan& plan, Team& team,
                     VectorWidth width) {
  HF_ASSIGN_OR_RETURN(auto made, prepare(version, plan, team.size()));
  const auto prepared = std::make_shared<const PreparedPlan>(std::move(made));
  const auto most = wanted(plan);
  std::vector<Extent> places;
  for (const auto& block : version.catalogue().tables[plan.table].blocks) {
    if (!prepared->nothing) places.push_back({block.offset, block.bytes});
  }
  // Where few rows are wanted, blocks are taken in order, wherever they lie: when enough rows are
  // there, the first ones are among them.
  auto morsels =
      most == StarPlan::kAll ? Morsels::of(version.region(), places, team) : Morsels(places.size());
  std::vector<std::unique_ptr<ScanWorker>> workers;
  for (unsigned i = 0; i < team.size(); ++i)
    workers.push_back(std::make_unique<ScanWorker>(plan, *prepared, index_kernels(width)));
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
        statuses[number] = no_memory();
      }
      if (!statuses[number]) return;
      collected.fetch_add(worker.collected() - before, std::memory_order_relaxed);
    }
  });
  for (auto& status : statuses)
    HF_RETURN_IF_ERROR(std::move(status));
  Scanned found;
  for (const auto& worker : workers)
    found.counts.add(worker->counts());
  if (!plan.grouped) {
    for (std::size_t i = 1; i < workers.size(); ++i)
      workers[0]->merge(*workers[i]);
    found.rows = workers[0]->take_rows();
    return found;
  }
  AllGroups groups;
  for (const auto& worker : workers)
    groups.push_back(worker->take_groups());
  HF_ASSIGN_OR_RETURN(auto parts, merged(plan, *prepared, std::move(groups), team));
  HF_RETURN_IF_ERROR(take_columns(plan, prepared, std::move(parts), found));
  return found;
}

}  // namespace holdfast::olap::mart
