#include <holdfast/bench/stream/query_subject.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <holdfast/stream/compile/query_source.hpp>
#include <holdfast/stream/compile/successor.hpp>
#include <holdfast/stream/interpreted_operators.hpp>
#include <holdfast/stream/pipeline.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>

namespace holdfast::bench::stream {
namespace {

namespace hs = holdfast::stream;

// The pipeline owns its source, the phase asks for its rounds.
class Borrowed final : public hs::RecordSource {
 public:
  explicit Borrowed(EventSource& source) : source_(source) {}
  Result<std::span<const std::byte>> next_records() override { return source_.next_records(); }
  hs::RecordClaim claim(std::size_t most) override { return source_.claim(most); }
  void read(const hs::RecordClaim& claim, std::byte* out) const override {
    source_.read(claim, out);
  }
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
      : WindowSubject(query), setting_(setting) {}

  bool counts_persists() const override { return setting_.in_kv; }
  // The library is in the cache when the clock starts.
  Status create() override {
    if (setting_.interpreted) return {};
    HF_ASSIGN_OR_RETURN(const auto source,
                        hs::compile::query_source(setting_.script->plans().front()));
    HF_ASSIGN_OR_RETURN(auto compilation, hs::compile::Compilation::begin(source.text, {}));
    const auto library = compilation.wait();
    return library ? Status() : Status(library.error());
  }
  Status before(const Phase&) override {
    using hs::compile::CompileMode;
    not_compiled_.reset();
    successor_ = hs::compile::compiled_successor(
        setting_.script->plans().front(),
        setting_.interpreted ? CompileMode::kNever : CompileMode::kWait, {},
        [this](const Error& error) { not_compiled_ = error; });
    if (!setting_.in_kv) return {};
    remove_region();
    HF_ASSIGN_OR_RETURN(auto store, hs::KvStateStore::open_region(setting_.region));
    state_ = std::make_unique<hs::KvStateStore>(std::move(store), 1);
    return {};
  }
  Fields phase_facts() const override {
    Fields facts;
    if (setting_.in_kv) facts.set("checkpoints", checkpoints_);
    return facts;
  }
  void destroy() override {
    state_.reset();
    if (setting_.in_kv) remove_region();
  }

 protected:
  Status take_all(EventSource& source) override {
    const auto& plan = setting_.script->plans().front();
    auto sink = std::make_unique<AnswerSink>(answers_);
    auto interpreter = std::make_unique<hs::InterpretedOperators>(plan, *sink, state_.get());
    hs::Pipeline pipeline(plan, std::make_unique<Borrowed>(source), std::move(sink), state_.get(),
                          std::move(interpreter));
    HF_RETURN_IF_ERROR(pipeline.resume());
    pipeline.set_successor(std::move(successor_));
    const auto interval =
        std::chrono::milliseconds(static_cast<std::int64_t>(setting_.checkpoint_seconds * 1'000));
    HF_RETURN_IF_ERROR(pipeline.run(interval, interrupted()));
    checkpoints_ = pipeline.report().checkpoints;
    if (pipeline.report().taken_over == setting_.interpreted)
      return not_compiled_.value_or(Error{Errc::kUnsupported, "the query was not compiled"});
    return {};
  }

 private:
  void remove_region() const {
    std::error_code ignored;
    if (setting_.region.starts_with("/"))
      std::filesystem::remove_all(setting_.region.substr(0, setting_.region.find('?')), ignored);
  }

  const QuerySetting setting_;
  hs::Successor successor_;
  std::optional<Error> not_compiled_;
  std::unique_ptr<hs::StateStore> state_;
  std::uint64_t checkpoints_ = 0;
};

}  // namespace

std::unique_ptr<Subject> query_subject(const WindowSum& query, const QuerySetting& setting) {
  return std::make_unique<QuerySubject>(query, setting);
}

}  // namespace holdfast::bench::stream
