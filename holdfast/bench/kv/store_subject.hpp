// store_subject.hpp: the same loops around every store.
//
// StoreSubject<Store> turns a thin adapter (store_adapter.hpp says what it offers) into a Subject
// of the runner. The loops are templates, so that an adapter's calls are inlined into them and no
// store pays for an indirection another one does not have.
//
// Every answer is checked (workload.hpp), and after a phase a sample of what it wrote is read back
// and must carry the phase's number.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <holdfast/bench/kv/context.hpp>
#include <holdfast/bench/kv/device_counters.hpp>
#include <holdfast/bench/kv/filling.hpp>
#include <holdfast/bench/kv/helper_process.hpp>
#include <holdfast/bench/kv/operations.hpp>
#include <holdfast/bench/kv/scans.hpp>
#include <holdfast/bench/kv/steady.hpp>
#include <holdfast/bench/kv/store_adapter.hpp>
#include <holdfast/bench/kv/survival.hpp>
#include <holdfast/bench/kv/workload.hpp>
#include <holdfast/bench/runner.hpp>

namespace holdfast::bench::kv {

template <class Store>
class StoreSubject final : public Subject {
 public:
  StoreSubject(const Context& context, std::string name, unsigned repetition, HelperProcess* helper)
      : context_(context),
        records_(context.shape),
        name_(std::move(name)),
        repetition_(repetition),
        helper_(helper) {}
  ~StoreSubject() override { destroy(); }

  Status create() override {
    if (helper_ != nullptr && context_.measure_growth && repetition_ == 0)
      HF_RETURN_IF_ERROR(measure_growth());
    store_.emplace(context_, records_, name_);
    next_new_ = context_.records;
    HF_RETURN_IF_ERROR(store_->open(Opening::kPlanned));
    return store_->reserve(context_.records, context_.records);
  }

  Status prefill() override {
    HF_RETURN_IF_ERROR(fill(*store_, context_, records_, name_, 0));
    HF_RETURN_IF_ERROR(store_->settle());
    facts_.merge(store_->facts());
    facts_.set("key_bytes", context_.shape.key_bytes);
    facts_.set("value_bytes", context_.shape.value_bytes);
    if (context_.shape.variable)
      facts_.set("sizes", "normal, standard deviation a fifth of the mean");
    facts_.set("records", context_.records);
    facts_.set("distribution",
               context_.distribution == Distribution::kUniform ? "uniform" : "zipfian 0.99");
    if (context_.memory_limit_bytes != 0)
      facts_.set("memory_limit_bytes", context_.memory_limit_bytes);
    return sample_records(*store_, context_, records_, "after filling");
  }

  bool supports(const std::string& operation) const override {
    const auto* found = find_operation(operation);
    if (found == nullptr || (reclaiming(found->verb) && !Store::kReclaims) ||
        (is_scan(found->verb) && !ScansInOrder<Session>))
      return false;
    return store_ ? store_->supports(operation)
                  : Store(context_, records_, name_).supports(operation);
  }
  std::uint64_t operations_bound(const std::string& operation) const override {
    const auto& found = *find_operation(operation);
    if (found.verb == Verb::kSteadyOverwrite) return 0;  // Its time ends it.
    return found.appended > 0 ? context_.write_bound : context_.read_bound;
  }

  Status before(const Phase& phase) override {
    const auto& operation = *find_operation(phase.operation);
    HF_RETURN_IF_ERROR(store_->settle());
    done_.assign(phase.threads, 0);
    first_new_ = next_new_;
    if (operation.appended > 0) {
      const auto total = phase.operations + phase.threads * std::uint64_t{batch_of(phase)};
      const auto appended =
          static_cast<std::uint64_t>(static_cast<double>(total) * operation.appended) +
          phase.threads;
      if (operation.inserts) next_new_ += appended;
      HF_RETURN_IF_ERROR(store_->reserve(next_new_, appended));
    }
    if (is_scan(operation.verb) && greatest_rank_ == 0)
      greatest_rank_ = greatest_rank(context_.records);
    if (reclaiming(operation.verb)) HF_RETURN_IF_ERROR(make_holes(phase));
    if (operation.verb == Verb::kErase) {
      const auto wanted = std::max<std::uint64_t>(phase.operations, phase.threads);
      const auto count = std::min(wanted, context_.records);
      erased_ = permutation_slice(context_.records, mix(context_.seed + phase.number), 0, count);
    }
    phase_facts_ = results::Fields();
    if (context_.memory_limit_bytes != 0) device_before_ = device_counts(context_.base);
    if (operation.verb == Verb::kSteadyOverwrite) watch_.emplace(space_of_store(), phase.seconds);
    return {};
  }

