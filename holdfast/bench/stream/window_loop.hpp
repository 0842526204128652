// window_loop.hpp: the window sum as one writes it by hand, over a table of one's own. No NULL, no
// late rows, no checkpoints: the windows end where their events do.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <holdfast/bench/runner.hpp>
#include <holdfast/bench/stream/window_sum.hpp>

namespace holdfast::bench::stream {

// Takes the reader's events until it has no more. Answers come window by window.
template <class Table>
void sum_windows(EventReader& reader, Table& table, std::vector<WindowAnswer>& answers) {
  std::int64_t end = kWindowMs;
  const auto finish = [&] {
    auto& answer = answers.emplace_back();
    table.for_each([&](std::int64_t sensor, std::int64_t sum) { answer.add(sensor, sum); });
    table.clear();
  };
  for (;;) {
    const auto events = reader.next();
    if (events.empty()) break;
    for (const Event& event : events) {
      if (event.ts >= end) [[unlikely]] {
        finish();
        end += kWindowMs;
      }
      table.add(event.sensor, event.value);
    }
  }
  finish();
}

// A phase is whole rounds of the events, until its time is up.
class WindowSubject : public Subject {
 public:
  explicit WindowSubject(const WindowSum& query) : query_(query) {}

  Status run(PhaseThread& thread) override {
    thread.begin();
    if (thread.index() > 0) return thread.end(), Status();  // A query starts its workers itself.
    EventReader reader(query_, [&] { return thread.more(0); });
    HF_RETURN_IF_ERROR(take_all(reader));
    thread.end();
    rounds_ = reader.rounds();
    thread.operations = rounds_ * query_.events().size();
    thread.bytes = thread.operations * sizeof(Event);
    return {};
  }
  Status after(const Phase&) override {
    const auto answers = std::exchange(answers_, {});
    return query_.check(answers, rounds_);
  }

 protected:
  virtual Status take_all(EventReader& reader) = 0;

  const WindowSum& query_;
  std::vector<WindowAnswer> answers_;

 private:
  std::uint64_t rounds_ = 0;
};

template <class Table>
class HandWritten final : public WindowSubject {
 public:
  using WindowSubject::WindowSubject;
  Status create() override { return table_.emplace(query_.keys()), Status(); }
  void destroy() override { table_.reset(); }

 protected:
  Status take_all(EventReader& reader) override {
    return sum_windows(reader, *table_, answers_), Status();
  }

 private:
  std::optional<Table> table_;
};

}  // namespace holdfast::bench::stream
