#include "state_room.hpp"

#include <variant>

namespace holdfast::stream::graph {
namespace {

struct FindRoom {
  StateRoom operator()(const sql::Group& group) const {
    if (group.lateness_ms != 0 || group.row_size != 0) return StateRoom::kEntries;
    return group.windowed && !group.by_columns ? StateRoom::kWindows : StateRoom::kEntries;
  }
  StateRoom operator()(const sql::DelayChanges&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::Join& join) const {
    return join.form == sql::JoinForm::kLookup ? StateRoom::kMemory : StateRoom::kEntries;
  }
  StateRoom operator()(const sql::Rank&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::OverAggregate&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::AssignSessions&) const { return StateRoom::kEntries; }
  StateRoom operator()(const sql::Sort& sort) const {
    return sort.at_once ? StateRoom::kNone : StateRoom::kEntries;
  }
  StateRoom operator()(const sql::Materialize&) const { return StateRoom::kEntries; }
  template <class Other>
  StateRoom operator()(const Other&) const {
    return StateRoom::kNone;
  }
};

}  // namespace

StateRoom state_room(const sql::Node& node) { return std::visit(FindRoom(), node.what); }

std::string text_of_state(const sql::Plan& plan, std::size_t number, const std::string& state) {
  std::string in_memory, in_store;
  for (const auto& node : plan.nodes) {
    const auto room = state_room(node);
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