  Status run(PhaseThread& thread) override {
    auto session = store_->session(thread.index());
    const auto& phase = thread.phase();
    switch (find_operation(phase.operation)->verb) {
      case Verb::kPut:
      case Verb::kPutReclaiming: return puts(thread, session);
      case Verb::kOverwrite: return overwrites(thread, session);
      case Verb::kSteadyOverwrite: return steady_writes(thread, session);
      case Verb::kPutMany: return put_many(thread, session);
      case Verb::kErase: return erases(thread, session);
      case Verb::kUpdate8: return updates(thread, session);
      case Verb::kGetMany: return get_many(thread, session);
      case Verb::kYcsbD: return latest(thread, session);
      case Verb::kScan:
      case Verb::kYcsbE:
        if constexpr (ScansInOrder<Session>) return scans(thread, session);
        break;
      case Verb::kGet:
      case Verb::kGetReclaiming:
      case Verb::kYcsbC: return gets(thread, session);
      case Verb::kYcsbA:
      case Verb::kYcsbB:
      case Verb::kYcsbW90: return mixed(thread, session, false);
      case Verb::kYcsbF:
      case Verb::kUpdateCopy: return mixed(thread, session, true);
    }
    return Error{Errc::kUnsupported, phase.operation};
  }

  Status after(const Phase& phase) override {
    const auto verb = find_operation(phase.operation)->verb;
    if (reclaimer_.joinable()) {
      reclaimer_.join();
      HF_RETURN_IF_ERROR(std::exchange(reclaimed_, Status()));
    }
    take_phase_facts();
    auto session = store_->session(0);
    for (unsigned thread = 0; thread < phase.threads; ++thread) {
      const auto done = done_[thread];
      const auto sampled = std::min<std::uint64_t>(done, kSampled);
      for (std::uint64_t i = done - sampled; i < done; ++i) {
        HF_RETURN_IF_ERROR(check_written(session, phase, verb, thread, i));
      }
    }
    if constexpr (ScansInOrder<Session>) {
      if (is_scan(verb))
        return check_scans(session, records_, context_.records, greatest_rank_, phase.number);
    }
    return verb == Verb::kErase ? put_back(session, phase) : ok_status();
  }

  PersistCounts persist_total() const override {
    PersistCounts counts;
    if (store_) (void)store_->persist_total(counts);
    return counts;
  }
  bool has_persist_total() const override {
    PersistCounts counts;
    return store_ && store_->persist_total(counts);
  }
  bool counts_persists() const override { return Store::kCountsPersists; }
  results::Fields facts() const override { return facts_; }
  results::Fields phase_facts() const override { return phase_facts_; }

  Result<std::vector<ExtraSample>> extras() override {
    if constexpr (Store::kKeepsFiles) {
      if (context_.measure_startup && store_->reopens()) {
        HF_ASSIGN_OR_RETURN(auto clean, reopened(*store_, context_, records_, "open_clean"));
        extras_.push_back(std::move(clean));
        if (helper_ == nullptr || interrupted()) return std::move(extras_);
        HF_ASSIGN_OR_RETURN(auto after_kill, killed(*store_, context_, records_, name_, *helper_));
        extras_.push_back(std::move(after_kill));
      }
    }
    return std::move(extras_);
  }

  void destroy() override {
    watch_.reset();  // It looks at the store. After an interruption nobody has ended it.
    if (reclaimer_.joinable()) reclaimer_.join();
    if (store_) store_->remove();
    store_.reset();
  }

  // In a child that will be killed.
  static Status work_until_killed(const Context& context, const std::string& name,
                                  HelperShared& shared) {
    if constexpr (Store::kKeepsFiles) return overwrite_until_killed<Store>(context, name, shared);
    return Error{Errc::kUnsupported, name + " keeps no files"};
  }

