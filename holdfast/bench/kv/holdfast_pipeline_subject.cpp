// Our own store through a Pipeline per thread: single operations of which the caller does not wait
// for each. A chunk of the loop ends with a flush, in the time that is measured, so that every
// answer is there when it is checked.
#include <holdfast/bench/kv/holdfast_store.hpp>
#include <holdfast/bench/kv/store_subject.hpp>
#include <holdfast/bench/kv/subjects.hpp>
#include <holdfast/kv/pipeline.hpp>

namespace holdfast::bench::kv {
namespace {

namespace store = holdfast::kv;

constexpr std::uint32_t kWindow = 32;  // Operations in flight.
static_assert(kChunk % kWindow == 0, "a flush would cut a window short");

class PipelineSession {
 public:
  PipelineSession(store::Store<>& store, const Records& records)
      : store_(store),
        records_(records),
        state_(std::make_unique<State>()),
        pipeline_(store::Pipeline<>::open(store, {.window = kWindow}).value()) {}

  bool put(const Key& key, ValueView value) {
    pipeline_.put(key.view(), value.view());
    return true;
  }
  bool overwrite(const Key& key, ValueView value) { return put(key, value); }
  // Filling; no operation of this subject.
  bool put_many(const Key* keys, const ValueView* values, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      put(keys[i], values[i]);
    return flush();
  }
  // The sampled answers after a phase.
  std::uint32_t get(const Key& key, std::byte* out) {
    const auto size = store_.get(key.view(), std::span(out, records_.value_stride()));
    return size ? static_cast<std::uint32_t>(*size) : kAbsent;
  }
  void get_later(const Key& key, std::byte* out, std::uint32_t& size) {
    pipeline_.get(key.view(), std::span(out, records_.value_stride()),
                  [&size](Result<std::uint64_t> length) {
                    size = length ? static_cast<std::uint32_t>(*length) : kAbsent;
                  });
  }
  bool get_many(const Key*, unsigned, std::byte*, std::size_t, ValueView*) { return false; }
  bool update8(const Key& key, std::uint64_t stamp) {
    pipeline_.update_word(
        key.view(), 0, [stamp](std::uint64_t word) { return stamped(word, stamp); },
        [state = state_.get()](Result<std::uint64_t> word) { state->failed += !word; });
    return true;
  }
  bool erase(const Key& key) {
    pipeline_.erase(key.view(), [state = state_.get()](Result<bool> erased) {
      state->failed += !erased || !*erased;
    });
    return true;
  }
  // All that was asked for is done.
  bool flush() {
    if (const Status flushed = pipeline_.flush(); !flushed) {
      state_->error = flushed.error().message();
      return false;
    }
    return state_->failed == 0;
  }
  std::string error() const { return state_->error.empty() ? "a key is not there" : state_->error; }

 private:
  struct State {  // Where callbacks find it when the session has moved.
    std::uint64_t failed = 0;
    std::string error;
  };

  store::Store<>& store_;
  const Records& records_;
  std::unique_ptr<State> state_;
  store::Pipeline<> pipeline_;
};

class PipelineStore : public HoldfastStore<store::Store<>, PipelineSession> {
 public:
  using HoldfastStore::HoldfastStore;
  bool supports(const std::string& operation) const {
    for (const char* ours : {"put", "overwrite", "get", "update8", "erase"}) {
      if (operation == ours) return true;
    }
    return false;
  }
  results::Fields facts() const {
    results::Fields facts = HoldfastStore::facts();
    facts.set("pipeline_window", std::uint64_t{kWindow});
    return facts;
  }
};

}  // namespace

SubjectKind holdfast_pipeline_kind() { return kind_of<PipelineStore>("holdfast-pipeline"); }

}  // namespace holdfast::bench::kv
