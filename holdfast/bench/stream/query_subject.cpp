#include <holdfast/bench/stream/query_subject.hpp>

#include <utility>

#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/pipeline.hpp>

namespace holdfast::bench::stream {
namespace {

namespace hs = holdfast::stream;

// The pipeline owns its source, the phase asks for its rounds.
class Borrowed final : public hs::RecordSource {
 public:
  explicit Borrowed(EventSource& source) : source_(source) {}
  Result<std::span<const std::byte>> next_records() override { return source_.next_records(); }
  void give_back(std::size_t records) override { source_.give_back(records); }
  Result<bool> next(sql::Row& row) override { return source_.next(row); }
  std::string position() const override { return source_.position(); }
  Status seek(std::string_view position) override { return source_.seek(position); }
  std::string place() const override { return source_.place(); }

 private:
  EventSource& source_;
};

class QuerySubject final : public RunsQuery<WindowSubject> {
 public:
  using RunsQuery::RunsQuery;

 protected:
  Status take_all(EventSource& source) override {
    auto sink = std::make_unique<AnswerSink>(answers_);
    auto interpreter = std::make_unique<hs::InterpretedOperators>(plan(), *sink, state());
    hs::Pipeline pipeline(plan(), std::make_unique<Borrowed>(source), std::move(sink), state(),
                          std::move(interpreter));
    return run_all(pipeline);
  }
};

}  // namespace

std::unique_ptr<Subject> query_subject(const WindowSum& query, const QuerySetting& setting) {
  return std::make_unique<QuerySubject>(query, setting);
}

}  // namespace holdfast::bench::stream
