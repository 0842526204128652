// key_value.hpp: the oracle for anything that maps keys to values: durable linearizability.
// Public header.
//
// After a crash the observed map must be what some order of the operations gives, in which every
// acknowledged operation takes part, every one in flight takes part wholly or not at all, an
// operation acknowledged before another began comes before it, and every acknowledged read returned
// what the order has at its place. An operation may write several keys: a batch is atomic.
//
// Costs  Linear for one session; a search with memory of visited places for concurrent ones, meant
//        for some ten operations that overlap.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <holdfast/crash/checker.hpp>

namespace holdfast::crash {

class KeyValueModel {
 public:
  using State = std::map<std::string, std::string>;
  struct Access {
    std::string key;
    std::optional<std::string> value;  // None: erased, or not found.
  };

  // What operation `id` does. Before it begins; again (another schedule) replaces it.
  void put(std::uint64_t id, std::string key, std::string value);
  void erase(std::uint64_t id, std::string key);
  void batch(std::uint64_t id, std::vector<Access> writes);
  // Operation `id` found this before its own writes. Before it is acknowledged.
  void returned(std::uint64_t id, std::string key, std::optional<std::string> value);

  // "" or what contradicts the operations. Fits Protocol<KeyValueModel::State>::check.
  std::string check(const Past<State>& past, const State& observed) const;
  // The map after all operations one after the other, acknowledged or not.
  State all_applied(const Past<State>& past) const;

  static std::string print(const State& state);
  std::string describe(std::uint64_t id) const;

 private:
  struct Effect {
    std::vector<Access> writes;
    std::vector<Access> reads;
  };
  const Effect& effect(std::uint64_t id) const;
  std::map<std::uint64_t, Effect> effects_;
};

}  // namespace holdfast::crash
