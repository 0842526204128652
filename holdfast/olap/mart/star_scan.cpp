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

}  // namespace

Result<FoundGroups> FoundGroups::of(std::shared_ptr<const PreparedPlan> prepared, AllGroups parts) {
  FoundGroups found;
  found.prepared_ = std::move(prepared);
  found.first_.push_back(0);
  for (auto& part : parts) {
    const auto& met = found.met_.emplace_back(part->met());
    HF_RETURN_IF_ERROR(part->check(met));
    found.first_.push_back(found.first_.back() + met.size());
    found.parts_.push_back(std::move(part));
  }
  return found;
}

// Some in a row are of one part, mostly.
Status FoundGroups::column(std::size_t number, std::span<const std::uint32_t> groups,
                           Vector& to) const {
  std::vector<std::uint32_t> some;
  for (std::size_t at = 0; at < groups.size(); at += some.size()) {
    const auto behind = std::upper_bound(first_.begin(), first_.end(), groups[at]);
    const auto part = static_cast<std::size_t>(behind - first_.begin()) - 1;
    some.clear();
    for (auto i = at; i < groups.size() && first_[part] <= groups[i] && groups[i] < *behind; ++i)
      some.push_back(met_[part][groups[i] - first_[part]]);
    HF_RETURN_IF_ERROR(parts_[part]->column(number, some, to, at));
  }
  return {};
}

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
  HF_ASSIGN_OR_RETURN(found.groups, FoundGroups::of(prepared, std::move(parts)));
  return found;
}

}  // namespace holdfast::olap::mart
