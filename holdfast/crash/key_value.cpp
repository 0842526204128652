#include <holdfast/crash/key_value.hpp>

#include <limits>
#include <set>
#include <utility>

namespace holdfast::crash {

namespace {

using State = KeyValueModel::State;
using Access = KeyValueModel::Access;

constexpr std::size_t kShownBytes = 24;
constexpr std::size_t kShownEntries = 24;

std::string shown(const std::string& bytes) {
  std::string text = "\"";
  for (std::size_t i = 0; i < bytes.size() && i < kShownBytes; ++i) {
    const char c = bytes[i];
    text += c >= ' ' && c < 127 ? c : '.';
  }
  text += "\"";
  if (bytes.size() > kShownBytes) text += " (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

void apply(const std::vector<Access>& writes, State& state) {
  for (const Access& write : writes) {
    if (write.value) {
      state[write.key] = *write.value;
    } else {
      state.erase(write.key);
    }
  }
}

bool agrees(const std::vector<Access>& reads, const State& state) {
  for (const Access& read : reads) {
    const auto found = state.find(read.key);
    if (read.value ? found == state.end() || found->second != *read.value : found != state.end()) {
      return false;
    }
  }
  return true;
}

struct Candidate {
  const Operation* operation;
  const std::vector<Access>* writes;
  const std::vector<Access>* reads;
};

// Looks for an order that ends in `observed`.
class Search {
 public:
  Search(std::vector<Candidate> all, const State& observed)
      : all_(std::move(all)), observed_(observed), done_(all_.size(), false) {}

  bool found(State state) {
    std::vector<std::size_t> forced;  // Applied without a choice; taken back on return.
    bool result = false;
    while (true) {
      // An operation that began before every acknowledgement still to come may be next.
      std::uint64_t first_acknowledged = std::numeric_limits<std::uint64_t>::max();
      bool left = false;
      for (std::size_t i = first_; i < all_.size(); ++i) {
        if (done_[i] || !all_[i].operation->acknowledged()) continue;
        left = true;
        first_acknowledged = std::min(first_acknowledged, all_[i].operation->acknowledged_at);
      }
      if (!left && state == observed_) {
        result = true;
        break;
      }
      std::vector<std::size_t> next;
      for (std::size_t i = first_; i < all_.size(); ++i) {
        if (done_[i]) continue;
        if (all_[i].operation->begun_at > first_acknowledged) break;  // Sorted by begun_at.
        next.push_back(i);
      }
      if (next.size() == 1 && all_[next[0]].operation->acknowledged()) {
        const std::size_t only = next[0];
        if (!agrees(*all_[only].reads, state)) break;
        apply(*all_[only].writes, state);
        done_[only] = true;
        forced.push_back(only);
        advance();
        continue;
      }
      if (!visited_.emplace(done_, state).second) break;
      const std::size_t first_before = first_;
      for (const std::size_t i : next) {
        if (all_[i].operation->acknowledged() && !agrees(*all_[i].reads, state)) continue;
        State after = state;
        apply(*all_[i].writes, after);
        done_[i] = true;
        advance();
        result = found(std::move(after));
        done_[i] = false;
        first_ = first_before;
        if (result) break;
      }
      break;
    }
    for (const std::size_t i : forced) {
      done_[i] = false;
    }
    if (!forced.empty()) first_ = std::min(first_, forced.front());
    return result;
  }

 private:
  void advance() {
    while (first_ < all_.size() && done_[first_]) {
      ++first_;
    }
  }

  std::vector<Candidate> all_;
  const State& observed_;
  std::vector<bool> done_;
  std::size_t first_ = 0;  // All before are done.
  std::set<std::pair<std::vector<bool>, State>> visited_;
};

}  // namespace

void KeyValueModel::put(std::uint64_t id, std::string key, std::string value) {
  batch(id, {{std::move(key), std::move(value)}});
}

void KeyValueModel::erase(std::uint64_t id, std::string key) {
  batch(id, {{std::move(key), std::nullopt}});
}

void KeyValueModel::batch(std::uint64_t id, std::vector<Access> writes) {
  effects_[id] = Effect{std::move(writes), {}};
}

void KeyValueModel::returned(std::uint64_t id, std::string key, std::optional<std::string> value) {
  effects_[id].reads.push_back({std::move(key), std::move(value)});
}

const KeyValueModel::Effect& KeyValueModel::effect(std::uint64_t id) const {
  const auto found = effects_.find(id);
  HF_CHECK(found != effects_.end());  // The test began an operation that it did not describe.
  return found->second;
}

KeyValueModel::State KeyValueModel::all_applied(const Past<State>& past) const {
  State state = past.base;
  for (const Operation& operation : past.operations) {
    apply(effect(operation.id).writes, state);
  }
  return state;
}

std::string KeyValueModel::check(const Past<State>& past, const State& observed) const {
  std::vector<Candidate> all;
  for (const Operation& operation : past.operations) {
    const Effect& what = effect(operation.id);
    all.push_back({&operation, &what.writes, &what.reads});
  }
  if (Search(std::move(all), observed).found(past.base)) return {};

  // Say it against the plainest order: all acknowledged ones, as they began.
  State expected = past.base;
  for (const Operation& operation : past.operations) {
    if (operation.acknowledged()) apply(effect(operation.id).writes, expected);
  }
  std::string text =
      "no order of the operations gives what is observed. Against all acknowledged ones:";
  for (const auto& [key, value] : expected) {
    const auto found = observed.find(key);
    if (found == observed.end()) {
      text += " " + shown(key) + " is missing;";
    } else if (found->second != value) {
      text +=
          " " + shown(key) + " is " + shown(found->second) + " instead of " + shown(value) + ";";
    }
  }
  for (const auto& [key, value] : observed) {
    if (!expected.contains(key)) text += " " + shown(key) + " is there with " + shown(value) + ";";
  }
  return text;
}

std::string KeyValueModel::print(const State& state) {
  std::string text = std::to_string(state.size()) + " keys {";
  std::size_t count = 0;
  for (const auto& [key, value] : state) {
    if (++count > kShownEntries) {
      text += " …";
      break;
    }
    text += " " + shown(key) + ": " + shown(value);
  }
  return text + " }";
}

std::string KeyValueModel::describe(std::uint64_t id) const {
  std::string text = "#" + std::to_string(id);
  const auto found = effects_.find(id);
  if (found == effects_.end()) return text;
  for (const Access& write : found->second.writes) {
    text += (write.value ? " put " : " erase ") + shown(write.key);
    if (write.value) text += "=" + shown(*write.value);
  }
  return text;
}

}  // namespace holdfast::crash
