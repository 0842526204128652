#include "final_state.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace holdfast::real {
namespace {

using What = Effect::What;
constexpr std::size_t kNone = RecordedOperation::kNone;

std::string name_of(Stamp stamp) { return "[" + describe(stamp) + "]"; }

class Judge {
 public:
  Judge(const Contents& before, std::vector<RecordedOperation> operations, const Contents& found)
      : operations_(std::move(operations)), found_(found) {
    add_initial_state(before);
    effective_.resize(operations_.size());
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      effective_[i] = operations_[i].acknowledged_ns != kNever;
      for (std::size_t e = 0; e < operations_[i].effects.size(); ++e) {
        const Effect& effect = operations_[i].effects[e];
        by_key_[effect.key].push_back({i, e});
        if (effect.what != What::kAbsent) by_stamp_[effect.stamp] = {i, e};
      }
    }
  }

  std::vector<std::string> judge() {
    for (const auto& [key, state] : found_)
      explain_present(key, state);
    if (complaints_.empty()) explain_absent();
    if (complaints_.empty()) order();
    return std::move(complaints_);
  }

 private:
  struct Place {
    std::size_t operation = kNone, effect = 0;
  };
  // What must be the last thing that happened to a key: `writer`, then `chain` in this order.
  struct Last {
    std::size_t writer = kNone;
    std::vector<std::size_t> chain;
  };

  const Effect& at(Place place) const { return operations_[place.operation].effects[place.effect]; }
  void complain(std::string text) { complaints_.push_back(std::move(text)); }

  // What was there before is one operation at time 0 that touches every key.
  void add_initial_state(const Contents& before) {
    std::set<std::uint32_t> keys;
    for (const auto& [key, state] : found_)
      keys.insert(key);
    for (const auto& operation : operations_) {
      for (const Effect& effect : operation.effects)
        keys.insert(effect.key);
    }
    RecordedOperation initial;
    initial.acknowledged_ns = 0;
    for (const auto& [key, state] : before) {
      keys.erase(key);
      initial.effects.push_back({What::kWrite, key, state.writer, 0});
      if (state.updater != state.writer) {
        initial.effects.push_back({What::kUpdate, key, state.updater, state.writer});
      }
    }
    for (const std::uint32_t key : keys)
      initial.effects.push_back({What::kAbsent, key, 0, 0});
    operations_.push_back(std::move(initial));
  }

  void explain_present(std::uint32_t key, const RecordState& state) {
    const std::string where = "key " + std::to_string(key) + ": ";
    const auto writer = by_stamp_.find(state.writer);
    if (writer == by_stamp_.end() || at(writer->second).what != What::kWrite ||
        at(writer->second).key != key) {
      return complain(where + "holds " + name_of(state.writer) + ", which nobody wrote there");
    }
    Last& last = last_[key];
    last.writer = writer->second.operation;
    effective_[last.writer] = true;
    // From the newest update back to the put; a step that repeats would be a loop.
    std::set<Stamp> seen;
    for (Stamp stamp = state.updater; stamp != state.writer;) {
      const auto update = by_stamp_.find(stamp);
      if (update == by_stamp_.end() || at(update->second).what != What::kUpdate ||
          at(update->second).key != key || !seen.insert(stamp).second) {
        return complain(where + "word 0 goes back to " + name_of(stamp) +
                        ", which is no update of the record " + name_of(state.writer));
      }
      effective_[update->second.operation] = true;
      last.chain.push_back(update->second.operation);
      stamp = at(update->second).previous;
    }
    std::reverse(last.chain.begin(), last.chain.end());
  }

  // Which operation made an absent key absent? The one acknowledged last can always be placed last.
  // Where not even that explains it, an operation in flight must have done it; that may have other
  // consequences.
  void explain_absent() {
    for (bool changed = true; changed && complaints_.empty();) {
      changed = close_prefixes();
      for (const auto& [key, places] : by_key_) {
        if (!found_.contains(key)) changed |= choose_eraser(key, places);
      }
    }
  }