  // In a child: fills a new store from nothing, and removes it.
  static Status grow(const Context& context, const std::string& name, HelperShared& shared) {
    return grow_from_nothing<Store>(context, name, shared);
  }

 private:
  using Session = decltype(std::declval<Store&>().session(0u));

  static unsigned own_batch(const Phase& phase, unsigned batch) {
    return phase.operation == "group64" ? 64 : batch;
  }
  unsigned batch_of(const Phase& phase) const {
    const auto verb = find_operation(phase.operation)->verb;
    if (verb == Verb::kScan) return kScanRecords;
    return verb == Verb::kPutMany || verb == Verb::kGetMany ? own_batch(phase, context_.batch) : 1;
  }
  // Record numbers that each thread of a phase of inserts has to itself.
  std::uint64_t new_share(const Phase& phase) const {
    return (next_new_ - first_new_) / phase.threads;
  }

  static bool reclaiming(Verb verb) {
    return verb == Verb::kGetReclaiming || verb == Verb::kPutReclaiming;
  }

  // What the operations of one thread take, the same whenever it is asked.
  Choice choice_of(const Phase& phase, unsigned thread) const {
    if (find_operation(phase.operation)->inserts)
      return Choice::next_new(first_new_ + thread * new_share(phase));
    if (context_.distribution == Distribution::kZipfian)
      return Choice::listed(context_.zipf(thread, true).data(), kZipfListed - 1);
    const auto seed = mix(context_.seed ^ mix(phase.number * 1024 + thread +
                                              (std::uint64_t{phase.repetition} << 32)));
    return Choice::uniform(seed, context_.records);
  }
  Choice choice_of(const PhaseThread& thread) const {
    return choice_of(thread.phase(), thread.index());
  }

  // Places in a chunk for operations of `step` keys: one batch where the store lends its memory
  // until the next call, else kChunk, fewer for large values.
  unsigned places(unsigned step, bool one_batch) const {
    if (one_batch || waits()) return step;
    const auto fitting = std::max<std::size_t>(1, kChunk * 512 / records_.value_stride());
    return std::max(1u, static_cast<unsigned>(std::min<std::size_t>(kChunk, fitting)) / step) *
           step;
  }
  // Each call waits for a device: then the clock is looked at after each one.
  bool waits() const { return context_.promise == Promise::kPower; }

  // `stalls`: time each operation, also where this is no latency pass.
  template <class Make, class Run, class Check>
  Status loop(PhaseThread& thread, Session& session, Buffers& buffers, unsigned step, Make&& make,
              Run&& run, Check&& check, StallWatch* stalls = nullptr) {
    std::uint64_t bytes = 0;
    const auto counted = [&](unsigned j) { bytes += check(j); };
    const auto finish = [&] {
      if (!all_done(session)) [[unlikely]]
        thread.wrong("of a chunk: " + session.error());
    };
    const auto done =
        drive(thread, step, buffers.places(), waits(), make, run, finish, counted, stalls);
    thread.bytes = bytes;
    done_[thread.index()] = done;
    return {};
  }

  [[gnu::noinline, gnu::cold]] void failed(PhaseThread& thread, const char* verb, const Key& key,
                                           const Session& session) {
    thread.wrong(std::string(verb) + " of record " + std::to_string(key.index) +
                 " failed: " + session.error());
  }
  // Returns the bytes that the answer moved.
  std::uint64_t right(PhaseThread& thread, const Key& key, const std::byte* value,
                      std::uint32_t size, std::uint64_t newest) {
    if (records_.difference(key, value, size, newest) != 0) [[unlikely]]
      not_right(thread, key, size);
    return key.size + std::uint64_t{size};
  }
  [[gnu::noinline, gnu::cold]] void not_right(PhaseThread& thread, const Key& key,
                                              std::uint32_t size) {
    thread.wrong("record " + std::to_string(key.index) +
                 (size == kAbsent ? " was not found" : " has a value that was never written"));
  }

