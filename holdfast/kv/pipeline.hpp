// pipeline.hpp: operations one by one at the price of groups.
// Public header.
//
//   auto pipeline = kv::Pipeline<>::open(store, {.window = 32}).value();
//   pipeline.put("ada", "lovelace");                                  // In flight.
//   std::string name;
//   const auto ticket = pipeline.get("ada", name);                    // Behind the put: sees it.
//   pipeline.erase("grace", [](Result<bool> was_there) { … });        // Acknowledged by a call.
//   if (pipeline.wait(ticket)) … name …                               // By its ticket.
//   pipeline.flush().value();                                         // Or all of them.
//
// A single verb waits for its own cache misses and its own fence. A pipeline copies what it is
// given, asks for the cache lines, and returns. When `window` operations are in flight, the next
// submission executes them together: N puts take about N / window fences.
//
// Guarantee  An operation takes effect between its submission and its acknowledgement, wholly or
//            not at all, and operations of one pipeline take effect in the order of submission:
//            each sees those before it. None is acknowledged before it is durable as its Durability
//            says. After a crash operations that were not acknowledged may be missing; of each key
//            a prefix of its operations is there. Verbs of the store itself do not see what is in
//            flight.
// Ends       flush() executes all that is in flight. The destructor does, too, and reports a
//            failure that neither a callback nor wait() nor flush() has told. The outcome of
//            operations that are in flight when the store is closed is kClosed, at flush() or
//            destruction; nothing of them was written.
// Errors     An operation's error, one of its verb of Store, reaches its own ticket or callback
//            only; the others go on. Also kClosed, without a store.
// Threads    One at a time. Any number of pipelines per store and thread.
//
// Callbacks  are called in order of submission, after the whole window has been executed, by the
//            thread that executes it. They may call all verbs of the store, and submit operations.
//            They must not flush(), wait() for what is in flight (kBusy), move or destroy the
//            pipeline. `change` of an update must not write to the store, and may be called again,
//            as in store.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <holdfast/kv/store.hpp>

namespace holdfast::kv {

struct PipelineOptions {
  // Operations in flight, 1 to 256. A larger window shares a fence among more and answers later.
  std::uint32_t window = 32;
  Durability durability = Durability::kDefault;  // Of all its writes; kDefault: the store's.
  // The destructor calls it once, if an operation failed and neither its callback nor wait() nor
  // flush() told so. Empty: a line on standard error.
  std::function<void(const Error&)> report = {};

  // kInvalidOption, naming the field, the value seen and what is allowed.
  Status validate() const;
};

// Names an operation that was submitted; T is what its verb returns. The numbers of a pipeline rise
// by one from 1 on.
template <class T>
struct Ticket {
  std::uint64_t number = 0;
};

class PipelineWindow;
struct PipelineWindowDeleter {
  void operator()(PipelineWindow* window) const;
};
using PipelineWindowPointer = std::unique_ptr<PipelineWindow, PipelineWindowDeleter>;

// What pipelines of all types have in common.
class PipelineBase {
 public:
  PipelineBase(PipelineBase&&) noexcept;
  PipelineBase& operator=(PipelineBase&&) = delete;
  ~PipelineBase();

  // Executes all that is in flight, acknowledges it, and returns the first failure since the last
  // flush() that was told neither by a callback nor by wait(). Absence (kNotFound) is no failure.
  Status flush();
  // The outcome of one operation. If it is in flight, wait() executes what is in flight. The
  // outcomes of at least the last `window` acknowledged operations are kept; for an earlier one
  // wait() is kInvalidOption.
  template <class T>
  Result<T> wait(Ticket<T> ticket) {
    return as<T>(outcome_of(ticket.number));
  }
  std::size_t in_flight() const;

 protected:
  using Receiver = std::function<void(Result<std::uint64_t>)>;
  using ChangeValue = std::function<void(std::string&)>;
  using ChangeWord = std::function<std::uint64_t(std::uint64_t)>;

  static Result<PipelineWindowPointer> open_window(StoreBase& store,
                                                   const PipelineOptions& options);
  explicit PipelineBase(PipelineWindowPointer window);

  // Each returns the number of its ticket.
  std::uint64_t submit_put(std::string_view key, std::string_view value, Receiver done = {});
  std::uint64_t submit_erase(std::string_view key, Receiver done = {});
  std::uint64_t submit_get(std::string_view key, std::string& value, Receiver done = {});
  // `length`: the outcome is the value's length, not its version.
  std::uint64_t submit_get(std::string_view key, std::span<std::byte> buffer, bool length,
                           Receiver done = {});
  std::uint64_t submit_update(std::string_view key, ChangeValue change, bool fixed_size,
                              Receiver done = {});
  std::uint64_t submit_update_word(std::string_view key, std::uint32_t offset_bytes,
                                   ChangeWord change, Receiver done = {});

  template <class T>
  static Result<T> as(Result<std::uint64_t> outcome) {
    if (!outcome) return std::move(outcome).pass_on();
    return static_cast<T>(*outcome);
  }
  // A callback that takes a Result<T>.
  template <class T, class Done>
  static Receiver receiver(Done&& done) {
    static_assert(std::is_invocable_v<Done&, Result<T>>,
                  "a callback takes the Result that the verb of Store would return");
    return [done = std::forward<Done>(done)](Result<std::uint64_t> outcome) mutable {
      done(as<T>(std::move(outcome)));
    };
  }

