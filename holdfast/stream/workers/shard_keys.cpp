#include "shard_keys.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <holdfast/base/mutant.hpp>

namespace holdfast::stream {
namespace {

using Columns = std::vector<std::uint32_t>;
// A plan has up to 2000 nodes, and each candidate is tried once for each choice.
constexpr std::size_t kMostCandidates = 200, kMostChoices = 8;

// Columns that are to say where rows go, by place in the list: of one table after the other.
struct Choice {
  std::vector<sql::Type> types;
  std::vector<std::optional<std::size_t>> scans;  // By node: which list of `columns` it has.
  std::vector<Columns> columns;
};

struct Place {
  std::size_t node;
  std::uint32_t column;
};
// A list of columns, each in one or more places.
using Candidate = std::vector<std::vector<Place>>;

bool is_column(const sql::ExpressionPointer& expression) {
  return expression->operation == sql::Operation::kColumn;
}

// Computed again it may be another value.
bool varies(const sql::Table& table, std::uint32_t column) {
  const auto& computed = table.computed[column];
  return computed != nullptr && sql::varies(*computed);
}

// How the rows that a node gives out are spread.
struct Spread {
  bool sharded = false;
  std::optional<std::size_t> choice;             // None: rows are in any shard.
  std::vector<std::set<std::uint32_t>> columns;  // Of each column of the choice, which are it.
  Columns keys;  // Of an operator with state: which of its keys they are.
  bool known() const { return sharded && choice.has_value(); }
};

// Rows come out when the watermark has passed something, not with a row. Then those of all shards
// are put together shard by shard.
bool waits(const sql::Node& node) {
  if (const auto* group = std::get_if<sql::Group>(&node.what)) return group->windowed;
  if (const auto* rank = std::get_if<sql::Rank>(&node.what))
    return rank->by_columns || rank->earliest;
  if (const auto* join = std::get_if<sql::Join>(&node.what))
    return join->form != sql::JoinForm::kRegular;
  return std::holds_alternative<sql::AssignSessions>(node.what);
}

// The rows that it gives depend on the order of those that come.
bool follows_order(const sql::Node& node) {
  if (const auto* group = std::get_if<sql::Group>(&node.what))
    return group->row_size != 0 || sql::depends_on_order(*group);
  if (const auto* rank = std::get_if<sql::Rank>(&node.what))
    return rank->ranking == sql::Ranking::kRowNumber;
  if (const auto* sort = std::get_if<sql::Sort>(&node.what))
    return sort->limit != sql::Sort::kAll || sort->offset != 0;
  // Of two versions of a key with one time the later one counts.
  if (const auto* join = std::get_if<sql::Join>(&node.what))
    return HF_MUTANT("ST160", join->form == sql::JoinForm::kTemporal, false);
  return std::holds_alternative<sql::OverAggregate>(node.what);
}

class Analysis {
 public:
  Analysis(const sql::Plan& plan, bool may_wait) : plan_(plan), may_wait_(may_wait) {}

  // Choices are added while they bring more operators with state into shards.
  std::vector<Spread> best() {
    auto best = spreads();
    while (choices_.size() < kMostChoices) {
      const auto known = choices_;
      auto better = known;
      const auto before = stateful(best);
      auto most = before;
      for (const auto& candidate : candidates()) {
        choices_ = known;
        if (!choose(candidate)) continue;
        auto now = spreads();
        if (stateful(now) <= most) continue;
        most = stateful(now);
        better = choices_;
        best = std::move(now);
      }
      choices_ = std::move(better);
      if (most == before) break;
    }
    return best;
  }
  const std::vector<Choice>& choices() const { return choices_; }

 private:
  const sql::Node& node(std::size_t number) const { return plan_.nodes[number]; }

  std::size_t stateful(const std::vector<Spread>& spreads) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < spreads.size(); ++i)
      count += spreads[i].sharded && state_keys_of(node(i)) != nullptr ? 1 : 0;
    return count;
  }

  // ---- Down: which columns of the tables a key is ----