  Status gets(PhaseThread& thread, Session& session) {
    const auto choice = choice_of(thread);
    const auto number = thread.phase().number;
    Buffers buffers(records_, places(1, false));
    return loop(
        thread, session, buffers, 1,
        [&](std::uint64_t i, unsigned j) { buffers.make_key(j, choice(i)); },
        [&](unsigned j) {
          const auto& key = buffers.keys[j];
          if constexpr (requires(std::uint32_t& size) { session.get_later(key, nullptr, size); })
            session.get_later(key, buffers.value(j), buffers.values[j].size);
          else
            buffers.values[j].size = session.get(key, buffers.value(j));
        },
        [&](unsigned j) {
          return right(thread, buffers.keys[j], buffers.value(j), buffers.values[j].size, number);
        });
  }

  Status get_many(PhaseThread& thread, Session& session) {
    const auto choice = choice_of(thread);
    const auto number = thread.phase().number;
    const auto batch = batch_of(thread.phase());
    Buffers buffers(records_, places(batch, true));
    return loop(
        thread, session, buffers, batch,
        [&](std::uint64_t i, unsigned j) { buffers.make_key(j, choice(i)); },
        [&](unsigned j) {
          if (!session.get_many(&buffers.keys[j], batch, buffers.value(j), records_.value_stride(),
                                &buffers.values[j])) [[unlikely]] {
            failed(thread, "get_many", buffers.keys[j], session);
          }
        },
        [&](unsigned j) {
          const auto value = buffers.values[j];
          // An absent value may have no bytes; it then differs by its size.
          return right(thread, buffers.keys[j],
                       value.data != nullptr ? value.data : buffers.value(j), value.size, number);
        });
  }

  // Records of the phase's choice, `step` at a time: write(buffers, place).
  template <class Write>
  Status writes(PhaseThread& thread, Session& session, const char* verb, unsigned step,
                Write&& write, StallWatch* stalls = nullptr) {
    const auto choice = choice_of(thread);
    const auto number = thread.phase().number;
    Buffers buffers(records_, places(step, false));
    return loop(
        thread, session, buffers, step,
        [&](std::uint64_t i, unsigned j) { buffers.make_record(j, choice(i), number); },
        [&](unsigned j) {
          if (!write(buffers, j)) [[unlikely]]
            failed(thread, verb, buffers.keys[j], session);
        },
        [&](unsigned j) { return buffers.keys[j].size + std::uint64_t{buffers.values[j].size}; },
        stalls);
  }
  Status puts(PhaseThread& thread, Session& session) {
    return writes(thread, session, "put", 1, [&](const Buffers& records, unsigned at) {
      return session.put(records.keys[at], records.values[at]);
    });
  }
  Status put_many(PhaseThread& thread, Session& session) {
    const auto batch = batch_of(thread.phase());
    return writes(thread, session, "put_many", batch, [&](const Buffers& records, unsigned at) {
      return session.put_many(&records.keys[at], &records.values[at], batch);
    });
  }
  Status overwrites(PhaseThread& thread, Session& session, StallWatch* stalls = nullptr) {
    const auto overwrite = [&](const Buffers& records, unsigned at) {
      return session.overwrite(records.keys[at], records.values[at]);
    };
    return writes(thread, session, "put", 1, overwrite, stalls);
  }

  Status steady_writes(PhaseThread& thread, Session& session) {
    StallWatch stalls;
    auto status = overwrites(thread, session, &stalls);
    watch_->thread_ends(stalls);
    return status;
  }

  SteadyWatch::Space space_of_store() {
    if constexpr (requires(const Store& store) { store.space(); })
      return [this] { return store_->space(); };
    return {};
  }

  // What the phase that has just ended showed.
  void take_phase_facts() {
    std::uint64_t operations = 0;
    for (const auto done : done_)
      operations += done;
    if (watch_) {
      phase_facts_ = watch_->finish(operations);
      phase_facts_.set("space_goal", context_.space_goal);
      watch_.reset();
    }
    if (context_.memory_limit_bytes == 0) return;
    phase_facts_.merge(per_operation(device_before_, device_counts(context_.base), operations));
  }

