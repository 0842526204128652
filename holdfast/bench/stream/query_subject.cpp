#include <holdfast/bench/stream/query_subject.hpp>

#include <utility>

#include <holdfast/bench/stream/query_state.hpp>
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

class QuerySubject final : public WindowSubject {
 public:
  QuerySubject(const WindowSum& query, const QuerySetting& setting)
      : WindowSubject(query), setting_(setting), code_(setting.script->plans().front()) {}

  bool counts_persists() const override { return setting_.in_kv; }
  Status create() override { return setting_.interpreted ? Status() : code_.load(); }
  Status before(const Phase&) override {
    if (!setting_.in_kv) return {};
    HF_ASSIGN_OR_RETURN(state_, open_state(setting_.region));
    return {};
  }
  Fields phase_facts() const override {
    Fields facts;
    if (setting_.in_kv) facts.set("checkpoints", checkpoints_);
    return facts;
  }
  void destroy() override {
    state_.reset();
    if (setting_.in_kv) remove_state(setting_.region);
  }

 protected:
  Status take_all(EventSource& source) override {
    const auto& plan = setting_.script->plans().front();
    auto sink = std::make_unique<AnswerSink>(answers_);
    auto interpreter = std::make_unique<hs::InterpretedOperators>(plan, *sink, state_.get());
    hs::Pipeline pipeline(plan, std::make_unique<Borrowed>(source), std::move(sink), state_.get(),
                          std::move(interpreter));
    HF_RETURN_IF_ERROR(pipeline.resume());
    if (!setting_.interpreted) pipeline.set_successor(code_.successor());
    HF_RETURN_IF_ERROR(pipeline.run(setting_.interval(), interrupted()));
    checkpoints_ = pipeline.report().checkpoints;
    if (pipeline.report().taken_over == setting_.interpreted)
      return Error{Errc::kUnsupported, "the query was not compiled"};
    return {};
  }

 private:
  const QuerySetting setting_;
  QueryCode code_;
  std::unique_ptr<hs::StateStore> state_;
  std::uint64_t checkpoints_ = 0;
};

}  // namespace

std::unique_ptr<Subject> query_subject(const WindowSum& query, const QuerySetting& setting) {
  return std::make_unique<QuerySubject>(query, setting);
}

}  // namespace holdfast::bench::stream