  // Part of a put_many is there: so must be what came before it in the same call, unless somebody
  // else's operation on its key overtook it: one that saw the record before it, and went beyond.
  bool close_prefixes() {
    bool changed = false;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (!effective_[i]) continue;
      for (std::size_t o = operations_[i].follows; o != kNone; o = operations_[o].follows) {
        if (effective_[o]) break;
        if (overtaken(operations_[o])) continue;
        effective_[o] = true;
        changed = true;
      }
    }
    return changed;
  }

  bool overtaken(const RecordedOperation& put) const {
    const auto last = last_.find(put.effects[0].key);
    return last != last_.end() &&
           std::any_of(last->second.chain.begin(), last->second.chain.end(),
                       [&](std::size_t update) {
                         return operations_[update].acknowledged_ns >= put.invoked_ns;
                       });
  }

  // Sets last_[key].writer; tells whether an operation in flight had to be taken as done. One in
  // flight with no other effect is always a possible last one and has no consequence elsewhere.
  bool choose_eraser(std::uint32_t key, const std::vector<Place>& places) {
    std::size_t eraser = kNone, candidate = kNone, latest = kNone;
    std::uint64_t latest_invoked = 0;
    for (const Place place : places) {
      const auto& operation = operations_[place.operation];
      if (effective_[place.operation] && at(place).what != What::kAbsent &&
          operation.invoked_ns >= latest_invoked) {
        latest_invoked = operation.invoked_ns;
        latest = place.operation;
      }
      if (at(place).what != What::kAbsent) continue;
      if (operation.acknowledged_ns == kNever && operation.effects.size() == 1) {
        effective_[place.operation] = true;
        last_[key].writer = place.operation;
        return false;
      }
      if (!effective_[place.operation]) {
        candidate = place.operation;
      } else if (eraser == kNone ||
                 operation.acknowledged_ns >= operations_[eraser].acknowledged_ns) {
        eraser = place.operation;
      }
    }
    if (eraser != kNone && operations_[eraser].acknowledged_ns >= latest_invoked) {
      last_[key].writer = eraser;
      return false;
    }
    if (candidate == kNone) {
      complain("key " + std::to_string(key) + ": no record, although " + text_of(latest) +
               " was done and nothing erased it since");
      return false;
    }
    effective_[candidate] = true;
    last_[key].writer = candidate;
    return true;
  }

  void order() {
    std::vector<std::vector<std::size_t>> after(operations_.size());
    std::vector<std::size_t> waits_for(operations_.size(), 0);
    const auto edge = [&](std::size_t first, std::size_t second) {
      if (first == second) return;
      after[first].push_back(second);
      ++waits_for[second];
    };
    for (const auto& [key, places] : by_key_) {
      const Last& last = last_[key];
      for (const Place place : places) {
        const bool in_chain =
            std::find(last.chain.begin(), last.chain.end(), place.operation) != last.chain.end();
        const bool is_last =
            at(place).what == What::kUpdate ? in_chain : place.operation == last.writer;
        if (effective_[place.operation] && !is_last) edge(place.operation, last.writer);
      }
      std::size_t predecessor = last.writer;
      for (const std::size_t update : last.chain) {
        edge(predecessor, update);
        predecessor = update;
      }
    }
    settle(after, waits_for);
  }

  // Earliest possible times in topological order; `because[i]` is what pushed i there.
  void settle(const std::vector<std::vector<std::size_t>>& after,
              std::vector<std::size_t>& waits_for) {
    std::vector<std::uint64_t> earliest(operations_.size());
    std::vector<std::size_t> because(operations_.size(), kNone), ready;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      earliest[i] = operations_[i].invoked_ns;
      if (waits_for[i] == 0) ready.push_back(i);
    }
    std::size_t placed = 0;
    for (; !ready.empty(); ++placed) {
      const std::size_t i = ready.back();
      ready.pop_back();
      if (earliest[i] > operations_[i].acknowledged_ns) {
        complain(text_of(i) + " is what the store has, but " + text_of(because[i]) +
                 " came later and is lost");
      }
      for (const std::size_t next : after[i]) {
        if (earliest[i] > earliest[next]) {
          earliest[next] = earliest[i];
          because[next] = i;
        }
        if (--waits_for[next] == 0) ready.push_back(next);
      }
    }
    if (placed == operations_.size()) return;
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (waits_for[i] != 0)
        return complain(text_of(i) + " is there in part: no order explains what its keys hold");
    }
  }

  std::string text_of(std::size_t i) const {
    const RecordedOperation& operation = operations_[i];
    if (operation.acknowledged_ns == 0) return "what was there before";
    std::string text = operation.acknowledged_ns == kNever ? "unacknowledged, but seen elsewhere {"
                                                           : "acknowledged {";
    for (const Effect& effect : operation.effects) {
      text += " key " + std::to_string(effect.key) + ": ";
      text += effect.what == What::kAbsent ? std::string{"absent"} : name_of(effect.stamp);
    }
    return text + " }";
  }

  std::vector<RecordedOperation> operations_;
  const Contents& found_;
  std::vector<char> effective_;  // Acknowledged, or seen to have happened.
  std::map<std::uint32_t, std::vector<Place>> by_key_;
  std::unordered_map<Stamp, Place> by_stamp_;
  std::map<std::uint32_t, Last> last_;
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> contradictions(const Contents& before,
                                        std::vector<RecordedOperation> operations,
                                        const Contents& found) {
  return Judge{before, std::move(operations), found}.judge();
}

}  // namespace holdfast::real