  // Keys numbered by of(operation), whose records change in place, by `bytes` each: change(key).
  template <class Of, class Change>
  Status changes(PhaseThread& thread, Session& session, const char* verb, std::uint64_t bytes,
                 Of&& of, Change&& change) {
    Buffers buffers(records_, places(1, false));
    return loop(
        thread, session, buffers, 1,
        [&](std::uint64_t i, unsigned j) { buffers.make_key(j, of(i)); },
        [&](unsigned j) {
          if (!change(buffers.keys[j])) [[unlikely]]
            failed(thread, verb, buffers.keys[j], session);
        },
        [&](unsigned) { return bytes; });
  }
  Status updates(PhaseThread& thread, Session& session) {
    const auto number = thread.phase().number;
    return changes(thread, session, "update8", 8, choice_of(thread),
                   [&](const Key& key) { return session.update8(key, number); });
  }
  Status erases(PhaseThread& thread, Session& session) {
    const auto count = erased_.size() / thread.phase().threads;
    const auto* list = erased_.data() + thread.index() * count;
    HF_CHECK(thread.quota() <= count);
    return changes(
        thread, session, "erase", 0, [&](std::uint64_t i) { return list[i]; },
        [&](const Key& key) { return session.erase(key); });
  }

  // Reads, and where the pattern says so overwrites, after reading the old value if `read_first`.
  Status mixed(PhaseThread& thread, Session& session, bool read_first) {
    const auto pattern = find_operation(thread.phase().operation)->writes;
    const auto choice = choice_of(thread);
    const auto number = thread.phase().number;
    Buffers buffers(records_, places(1, false)), written(records_, places(1, false));
    std::vector<std::uint8_t> does_write(buffers.places());
    return loop(
        thread, session, buffers, 1,
        [&](std::uint64_t i, unsigned j) {
          does_write[j] = is_write(pattern, i);
          if (does_write[j]) written.make_record(j, choice(i), number);
          buffers.make_key(j, choice(i));
        },
        [&](unsigned j) {
          const auto& key = buffers.keys[j];
          if (!does_write[j] || read_first)
            buffers.values[j].size = session.get(key, buffers.value(j));
          if (does_write[j] && !session.overwrite(key, written.values[j])) [[unlikely]]
            failed(thread, "put", key, session);
        },
        [&](unsigned j) {
          std::uint64_t bytes = 0;
          if (!does_write[j] || read_first)
            bytes +=
                right(thread, buffers.keys[j], buffers.value(j), buffers.values[j].size, number);
          if (does_write[j]) bytes += buffers.keys[j].size + written.values[j].size;
          return bytes;
        });
  }

  // YCSB D: 5 % inserts; reads prefer the newest records, this thread's own inserts first.
  Status latest(PhaseThread& thread, Session& session) {
    Buffers buffers(records_, places(1, false));
    const auto number = thread.phase().number;
    const auto ranks = Choice::listed(context_.zipf(thread.index(), false).data(), kZipfListed - 1);
    const auto first = first_new_ + thread.index() * new_share(thread.phase());
    std::vector<std::uint8_t> is_insert(buffers.places());
    std::uint64_t inserted = 0;
    auto status = loop(
        thread, session, buffers, 1,
        [&](std::uint64_t i, unsigned j) {
          is_insert[j] = is_write(Writes::kOneOf20, i);
          if (is_insert[j]) return buffers.make_record(j, first + inserted++, number);
          const auto rank = ranks(i);
          const auto own = first + inserted - 1 - rank;
          const auto old = context_.records - 1 - (rank - std::min<std::uint64_t>(rank, inserted));
          buffers.make_key(j, rank < inserted ? own : old);
        },
        [&](unsigned j) {
          const auto& key = buffers.keys[j];
          if (!is_insert[j])
            buffers.values[j].size = session.get(key, buffers.value(j));
          else if (!session.put(key, buffers.values[j])) [[unlikely]]
            failed(thread, "put", key, session);
        },
        [&](unsigned j) {
          const auto& key = buffers.keys[j];
          if (!is_insert[j])
            return right(thread, key, buffers.value(j), buffers.values[j].size, number);
          return key.size + std::uint64_t{buffers.values[j].size};
        });
    done_[thread.index()] = inserted;
    return status;
  }

  Status scans(PhaseThread& thread, Session& session) {
    return run_scans(thread, session, context_, {records_, choice_of(thread), greatest_rank_},
                     done_[thread.index()], [&](Buffers& buffers, unsigned step, auto&&... parts) {
                       return loop(thread, session, buffers, step, parts...);
                     });
  }

