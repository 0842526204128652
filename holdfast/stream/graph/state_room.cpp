#include "state_room.hpp"

#include <algorithm>
#include <variant>

#include <holdfast/stream/graph/running_aggregate.hpp>

namespace holdfast::stream::graph {
namespace {

class FindRoom {
 public:
  explicit FindRoom(bool retracts) : retracts_(retracts) {}

  StateRoom operator()(const sql::Group& group) const {
    if (group.lateness_ms != 0 || group.row_size != 0) return StateRoom::kEntries;
    if (group.windowed) return group.by_columns ? StateRoom::kMemory : StateRoom::kWindows;
    const bool holds = RunningAggregate::any_holds_values(group.aggregates, retracts_);
    return holds ? StateRoom::kMemory : StateRoom::kEntries;
  }
  StateRoom operator()(const sql::DelayChanges&) const { return StateRoom::kMemory; }
  StateRoom operator()(const sql::Join& join) const {
    return join.form == sql::JoinForm::kLookup ? StateRoom::kMemory : StateRoom::kEntries;
  }
  StateRoom operator()(const sql::Rank&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::OverAggregate&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::AssignSessions&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::Sort& sort) const {
    return sort.at_once ? StateRoom::kNone : StateRoom::kMemory;
  }
  StateRoom operator()(const sql::Materialize&) const { return StateRoom::kMemory; }
  template <class Other>
  StateRoom operator()(const Other&) const {
    return StateRoom::kNone;
  }

 private:
  const bool retracts_;
};

}  // namespace

StateRoom state_room(const sql::Plan& plan, const sql::Node& node) {
  const bool retracts = std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [&](auto input) { return plan.nodes[input].updating; });
  return std::visit(FindRoom(retracts), node.what);
}

std::string text_of_state(const sql::Plan& plan, std::size_t number, const std::string& state) {
  std::string in_memory, in_store;
  for (const auto& node : plan.nodes) {
    const auto room = state_room(plan, node);
    if (room == StateRoom::kNone) continue;
    const bool leaves = (room == StateRoom::kWindows && state != "dram") ||
                        (room == StateRoom::kEntries && state == "kv");
    (leaves ? in_store : in_memory) += sql::text_of(node, plan.nodes) + "\n";
  }
  const std::string head = "-- query " + std::to_string(number) + ": state in memory";
  std::string text;
  if (!in_memory.empty()) text += head + "\n" + in_memory;
  if (!in_store.empty())
    text += head + ", and in " + state + " what memory has no room for\n" + in_store;
  return text;
}

}  // namespace holdfast::stream::graph
