#include <holdfast/olap/rows/row_answer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <holdfast/base/mutant.hpp>
#include <holdfast/base/prefetch.hpp>
#include <holdfast/olap/morsels.hpp>

namespace holdfast::olap {
namespace {

constexpr std::size_t kChunkRows = 1024;

// Cells by the attributes that make a group, place behind place.
using GroupCells = std::unordered_map<std::string, Cell>;

std::int64_t row_value(Sum sum, const FactRow& row) {
  switch (sum) {
    case Sum::kPriceTimesDiscount:
      return static_cast<std::int64_t>(std::uint64_t{row.extended_price} * row.discount);
    case Sum::kProfit: return std::int64_t{row.revenue} - row.supply_cost;
    default: return row.revenue;
  }
}

bool within(std::span<const MeasureRange> ranges, const FactRow& row) {
  for (const auto& range : ranges) {
    const auto value = range.column == kQuantity ? row.quantity : row.discount;
    if (value < range.from || value > range.to) return false;
  }
  return true;
}

// One thread's part of a query.
class RowWorker {
 public:
  RowWorker(const StoredRows& rows, const DimensionCopy& dimensions, const RowQuery& query)
      : rows_(rows), dimensions_(dimensions), query_(query) {}

  Status add_run(std::size_t number) {
    HF_ASSIGN_OR_RETURN(const auto run, rows_.facts(number));
    for (std::size_t first = 0; first < run.size(); first += kChunkRows)
      HF_RETURN_IF_ERROR(add_chunk(run.subspan(first, std::min(kChunkRows, run.size() - first))));
    return {};
  }
  const GroupCells& cells() const { return cells_; }
  std::uint64_t passed() const { return passed_; }

 private:
  Status add_chunk(std::span<const FactRow> chunk) {
    left_ = 0;
    for (std::uint32_t i = 0; i < chunk.size(); ++i) {
      left_rows_[left_] = i;
      left_ += within(query_.ranges, chunk[i]);
    }
    for (std::size_t join = 0; join < query_.joins.size() && left_ > 0; ++join)
      HF_RETURN_IF_ERROR(narrow(join, chunk));
    for (std::size_t i = 0; i < left_; ++i)
      add(chunk[left_rows_[i]], i);
    return {};
  }

  // Rows that the join does not let pass go; of the others its rows of the dimension are kept.
  Status narrow(std::size_t number, std::span<const FactRow> chunk) {
    const Join& join = query_.joins[number];
    for (std::size_t i = 0; i < left_; ++i)
      keys_[i] = key_of(chunk[left_rows_[i]], join.dimension);
    HF_RETURN_IF_ERROR(
        dimensions_.find(join.dimension, {keys_.data(), left_}, {positions_.data(), left_}));
    const auto tuples = dimensions_.tuples(join.dimension);
    for (std::size_t i = 0; i < left_; ++i) {
      if (!positions_[i]) continue;
      if (*positions_[i] >= tuples.size())
        return Error{Errc::kCorrupt, "star: the index of table " +
                                         std::string(shape(join.dimension).table) +
                                         " leads behind its end; build it again"};
      const auto* tuple = reinterpret_cast<const std::byte*>(&tuples[*positions_[i]]);
      prefetch_for_read(tuple);
      prefetch_for_read(tuple + kCacheLineBytes);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < left_; ++i) {
      if (!positions_[i]) continue;
      const DimensionTuple& tuple = tuples[*positions_[i]];
      if (!HF_MUTANT("O09", join.allows(tuple), true)) continue;
      left_rows_[kept] = left_rows_[i];
      for (std::size_t before = 0; before < number; ++before)
        joined_[before][kept] = joined_[before][i];
      joined_[number][kept++] = &tuple;
    }
    left_ = kept;
    return {};
  }

  void add(const FactRow& row, std::size_t at) {
    group_.clear();
    for (const auto& group : query_.groups) {
      const auto& place = joined_[group.join][at]->places[group.attribute].bytes;
      group_.append(place.data(), place.size());
    }
    auto found = cells_.find(group_);
    if (found == cells_.end()) found = cells_.emplace(group_, Cell{}).first;
    found->second.sum += row_value(query_.sum, row);
    ++found->second.rows;
    ++passed_;
  }