  // All keys of an operator, and each of them.
  std::vector<Candidate> candidates() const {
    std::vector<Candidate> all, single;
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      Candidate of_node;
      const auto* keys = state_keys_of(node(i));
      const auto* join = std::get_if<sql::Join>(&node(i).what);
      for (std::size_t k = 0; keys != nullptr && k < keys->size(); ++k) {
        std::vector<Place> places;
        if (is_column((*keys)[k])) places.push_back({node(i).inputs[0], (*keys)[k]->column});
        if (join != nullptr && is_column(join->right_keys[k]))
          places.push_back({node(i).inputs[1], join->right_keys[k]->column});
        if (places.size() == (join != nullptr ? 2 : 1)) of_node.push_back(std::move(places));
      }
      for (const auto& one : of_node)
        single.push_back({one});
      if (of_node.size() > 1) all.push_back(std::move(of_node));
    }
    all.insert(all.end(), std::make_move_iterator(single.begin()),
               std::make_move_iterator(single.end()));
    if (all.size() > kMostCandidates) all.resize(kMostCandidates);
    return all;
  }

  // False: no table has all of them.
  bool choose(const Candidate& candidate) {
    found_.assign(plan_.nodes.size(), std::vector<std::optional<std::uint32_t>>(candidate.size()));
    for (std::size_t i = 0; i < candidate.size(); ++i) {
      traced_.clear();
      for (const auto place : candidate[i])
        trace(place, i);
    }
    Choice choice;
    choice.scans.resize(plan_.nodes.size());
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i)
      add_scan(i, choice);
    if (choice.columns.empty()) return false;
    choices_.push_back(std::move(choice));
    return true;
  }

  void add_scan(std::size_t scan, Choice& choice) const {
    if (!std::holds_alternative<sql::Scan>(node(scan).what)) return;
    for (const auto& known : choices_) {
      if (known.scans[scan]) return;
    }
    Columns columns;
    std::vector<sql::Type> types;
    const auto& table = *std::get<sql::Scan>(node(scan).what).table;
    for (const auto& column : found_[scan]) {
      if (!column || varies(table, *column)) return;
      columns.push_back(*column);
      types.push_back(node(scan).columns[*column].type);
    }
    if (choice.columns.empty()) choice.types = types;
    if (types != choice.types) return;
    choice.scans[scan] = choice.columns.size();
    choice.columns.push_back(std::move(columns));
  }

  // Column `number` of the choice is this column of a node; of which column of a table?
  void trace(Place place, std::size_t number) {
    // A node may be read by several, and these by several.
    if (!traced_.emplace(place.node, place.column).second) return;
    const auto& at = node(place.node);
    if (std::holds_alternative<sql::Scan>(at.what)) {
      auto& found = found_[place.node][number];
      if (!found) found = place.column;
    } else if (const auto* project = std::get_if<sql::Project>(&at.what)) {
      const auto& expression = project->expressions[place.column];
      if (is_column(expression)) trace({at.inputs[0], expression->column}, number);
    } else if (const auto* group = std::get_if<sql::Group>(&at.what)) {
      if (place.column < group->keys.size() && is_column(group->keys[place.column]))
        trace({at.inputs[0], group->keys[place.column]->column}, number);
    } else if (const auto* join = std::get_if<sql::Join>(&at.what)) {
      trace_join(*join, place, number);
    } else if (std::holds_alternative<sql::Union>(at.what)) {
      for (const auto input : at.inputs)
        trace({input, place.column}, number);
    } else if (!at.inputs.empty() && place.column < node(at.inputs[0]).columns.size()) {
      trace({at.inputs[0], place.column}, number);
    }
  }

  // A key of a join is a column of either side.
  void trace_join(const sql::Join& join, Place place, std::size_t number) {
    const auto& inputs = node(place.node).inputs;
    const auto width = static_cast<std::uint32_t>(node(inputs[0]).columns.size());
    const bool left = place.column < width;
    const auto column = left ? place.column : place.column - width;
    for (std::size_t i = 0; i < join.left_keys.size(); ++i) {
      const auto& key = left ? join.left_keys[i] : join.right_keys[i];
      if (!is_column(key) || key->column != column) continue;
      if (!is_column(join.left_keys[i]) || !is_column(join.right_keys[i])) continue;
      trace({inputs[0], join.left_keys[i]->column}, number);
      trace({inputs[1], join.right_keys[i]->column}, number);
      return;
    }
  }

  // ---- Up: where rows are ----

  std::vector<Spread> spreads() const {
    std::vector<Spread> all;
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i)
      all.push_back(spread_of(i, all));
    return all;
  }

  Spread spread_of(std::size_t number, const std::vector<Spread>& all) const {
    const auto& at = node(number);
    for (const auto input : at.inputs) {
      if (!all[input].sharded) return {};
    }
    if (!may_wait_ && waits(at)) return {};
    if (const auto* scan = std::get_if<sql::Scan>(&at.what)) return of_scan(number, *scan);
    if (std::holds_alternative<sql::Union>(at.what)) return of_union(at, all);
    if (const auto* project = std::get_if<sql::Project>(&at.what))
      return of_project(*project, all[at.inputs[0]]);
    if (const auto* join = std::get_if<sql::Join>(&at.what))
      return of_join(*join, at, all[at.inputs[0]], all[at.inputs[1]]);
    if (const auto* keys = state_keys_of(at)) return of_state(at, *keys, all[at.inputs[0]]);
    if (std::holds_alternative<sql::Filter>(at.what) ||
        std::holds_alternative<sql::WallClock>(at.what) ||
        std::holds_alternative<sql::AssignWindows>(at.what) ||
        std::holds_alternative<sql::Unnest>(at.what))
      return all[at.inputs[0]];
    return {};
  }

  Spread of_scan(std::size_t number, const sql::Scan& scan) const {
    Spread spread;
    spread.sharded = !scan.looked_up;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const auto list = choices_[i].scans[number];
      if (!list) continue;
      spread.choice = i;
      for (const auto column : choices_[i].columns[*list])
        spread.columns.push_back({column});
    }
    return spread;
  }

  static Spread of_union(const sql::Node& at, const std::vector<Spread>& all) {
    Spread spread = all[at.inputs[0]];
    spread.keys.clear();
    for (const auto input : at.inputs) {
      const auto& other = all[input];
      if (other.choice != spread.choice) spread.choice.reset();
      if (!spread.choice) continue;
      for (std::size_t i = 0; i < spread.columns.size(); ++i)
        std::erase_if(spread.columns[i], [&](std::uint32_t column) {
          return HF_MUTANT("ST150", !other.columns[i].contains(column), false);
        });
    }
    return spread;
  }

  static Spread of_project(const sql::Project& project, const Spread& input) {
    Spread spread = input;
    spread.keys.clear();
    for (std::size_t i = 0; i < spread.columns.size(); ++i) {
      spread.columns[i].clear();
      for (std::uint32_t column = 0; column < project.expressions.size(); ++column) {
        const auto& expression = project.expressions[column];
        if (is_column(expression) && input.columns[i].contains(expression->column))
          spread.columns[i].insert(column);
      }
    }
    return spread;
  }

  // Whether rows with equal keys are in one shard. Then also which of the keys see to that.
  bool keeps_together(const std::vector<sql::ExpressionPointer>& keys, const Spread& input,
                      Columns& found) const {
    if (!input.known()) return false;
    const auto& types = choices_[*input.choice].types;
    for (std::size_t i = 0; i < input.columns.size(); ++i) {
      const auto place = std::find_if(keys.begin(), keys.end(), [&](const auto& key) {
        return is_column(key) && key->type == types[i] && input.columns[i].contains(key->column);
      });
      if (place == keys.end()) return HF_MUTANT("ST151", false, i != 0);
      found.push_back(static_cast<std::uint32_t>(place - keys.begin()));
    }
    return true;
  }

  Spread of_state(const sql::Node& at, const std::vector<sql::ExpressionPointer>& keys,
                  const Spread& input) const {
    Spread spread = input;
    spread.keys.clear();
    if (!keeps_together(keys, input, spread.keys)) return {};
    if (!std::holds_alternative<sql::Group>(at.what)) return spread;
    for (std::size_t i = 0; i < spread.columns.size(); ++i) {
      spread.columns[i].clear();
      for (std::uint32_t key = 0; key < keys.size(); ++key) {
        if (is_column(keys[key]) && input.columns[i].contains(keys[key]->column))
          spread.columns[i].insert(key);
      }
    }
    return spread;
  }

  Spread of_join(const sql::Join& join, const sql::Node& at, const Spread& left,
                 const Spread& right) const {
    const bool in_time =
        join.form == sql::JoinForm::kTemporal || join.form == sql::JoinForm::kLookup;
    if (in_time || !left.known() || !right.known() || left.choice != right.choice) return {};
    const auto& types = choices_[*left.choice].types;
    Spread spread = left;
    spread.keys.clear();
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto meets = [&](std::size_t key) {
        const auto &of_left = join.left_keys[key], &of_right = join.right_keys[key];
        return is_column(of_left) && is_column(of_right) && of_left->type == types[i] &&
               of_right->type == types[i] && left.columns[i].contains(of_left->column) &&
               right.columns[i].contains(of_right->column);
      };
      std::size_t key = 0;
      while (key < join.left_keys.size() && !meets(key))
        ++key;
      if (key == join.left_keys.size()) return {};
      spread.keys.push_back(static_cast<std::uint32_t>(key));
    }
    place_pairs(join.kind, node(at.inputs[0]).columns.size(), right, spread);
    return spread;
  }

  // A side that NULLs stand for where a row has no partner says nothing.
  static void place_pairs(sql::JoinKind kind, std::size_t width, const Spread& right,
                          Spread& spread) {
    using sql::JoinKind;
    const bool only_left = kind == JoinKind::kSemi || kind == JoinKind::kAnti;
    const bool left_counts =
        HF_MUTANT("ST152", kind != JoinKind::kRight && kind != JoinKind::kFull, true);
    const bool right_counts = !only_left && kind != JoinKind::kLeft && kind != JoinKind::kFull;
    for (std::size_t i = 0; i < spread.columns.size(); ++i) {
      if (!left_counts) spread.columns[i].clear();
      if (!right_counts) continue;
      for (const auto column : right.columns[i])
        spread.columns[i].insert(static_cast<std::uint32_t>(width) + column);
    }
  }

  const sql::Plan& plan_;
  const bool may_wait_;
  std::vector<Choice> choices_;
  // By node and number in the candidate: columns of tables.
  std::vector<std::vector<std::optional<std::uint32_t>>> found_;
  std::set<std::pair<std::size_t, std::uint32_t>>
      traced_;  // Nodes and columns that were looked at.
};