 private:
  Result<std::uint64_t> outcome_of(std::uint64_t ticket);

  PipelineWindowPointer window_;
};

// Each verb comes twice: the second form calls `done` with the Result that the verb of Store would
// return, instead of keeping it for wait() and flush(). Of fixed-size types, those of a
// Store<Key, Value> (typed_store.hpp).
template <class Key = AnyBytes, class Value = AnyBytes>
class Pipeline : public PipelineBase {
 public:
  // The store may be moved, and may be closed before the pipeline ends. Errors: kInvalidOption,
  // kClosed.
  static Result<Pipeline> open(Store<Key, Value>& store, const PipelineOptions& options = {}) {
    HF_ASSIGN_OR_RETURN(auto window, open_window(store, options));
    return Pipeline(std::move(window));
  }

  Ticket<PutOutcome> put(const Key& key, const Value& value) {
    return {submit_put(text(key), text(value))};
  }
  template <class Done>
  void put(const Key& key, const Value& value, Done done) {
    submit_put(text(key), text(value), receiver<PutOutcome>(std::move(done)));
  }
  Ticket<bool> erase(const Key& key) { return {submit_erase(text(key))}; }
  template <class Done>
  void erase(const Key& key, Done done) {
    submit_erase(text(key), receiver<bool>(std::move(done)));
  }
  // `value` is filled when the operation is acknowledged, and must live until then.
  Ticket<Version> get(const Key& key, Value& value) {
    return {submit_get(text(key), bytes(value), false)};
  }
  template <class Done>
  void get(const Key& key, Value& value, Done done) {
    submit_get(text(key), bytes(value), false, receiver<Version>(std::move(done)));
  }
  Ticket<Version> update(const Key& key, std::function<void(Value& value)> change) {
    return {submit_update(text(key), on_bytes(std::move(change)), true)};
  }
  template <class Done>
  void update(const Key& key, std::function<void(Value& value)> change, Done done) {
    submit_update(text(key), on_bytes(std::move(change)), true, receiver<Version>(std::move(done)));
  }
  Ticket<std::uint64_t> update_word(const Key& key, std::uint32_t offset_bytes, ChangeWord change) {
    return {submit_update_word(text(key), offset_bytes, std::move(change))};
  }
  template <class Done>
  void update_word(const Key& key, std::uint32_t offset_bytes, ChangeWord change, Done done) {
    submit_update_word(text(key), offset_bytes, std::move(change),
                       receiver<std::uint64_t>(std::move(done)));
  }

 private:
  using PipelineBase::PipelineBase;

  template <class T>
  static std::string_view text(const T& object) {
    return {reinterpret_cast<const char*>(&object), sizeof object};
  }
  static std::span<std::byte> bytes(Value& value) {
    return std::as_writable_bytes(std::span(&value, 1));
  }
  static ChangeValue on_bytes(std::function<void(Value&)> change) {
    return [change = std::move(change)](std::string& bytes) {
      Value value;
      std::memcpy(&value, bytes.data(), sizeof value);
      change(value);
      std::memcpy(bytes.data(), &value, sizeof value);
    };
  }
};

// The same of Store<>.
template <>
class Pipeline<> : public PipelineBase {
 public:
  static Result<Pipeline> open(Store<>& store, const PipelineOptions& options = {}) {
    HF_ASSIGN_OR_RETURN(auto window, open_window(store, options));
    return Pipeline(std::move(window));
  }

  Ticket<PutOutcome> put(std::string_view key, std::string_view value) {
    return {submit_put(key, value)};
  }
  template <class Done>
  void put(std::string_view key, std::string_view value, Done done) {
    submit_put(key, value, receiver<PutOutcome>(std::move(done)));
  }
  Ticket<bool> erase(std::string_view key) { return {submit_erase(key)}; }
  template <class Done>
  void erase(std::string_view key, Done done) {
    submit_erase(key, receiver<bool>(std::move(done)));
  }
  Ticket<Version> get(std::string_view key, std::string& value) { return {submit_get(key, value)}; }
  template <class Done>
  void get(std::string_view key, std::string& value, Done done) {
    submit_get(key, value, receiver<Version>(std::move(done)));
  }
  // Copies as much as fits; the outcome is the value's full length.
  Ticket<std::uint64_t> get(std::string_view key, std::span<std::byte> buffer) {
    return {submit_get(key, buffer, true)};
  }
  template <class Done>
  void get(std::string_view key, std::span<std::byte> buffer, Done done) {
    submit_get(key, buffer, true, receiver<std::uint64_t>(std::move(done)));
  }
  Ticket<Version> update(std::string_view key, ChangeValue change) {
    return {submit_update(key, std::move(change), false)};
  }
  template <class Done>
  void update(std::string_view key, ChangeValue change, Done done) {
    submit_update(key, std::move(change), false, receiver<Version>(std::move(done)));
  }
  Ticket<std::uint64_t> update_word(std::string_view key, std::uint32_t offset_bytes,
                                    ChangeWord change) {
    return {submit_update_word(key, offset_bytes, std::move(change))};
  }
  template <class Done>
  void update_word(std::string_view key, std::uint32_t offset_bytes, ChangeWord change, Done done) {
    submit_update_word(key, offset_bytes, std::move(change),
                       receiver<std::uint64_t>(std::move(done)));
  }

 private:
  using PipelineBase::PipelineBase;
};

}  // namespace holdfast::kv
