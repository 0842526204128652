// pipelined.hpp: a pipeline under the crash checker.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <holdfast/kv/pipeline.hpp>
#include "kv_crash.hpp"

namespace holdfast::kv {

// An operation begins where it is submitted, and ends in its callback.
class Pipelined {
 public:
  Pipelined(Tested& tested, std::uint32_t window, std::uint32_t first_session = 0)
      : tested_(tested),
        session_(first_session),
        pipeline_(Pipeline<>::open(tested.store(), {.window = window}).value()) {}

  void put(const std::string& key, const std::string& value) {
    const std::uint64_t id = begin();
    model().put(id, key, value);
    start(id);
    pipeline_.put(key, value, [this, id](Result<PutOutcome> outcome) { end(id, outcome); });
  }
  void erase(const std::string& key) {
    const std::uint64_t id = begin();
    model().erase(id, key);
    start(id);
    pipeline_.erase(key, [this, id, key](Result<bool> outcome) {
      if (outcome && !*outcome) {
        model().batch(id, {});  // It found nothing and did nothing.
        model().returned(id, key, std::nullopt);
      }
      end(id, outcome);
    });
  }
  void get(const std::string& key) {
    const std::uint64_t id = begin();
    model().batch(id, {});
    start(id);
    auto value = std::make_shared<std::string>();
    pipeline_.get(key, *value, [this, id, key, value](Result<Version> outcome) {
      model().returned(id, key, outcome ? std::optional(*value) : std::nullopt);
      run().acknowledge(id);
    });
  }
  // Values of 8 bytes.
  void add_to_word(const std::string& key, std::uint64_t amount) {
    const std::uint64_t id = begin();
    model().batch(id, {});
    start(id);
    pipeline_.update_word(
        key, 0,
        [this, id, key, amount](std::uint64_t word) {
          model().batch(id, {{key, word_text(word + amount)}});
          model().returned(id, key, word_text(word));
          return word + amount;
        },
        [this, id](Result<std::uint64_t> outcome) { end(id, outcome); });
  }
  void append_text(const std::string& key, const std::string& more) {
    const std::uint64_t id = begin();
    model().batch(id, {});
    start(id);
    pipeline_.update(
        key,
        [this, id, key, more](std::string& value) {
          model().batch(id, {{key, value + more}});
          model().returned(id, key, value);
          value += more;
        },
        [this, id](Result<Version> outcome) { end(id, outcome); });
  }
  void flush() { pipeline_.flush().value(); }

 private:
  crash::Workload& run() { return tested_.run(); }
  KeyValueModel& model() { return tested_.model(); }
  std::uint64_t begin() { return tested_.take_id(); }
  // Each in flight is a session of its own: any of them may be there without the others.
  void start(std::uint64_t id) { run().begin(id, ++session_); }
  template <class T>
  void end(std::uint64_t id, const Result<T>& outcome) {
    EXPECT_TRUE(outcome) << outcome.error().message();
    run().acknowledge(id);
  }

  Tested& tested_;
  std::uint32_t session_;
  Pipeline<> pipeline_;
};

}  // namespace holdfast::kv
