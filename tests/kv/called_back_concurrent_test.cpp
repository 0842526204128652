// Every verb that may wait, called from within a verb that is under way, while another thread
// executes a verb that waits for that one. It works, or says kBusy; it never stands still.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <holdfast/kv/backup.hpp>
#include <holdfast/kv/checkpoint.hpp>
#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/space.hpp>

#include "support.hpp"

namespace holdfast::kv {
namespace {

// A pair that stands still would keep the test's threads for ever: it is named, and all ends.
class Deadline {
 public:
  explicit Deadline(std::string what)
      : watch_([this, what = std::move(what)] {
          for (int step = 0; step < 30'000; ++step) {
            if (done_) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          std::fprintf(stderr, "stands still: %s\n", what.c_str());
          std::_Exit(1);
        }) {}
  ~Deadline() {
    done_ = true;
    watch_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread watch_;
};

class CalledBackConcurrent : public OnEveryPlace {
 protected:
  struct Verb {
    const char* name;
    std::function<Errc()> call;
    bool refused = false;       // In a change.
    bool walk_refused = false;  // In a walk of a keyspace.
  };
  using Waiting = std::pair<const char*, std::function<void()>>;

  void SetUp() override {
    StoreOptions options = tiny();
    options.order = true;
    store_ = std::make_unique<Store<>>(open(options));
    space_ = store_->create_space("space").value();
    ASSERT_TRUE(store_->put("key", text_of(1, 100)));
    ASSERT_TRUE(space_.put("key", text_of(1, 100)));
  }

  // What waits for verbs under way, mostly with a lock.
  std::vector<Waiting> waiting() {
    return {
        {"reclaim", [this] { EXPECT_TRUE(store_->reclaim()); }},
        {"verify", [this] { EXPECT_TRUE(store_->verify().ok()); }},
        {"snapshot", [this] { store_->snapshot(); }},
        {"snapshots", [this] { EXPECT_TRUE(store_->snapshots({&space_, 1})); }},
        {"checkpoint", [this] { EXPECT_TRUE(store_->checkpoint()); }},
        {"mark", [this] { EXPECT_TRUE(store_->mark()); }},
        {"expire", [this] { EXPECT_TRUE(store_->expire(ruled_, {.prefix = "p", .ttl = 5})); }},
        {"set_clock", [this] { EXPECT_TRUE(store_->set_clock(store_->clock() + 1)); }},
        {"create and drop",
         [this] {
           EXPECT_TRUE(store_->create_space("made"));
           EXPECT_TRUE(store_->drop_space("made"));
         }},
        {"drop and set_clock",
         [this] {
           std::thread clock([this] { EXPECT_TRUE(store_->set_clock(store_->clock() + 1)); });
           EXPECT_TRUE(store_->drop_space("ruled"));
           clock.join();
           ruled_ = store_->create_space("ruled").value();
         }},
        {"reserve", [this] { EXPECT_TRUE(store_->reserve(10'000)); }},
    };
  }

  std::vector<Verb> verbs() {
    static const auto of_report = [](const VerifyReport& report) {
      if (report.ok()) return Errc::kOk;
      EXPECT_NE(report.defects[0].what.find("a verb that is under way"), std::string::npos)
          << report.defects[0].what;
      return Errc::kBusy;
    };
    static const auto visit = [](std::string_view, std::string_view, Version) { return true; };
    return {
        {"get", [this] { return store_->get("other", text_).code(); }},
        {"get of a space", [this] { return space_.get("other", text_).code(); }},
        {"count", [this] { return store_->count(), Errc::kOk; }},
        {"count of a space", [this] { return space_.count(), Errc::kOk; }},
        {"stats", [this] { return store_->stats(), Errc::kOk; }},
        {"stats of a space", [this] { return space_.stats(), Errc::kOk; }},
        {"sync", [this] { return store_->sync().code(); }},
        {"latencies", [this] { return store_->latencies(), Errc::kOk; }},
        {"sample_latencies", [this] { return store_->sample_latencies(0).code(); }},
        {"expiry_rules", [this] { return store_->expiry_rules(), Errc::kOk; }},
        {"expiry_rules of a space", [this] { return store_->expiry_rules(space_).code(); }},
        {"spaces", [this] { return store_->spaces(), Errc::kOk; }},
        {"space", [this] { return store_->space("space").code(); }},
        {"cursor",
         [this] {
           auto cursor = store_->cursor().value();
           cursor.first("");
           return cursor.status().code();
         }},
        {"cursor of a space",
         [this] {
           auto cursor = space_.cursor().value();
           cursor.first("");
           return cursor.status().code();
         }},
        {"the end of snapshots",
         [this] {
           held_ = Snapshot();
           of_space_ = Snapshot();
           return Errc::kOk;
         }},
        {"verify", [this] { return of_report(store_->verify()); }, true},
        {"verify of a space", [this] { return of_report(space_.verify()); }, true},
        {"reclaim", [this] { return store_->reclaim().code(); }, true},
        {"reserve", [this] { return store_->reserve(20'000).code(); }, true},
        {"snapshots", [this] { return store_->snapshots({&space_, 1}).code(); }, true},
        {"for_each of a space", [this] { return space_.for_each(visit).code(); }, true},
        {"snapshot", [this] { return store_->snapshot().version() != 0 ? Errc::kOk : Errc::kBusy; },
         true},
        {"snapshot of a space",
         [this] { return space_.snapshot().version() != 0 ? Errc::kOk : Errc::kBusy; }, true},
        {"checkpoint", [this] { return store_->checkpoint().code(); }, true, true},
        {"backup", [this] { return backup(*store_, scratch_.path("backups")).code(); }, true, true},
        {"mark", [this] { return store_->mark().code(); }, true, true},
        {"drop_mark", [this] { return store_->drop_mark().code(); }, true, true},
        {"expire", [this] { return store_->expire({.prefix = "q", .ttl = 1}).code(); }, true, true},
        {"set_clock", [this] { return store_->set_clock(~0ull).code(); }, true, true},
        {"create_space", [this] { return store_->create_space("new").code(); }, true, true},
        {"drop_space", [this] { return store_->drop_space("space").code(); }, true, true},
        {"close", [this] { return store_->close().code(); }, true, true},
    };
  }

  // So that each verb that waits has something to do: dead records in sealed runs, a rule whose
  // keyspace is gone.
  void prepare(int round, bool with_snapshots) {
    for (int i = 0; i < 12; ++i)
      ASSERT_TRUE(store_->put("other", text_of(static_cast<std::uint64_t>(round), 1'000)));
    ASSERT_TRUE(space_.put("other", "value"));
    if (ruled_.link() != nullptr) {
      ASSERT_TRUE(store_->drop_space("ruled"));
    }
    ruled_ = store_->create_space("ruled").value();
    ASSERT_TRUE(store_->expire(ruled_, {.ttl = 1}));
    ASSERT_TRUE(store_->drop_space("ruled"));
    ruled_ = store_->create_space("ruled").value();
    held_ = with_snapshots ? store_->snapshot() : Snapshot();
    of_space_ = with_snapshots ? space_.snapshot() : Snapshot();
  }

  // `within(call)`: calls it from within a verb.
  using Within = std::function<void(FunctionRef<void()> call)>;
  void run_all(const char* in, const Within& within, bool walk) {
    int round = 0;
    for (const auto& verb : verbs()) {
      const bool ends = std::string_view(verb.name).starts_with("the end");
      for (const auto& waits : waiting()) {
        const std::string what = std::string(verb.name) + " in " + in + ", beside " + waits.first;
        SCOPED_TRACE(what);
        const Deadline deadline(what);
        ASSERT_NO_FATAL_FAILURE(prepare(++round, ends));
        std::atomic<bool> inside{false};
        std::thread other([&] {
          while (!inside)
            std::this_thread::yield();
          waits.second();
        });
        bool called = false;
        Errc outcome = Errc::kOk;
        within([&] {
          if (std::exchange(called, true)) return;
          inside = true;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));  // The other waits by now.
          outcome = verb.call();
        });
        other.join();
        EXPECT_TRUE(called);
        EXPECT_EQ(outcome, (walk ? verb.walk_refused : verb.refused) ? Errc::kBusy : Errc::kOk);
        EXPECT_TRUE(store_->reclaim());  // Closes snapshots that ended within a verb.
        EXPECT_EQ(store_->stats().snapshots_open, 0u);
      }
    }
    EXPECT_TRUE(store_->verify().ok());
    EXPECT_TRUE(store_->close());
  }

  std::unique_ptr<Store<>> store_;
  Space space_, ruled_;
  Snapshot held_, of_space_;
  std::string text_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, CalledBackConcurrent, kEveryPlace, place_name);

TEST_P(CalledBackConcurrent, InAChange) {
  run_all(
      "a change",
      [this](FunctionRef<void()> call) {
        EXPECT_TRUE(store_->update("key", [&](std::string&) { call(); }));
      },
      false);
}
TEST_P(CalledBackConcurrent, InAChangeOfASpace) {
  run_all(
      "a change of a space",
      [this](FunctionRef<void()> call) {
        EXPECT_TRUE(space_.update("key", [&](std::string&) { call(); }));
      },
      false);
}
TEST_P(CalledBackConcurrent, InAGroupOfChanges) {
  const std::vector<std::string_view> keys{"key"};
  run_all(
      "a group of changes",
      [&](FunctionRef<void()> call) {
        std::vector<Errc> outcomes(1);
        EXPECT_TRUE(
            store_->update_many(keys, [&](std::size_t, std::string&) { call(); }, outcomes));
      },
      false);
}
TEST_P(CalledBackConcurrent, InAWalkOfASpace) {
  run_all(
      "a walk of a space",
      [this](FunctionRef<void()> call) {
        EXPECT_TRUE(space_.for_each([&](std::string_view, std::string_view, Version) {
          call();
          return true;
        }));
      },
      true);
}

}  // namespace
}  // namespace holdfast::kv