Error unsupported(const char* why) { return {Errc::kUnsupported, why}; }

Status may_have_shards(const sql::Plan& plan) {
  if (plan.late_rows != nullptr) return unsupported("its late rows go to a table");
  for (const auto& node : plan.nodes) {
    if (std::holds_alternative<sql::ProcessingTime>(node.what) ||
        std::holds_alternative<sql::DelayChanges>(node.what))
      return unsupported("it follows the clock");
    if (std::holds_alternative<sql::Literals>(node.what))
      return unsupported("some of its rows stand in its text");
    const auto* scan = std::get_if<sql::Scan>(&node.what);
    if (scan != nullptr && scan->looked_up) return unsupported("it looks a table up");
  }
  return {};
}

}  // namespace

const std::vector<sql::ExpressionPointer>* state_keys_of(const sql::Node& node) {
  if (const auto* group = std::get_if<sql::Group>(&node.what)) return &group->keys;
  if (const auto* join = std::get_if<sql::Join>(&node.what)) return &join->left_keys;
  if (const auto* rank = std::get_if<sql::Rank>(&node.what)) return &rank->partition;
  if (const auto* sessions = std::get_if<sql::AssignSessions>(&node.what)) return &sessions->keys;
  return nullptr;
}

Result<ShardKeys> shard_keys(const sql::Plan& plan) {
  HF_RETURN_IF_ERROR(may_have_shards(plan));
  for (const bool may_wait : {true, false}) {
    Analysis analysis(plan, may_wait);
    const auto spreads = analysis.best();
    ShardKeys keys;
    bool any = false, waited = false, by_order = false;
    for (std::size_t i = 0; i < spreads.size(); ++i) {
      const auto& spread = spreads[i];
      const auto& node = plan.nodes[i];
      keys.sharded.push_back(spread.sharded);
      keys.columns.push_back(spread.keys);
      if (std::holds_alternative<sql::Scan>(node.what) && spread.choice) {
        const auto& choice = analysis.choices()[*spread.choice];
        keys.columns.back() = choice.columns[*choice.scans[i]];
      }
      any = any || (spread.sharded && state_keys_of(node) != nullptr);
      waited = waited || (spread.sharded && waits(node));
      by_order = by_order || (!spread.sharded && follows_order(node));
    }
    if (HF_MUTANT("ST153", waited && by_order, false)) continue;
    if (any) return keys;
  }
  return unsupported("its joins, groups and rankings have no columns of the tables as common keys");
}

}  // namespace holdfast::stream
