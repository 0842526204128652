#include <holdfast/bench/stream/query_subject.hpp>

#include <utility>

#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/pipeline.hpp>

namespace holdfast::bench::stream {
namespace {

namespace hs = holdfast::stream;

class QuerySubject final : public RunsQuery<WindowSubject> {
 public:
  using RunsQuery::RunsQuery;

 protected:
  Status take_all(EventReader& reader) override {
    leave_own_cpu();
    auto sink = std::make_unique<AnswerSink>(answers_);
    auto interpreter = std::make_unique<hs::InterpretedOperators>(plan(), *sink, state());
    HF_ASSIGN_OR_RETURN(auto operators, on_workers(std::move(interpreter), workers()));
    hs::Pipeline pipeline(plan(), std::make_unique<EventSource>(reader), std::move(sink), state(),
                          std::move(operators));
    return run_all(pipeline);
  }
};

}  // namespace

std::unique_ptr<Subject> query_subject(const WindowSum& query, const QuerySetting& setting) {
  return std::make_unique<QuerySubject>(query, setting);
}

}  // namespace holdfast::bench::stream