  const StoredRows& rows_;
  const DimensionCopy& dimensions_;
  const RowQuery& query_;
  GroupCells cells_;
  std::uint64_t passed_ = 0;
  std::string group_;
  std::size_t left_ = 0;
  std::array<std::uint32_t, kChunkRows> left_rows_;  // Of the chunk, those that passed so far.
  std::array<std::uint64_t, kChunkRows> keys_;
  std::array<std::optional<std::uint64_t>, kChunkRows> positions_;
  std::array<std::array<const DimensionTuple*, kChunkRows>, kDimensions> joined_;
};

std::string label_of(Attribute attribute, std::string_view place) {
  DimensionTuple tuple{};
  std::copy(place.begin(), place.end(), tuple.places[0].bytes.begin());
  return shape(attribute.dimension).numeric[attribute.number] ? std::to_string(tuple.number(0))
                                                              : std::string(tuple.places[0].view());
}

// What to_table() takes: labels that came, each once, and a cell for each of their combinations.
struct LabelledCells {
  std::vector<GroupLabels> groups;
  std::vector<Cell> cells;
};

Result<LabelledCells> label(const StarQuery& query, const GroupCells& cells) {
  constexpr auto kPlace = DimensionTuple::kPlaceBytes;
  LabelledCells labelled;
  if (cells.empty()) return labelled;
  std::vector<std::map<std::string_view, std::uint32_t>> places(query.groups.size());
  for (const auto& [key, cell] : cells) {
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i].emplace(std::string_view(key).substr(i * kPlace, kPlace), 0);
  }
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    GroupLabels group{static_cast<std::uint32_t>(count), {}};
    for (auto& [place, number] : places[i]) {
      number = static_cast<std::uint32_t>(group.labels.size());
      group.labels.push_back(label_of(query.groups[i], place));
    }
    count *= group.labels.size();
    if (count > kMaxGroups)
      return Error{Errc::kUnsupported, "a query with up to " + std::to_string(count) +
                                           " groups; allowed are " + std::to_string(kMaxGroups)};
    labelled.groups.push_back(std::move(group));
  }
  labelled.cells.resize(count);
  for (const auto& [key, cell] : cells) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < places.size(); ++i)
      number += labelled.groups[i].stride *
                places[i].at(std::string_view(key).substr(i * kPlace, kPlace));
    labelled.cells[number] = cell;
  }
  return labelled;
}

}  // namespace

Result<Answer> answer(const StarQuery& query, const StoredRows& rows, const DimensionCopies& copies,
                      Team& team) {
  OperatorClock clock;
  Answer answer;
  HF_ASSIGN_OR_RETURN(const auto bound, bind(query, rows));
  answer.seconds.bind = clock.lap();
  std::vector<std::unique_ptr<RowWorker>> workers;
  for (unsigned i = 0; i < team.size(); ++i)
    workers.push_back(
        std::make_unique<RowWorker>(rows, copies.of(team.nodes()[team.node_of(i)]), bound));
  std::vector<Status> statuses(team.size());
  auto morsels = Morsels::of(rows.region(), rows.places(), team);
  std::atomic<bool> out_of_memory{false};
  team.run([&](unsigned number) {
    while (const auto run = morsels.next(team.node_of(number))) {
      try {
        statuses[number] = workers[number]->add_run(*run);
      } catch (const std::bad_alloc&) {
        out_of_memory = true;
      }
      if (!statuses[number] || out_of_memory) return;
    }
  });
  for (auto& status : statuses)
    HF_RETURN_IF_ERROR(std::move(status));
  if (out_of_memory)
    return Error{Errc::kNoSpace,
                 query.name + ": no memory for so many groups; fewer threads need less"};
  GroupCells cells;
  for (const auto& worker : workers) {
    answer.rows += worker->passed();
    for (const auto& [key, cell] : worker->cells()) {
      cells[key].sum += cell.sum;
      cells[key].rows += cell.rows;
    }
  }
  answer.seconds.scan = clock.lap();
  HF_ASSIGN_OR_RETURN(const auto labelled, label(query, cells));
  answer.table = to_table(query, labelled.groups, labelled.cells);
  answer.seconds.order = clock.lap();
  return answer;
}

std::uint64_t touched_bytes(const StarQuery& query, const StoredRows& rows, std::uint64_t passed) {
  // All first lines; the second one, where the revenue is, of rows that passed.
  const auto second = query.sum == Sum::kPriceTimesDiscount ? 0 : passed;
  return (rows.rows() + second) * kCacheLineBytes;
}

}  // namespace holdfast::olap