  // The record that operation i of a thread wrote must now be as this phase left it.
  Status check_written(Session& session, const Phase& phase, Verb verb, unsigned thread,
                       std::uint64_t i) {
    if (!is_write(find_operation(phase.operation)->writes, i)) return {};
    const auto index = verb == Verb::kErase ? erased_[thread * (erased_.size() / phase.threads) + i]
                                            : choice_of(phase, thread)(i);
    Buffers buffers(records_, 1);
    const auto& key = buffers.make_key(0, index);
    const auto size = session.get(key, buffers.value());
    const auto where = [&] {
      return "after " + phase.operation + ": record " + std::to_string(index);
    };
    if (verb == Verb::kErase) {
      return size == kAbsent
                 ? ok_status()
                 : Error{Errc::kCorrupt, where() + " is still there although it was erased"};
    }
    if (size == kAbsent)
      return Error{Errc::kCorrupt, where() + " is not there although it was written"};
    if (records_.difference(key, buffers.value(), size, phase.number) != 0) {
      return Error{Errc::kCorrupt, where() + " has a value that was never written"};
    }
    const auto stamp = verb == Verb::kUpdate8 ? Records::stamp_of(buffers.value())
                                              : records_.version_of(key, buffers.value());
    if (stamp == phase.number) return {};
    return Error{Errc::kCorrupt, where() + " is as phase " + std::to_string(stamp) +
                                     " left it, and this one is " + std::to_string(phase.number)};
  }

  // A third of the records, at random, leave their places; then a reclamation starts beside the
  // phase.
  Status make_holes(const Phase& phase) {
    const auto moved = permutation_slice(context_.records, mix(context_.seed + phase.number), 0,
                                         context_.records / 3);
    {
      auto session = store_->session(0);
      Buffers buffers(records_, 1);
      for (const auto index : moved) {
        const auto& key = buffers.make_key(0, index);
        if (!session.erase(key))
          return Error{Errc::kIo, name_ + ": erase failed: " + session.error()};
      }
      HF_RETURN_IF_ERROR(load<Store>(session, records_, name_, moved.size(), phase.number,
                                     [&](std::uint64_t i) { return moved[i]; }));
    }
    if constexpr (Store::kReclaims)
      reclaimer_ = std::thread([this] { reclaimed_ = store_->reclaim(); });
    return {};
  }

  Status measure_growth() {
    const auto growth = helper_->grow(context_.request_prefix + name_);
    if (!growth) {
      Store(context_, records_, name_).remove();
      return growth.error();
    }
    const auto per_record = [&](std::uint64_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(context_.records);
    };
    facts_.set("dram_bytes_per_record", per_record(growth->dram_bytes));
    if constexpr (Store::kKeepsFiles)
      facts_.set("medium_bytes_per_record", per_record(growth->medium_bytes));
    extras_.push_back(growth_sample(*growth));
    return {};
  }

  Status put_back(Session& session, const Phase& phase) {
    const auto share = erased_.size() / phase.threads;
    for (unsigned thread = 0; thread < phase.threads; ++thread) {
      HF_RETURN_IF_ERROR(store_->reserve(next_new_, done_[thread]));
      HF_RETURN_IF_ERROR(load<Store>(session, records_, name_, done_[thread], phase.number,
                                     [&](std::uint64_t i) { return erased_[thread * share + i]; }));
    }
    return {};
  }

  const Context& context_;
  const Records records_;
  const std::string name_;
  const unsigned repetition_;
  HelperProcess* const helper_;
  std::optional<Store> store_;
  std::uint64_t first_new_ = 0,
                next_new_ = 0;         // Record numbers of this phase's inserts; the next free one.
  std::uint64_t greatest_rank_ = 0;    // Of the records that are filled in.
  std::vector<std::uint32_t> erased_;  // Of the current phase of erases.
  std::vector<std::uint64_t> done_;    // By thread of the current phase.
  std::vector<ExtraSample> extras_;
  results::Fields facts_, phase_facts_;
  std::optional<SteadyWatch> watch_;
  DeviceCounts device_before_;
  std::thread reclaimer_;
  Status reclaimed_;
};

}  // namespace holdfast::bench::kv
