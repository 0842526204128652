// record_histories.cpp: lets clients loose on a store, kills them, goes on, and prints what each
// one saw.
//
//   record_histories OUT [--rounds N] [--histories M] [--seed S] [--directory DIR] [--broken HOW]
//
// A round has a store of its own, alternately a plain directory and tmpfs with granularity=line,
// and M histories of kKeys fresh keys. In the first process kClients threads do kOperations
// operations each on one history, then all on the next; other records are written in between, so
// that blocks fill, are sealed and reclaimed. SIGKILL ends it at a random history. A second process
// opens the store and goes on with two clients per history begun; it is killed as well. A third
// reads every key, by get() and by snapshot. Every third round kills nothing: there the histories
// are those of a running store.
//
// --broken stands a worse store in the place of ours (struct Broken), so that run.sh can see the
// checker refuse what it did.
//
// Output  OUT: JSON lines for checker/. Standard output: what was recorded.
// Exit    0 recorded, 1 not recorded, 2 wrong usage.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/kv/cursor.hpp>
#include <holdfast/kv/pipeline.hpp>
#include <holdfast/kv/store.hpp>

#include "../real/shared_log.hpp"
#include "history.hpp"

namespace holdfast::linearizability {
namespace {

using real::now_ns;

constexpr std::uint32_t kClients = 3, kOperations = 10;  // Of the first process, per history.
constexpr std::uint32_t kLaterClients = 2, kLaterOperations = 4;  // Of the second.
constexpr std::uint32_t kReads = kKeys + 1;                       // Of the third.
constexpr std::uint32_t kSlots = kClients * kOperations + kLaterClients * kLaterOperations + kReads;

// What a store may do wrong; run.sh tries each.
struct Broken {
  bool stale_reads = false;    // A get may answer what this client saw before.
  bool blind_compare = false;  // compare_and_put() takes the version there is for the expected one.
  bool torn_batches = false;   // A batch is several writes, one after the other.
  bool lost_writes = false;    // Recovery forgets one key in three.
  // False: there is no such fault.
  bool set(std::string_view how) {
    bool* const fault = how == "stale_reads"     ? &stale_reads
                        : how == "blind_compare" ? &blind_compare
                        : how == "torn_batches"  ? &torn_batches
                        : how == "lost_writes"   ? &lost_writes
                                                 : nullptr;
    if (fault != nullptr) *fault = true;
    return fault != nullptr;
  }
};

struct Arguments {
  Broken broken;
  std::string out;
  std::uint64_t rounds = 9;
  std::uint64_t histories = 300;  // Per round.
  std::uint64_t seed = 0;
  std::string directory = "/tmp";
};

// What the processes of a round share.
struct Shared {
  std::atomic<std::uint64_t> begun[2];     // Histories that the first and the second process began.
  std::atomic<std::uint64_t> finished[2];  // Set to 1 when all were done.
  char error[512];
  Entry entries[1];  // [history][slot]
};

struct Slots {
  std::uint32_t first, clients, operations;
};
constexpr Slots kFirst{0, kClients, kOperations};
constexpr Slots kSecond{kClients * kOperations, kLaterClients, kLaterOperations};
constexpr Slots kThird{kClients * kOperations + kLaterClients * kLaterOperations, 1, kReads};

[[noreturn]] void die(Shared& shared, const std::string& error) {
  std::snprintf(shared.error, sizeof shared.error, "%s", error.c_str());
  std::_Exit(1);
}

std::string key_name(std::uint64_t history, std::uint32_t key) {
  return "history/" + std::to_string(history) + "/" + std::to_string(key);
}

// Word 0 and 1, then bytes that follow from the id: 16 to 900 bytes, so that a block of 4 KiB soon
// is full.
std::string value_of(std::uint64_t id) {
  std::string value(16 + id * 0x9e3779b97f4a7c15u % 884, static_cast<char>('a' + id % 26));
  std::memcpy(value.data(), &id, 8);
  std::memcpy(value.data() + 8, &id, 8);
  return value;
}

// One client: draws operations, does them, writes down what it saw.
class Client {
 public:
  Client(Shared& shared, kv::Store<>& store, std::uint64_t seed, const Broken& broken)
      : shared_(shared),
        store_(store),
        broken_(broken),
        random_(seed),
        pipeline_(kv::Pipeline<>::open(store, {.window = 3}).value()) {}

  void begin(std::uint64_t history) {
    history_ = history;
    last_seen_ = {};
    seen_before_ = {};
  }

  // `id`: unique in the round; + key names the single writes of a batch.
  void operate(Entry& entry, std::uint64_t id) {
    static constexpr Kind kKinds[] = {Kind::kGet,
                                      Kind::kGet,
                                      Kind::kGetMany,
                                      Kind::kSnapshot,
                                      Kind::kPut,
                                      Kind::kPut,
                                      Kind::kPutIfAbsent,
                                      Kind::kCompareAndPut,
                                      Kind::kUpdate,
                                      Kind::kUpdateWord,
                                      Kind::kUpdateWord,
                                      Kind::kErase,
                                      Kind::kBatch,
                                      Kind::kBatch,
                                      Kind::kCompareAndPut,
                                      Kind::kPipelinedGet,
                                      Kind::kPipelinedGet,
                                      Kind::kPipelinedPut,
                                      Kind::kPipelinedPut,
                                      Kind::kPipelinedUpdateWord,
                                      Kind::kPipelinedErase,
                                      Kind::kRange};
    entry.kind = kKinds[draw(std::size(kKinds))];
    std::array<std::uint32_t, kKeys> keys{};
    for (std::uint32_t i = 0; i < kKeys; ++i)
      keys[i] = i;
    std::shuffle(keys.begin(), keys.end(), random_);
    const bool several = entry.kind == Kind::kBatch || entry.kind == Kind::kGetMany;
    const bool all = entry.kind == Kind::kSnapshot || entry.kind == Kind::kRange;
    entry.key_count = all ? kKeys : several ? 2 + draw(kKeys - 1) : 1;
    for (std::uint32_t i = 0; i < entry.key_count; ++i) {
      entry.keys[i] = keys[i];
      entry.erases[i] = entry.kind == Kind::kBatch && draw(4) == 0;
      entry.ids[i] = id + i;
    }
    entry.expected = entry.kind == Kind::kCompareAndPut ? last_seen_[keys[0]] : 0;
    if (entry.kind >= Kind::kPipelinedGet)
      submit(entry);
    else
      perform(entry);
    if (draw(8) == 0) std::this_thread::yield();
  }

  // What is in flight returns.
  void finish() { require(pipeline_.flush(), Errc::kOk); }

  void read(Entry& entry, std::uint32_t number) {
    entry.kind = number < kKeys ? Kind::kGet : Kind::kSnapshot;
    entry.key_count = number < kKeys ? 1 : kKeys;
    for (std::uint32_t i = 0; i < entry.key_count; ++i)
      entry.keys[i] = number < kKeys ? number : i;
    perform(entry);
  }

 private:
  std::uint32_t draw(std::uint64_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  // The fences order the operation's loads and stores with the clock, which is no memory: without
  // the second, a store may still wait in this core's buffer when the clock is read, and another
  // core that reads its clock later still sees the old value (0 to 3.7 us later on a Xeon with two
  // CPUs, in one of 3,000 reads that raced; with the fence in none of 30 million).
  void perform(Entry& entry) {
    entry.called_ns.store(now_ns(), std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    call(entry);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ended(entry);
  }

  void ended(Entry& entry) {
    entry.returned_ns.store(now_ns(), std::memory_order_release);
    for (std::uint32_t i = 0; i < entry.key_count; ++i) {
      if (entry.seen[i].version != 0) last_seen_[entry.keys[i]] = entry.seen[i].version;
    }
    if (entry.version != 0 && entry.kind != Kind::kBatch) last_seen_[entry.keys[0]] = entry.version;
  }

  // The same through the pipeline: the operation returns in its callback, perhaps much later.
  void submit(Entry& entry) {
    entry.called_ns.store(now_ns(), std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::string key = key_name(history_, entry.keys[0]);
    const std::uint64_t id = entry.ids[0];
    // `absent`: what is answered where there is no record.
    const auto returns = [this, &entry](auto&& take, Errc absent) {
      return [this, &entry, take, absent](auto result) {
        require(result, absent);
        entry.succeeded = result.has_value();
        if (result) take(*result);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        ended(entry);
      };
    };
    switch (entry.kind) {
      case Kind::kPipelinedGet: {
        auto value = std::make_shared<std::string>();
        const auto take = [this, &entry, value](kv::Version version) {
          see(entry.seen[0], *value, version);
        };
        return pipeline_.get(key, *value, returns(take, Errc::kNotFound));
      }
      case Kind::kPipelinedPut: {
        const auto take = [&entry](kv::PutOutcome put) {
          entry.overwrote = put == kv::PutOutcome::kOverwrote;
        };
        return pipeline_.put(key, value_of(id), returns(take, Errc::kOk));
      }
      case Kind::kPipelinedUpdateWord: {
        const auto take = [&entry](std::uint64_t word) {
          entry.seen[0] = {.present = 1, .word = word, .base = 0, .version = 0};
        };
        return pipeline_.update_word(
            key, 0, [id](std::uint64_t) { return id; }, returns(take, Errc::kNotFound));
      }
      default: {
        const auto take = [&entry](bool was_there) { entry.succeeded = was_there; };
        return pipeline_.erase(key, returns(take, Errc::kOk));
      }
    }
  }

  void call(Entry& entry) {
    const std::string key = key_name(history_, entry.keys[0]);
    const std::uint64_t id = entry.ids[0];
    switch (entry.kind) {
      case Kind::kGet: return get(entry, key);
      case Kind::kGetMany: return get_many(entry);
      case Kind::kSnapshot: return snapshot(entry);
      case Kind::kRange: return range(entry);
      case Kind::kPut: {
        const auto outcome = store_.put(key, value_of(id));
        require(outcome, Errc::kOk);
        entry.succeeded = 1;
        entry.overwrote = *outcome == kv::PutOutcome::kOverwrote;
        return;
      }
      case Kind::kPutIfAbsent:
        return wrote(entry, store_.put_if_absent(key, value_of(id)), Errc::kAlreadyExists);
      case Kind::kCompareAndPut:
        if (broken_.blind_compare) {
          if (const auto there = store_.get(key, value_))
            return wrote(entry, store_.compare_and_put(key, *there, value_of(id)),
                         Errc::kVersionMismatch);
        }
        return wrote(entry, store_.compare_and_put(key, entry.expected, value_of(id)),
                     Errc::kVersionMismatch);
      case Kind::kUpdate: {
        const auto change = [&](std::string& value) {
          see(entry.seen[0], value, 0);
          value = value_of(id);
        };
        return wrote(entry, store_.update(key, change), Errc::kNotFound);
      }
      case Kind::kUpdateWord: {
        const auto old = store_.update_word(key, 0, [&](std::uint64_t) { return id; });
        require(old, Errc::kNotFound);
        entry.succeeded = old.has_value();
        if (old) entry.seen[0] = {.present = 1, .word = *old, .base = 0, .version = 0};
        return;
      }
      case Kind::kErase: {
        const auto erased = store_.erase(key);
        require(erased, Errc::kOk);
        entry.succeeded = *erased;
        return;
      }
      case Kind::kBatch: return batch(entry);
      default: break;
    }
    die(shared_, "no such kind");
  }

  void get(Entry& entry, const std::string& key) {
    std::optional<Seen>& before = seen_before_[entry.keys[0]];
    if (broken_.stale_reads && before && draw(2) == 0) {
      entry.seen[0] = *before;
      return;
    }
    ask(entry, key);
    before = entry.seen[0];
  }

  void ask(Entry& entry, const std::string& key) {
    if (draw(4) == 0) {
      const auto pinned = store_.get_pinned(key);
      require(pinned, Errc::kNotFound);
      if (pinned) see(entry.seen[0], pinned->value(), pinned->version());
      return;
    }
    const auto version = store_.get(key, value_);
    require(version, Errc::kNotFound);
    if (version) see(entry.seen[0], value_, *version);
  }

  void get_many(Entry& entry) {
    std::array<std::string, kKeys> names, values;
    std::array<std::string_view, kKeys> views;
    std::array<Errc, kKeys> outcomes{};
    const std::size_t n = entry.key_count;
    for (std::size_t i = 0; i < n; ++i)
      views[i] = names[i] = key_name(history_, entry.keys[i]);
    require(store_.get_many(std::span{views}.first(n), std::span{values}.first(n),
                            std::span{outcomes}.first(n)),
            Errc::kOk);
    for (std::size_t i = 0; i < n; ++i) {
      if (outcomes[i] == Errc::kOk) {
        see(entry.seen[i], values[i], 0);
      } else if (outcomes[i] != Errc::kNotFound) {
        die(shared_, "get_many: an outcome that is neither kOk nor kNotFound");
      }
    }
  }

  void snapshot(Entry& entry) {
    const kv::Snapshot snapshot = store_.snapshot();
    for (std::uint32_t i = 0; i < entry.key_count; ++i) {
      const auto version = snapshot.get(key_name(history_, entry.keys[i]), value_);
      require(version, Errc::kNotFound);
      if (version) see(entry.seen[i], value_, *version);
    }
  }

  void range(Entry& entry) {
    const kv::Snapshot snapshot = store_.snapshot();
    auto cursor = snapshot.cursor();
    require(cursor, Errc::kOk);
    std::string before;
    for (cursor->first(key_name(history_, 0).substr(0, key_name(history_, 0).size() - 1)); *cursor;
         cursor->next()) {
      const std::string_view key = cursor->key();
      if (key <= before) die(shared_, "range: keys do not ascend");
      before = key;
      for (std::uint32_t i = 0; i < entry.key_count; ++i) {
        if (key != key_name(history_, entry.keys[i])) continue;
        see(entry.seen[i], std::string(cursor->value()), cursor->version());
      }
    }
    require(cursor->status(), Errc::kOk);
  }

  void batch(Entry& entry) {
    if (broken_.torn_batches) return write_one_by_one(entry);
    kv::WriteBatch batch;
    for (std::uint32_t i = 0; i < entry.key_count; ++i) {
      const std::string key = key_name(history_, entry.keys[i]);
      if (entry.erases[i] != 0) {
        batch.erase(key);
      } else {
        batch.put(key, value_of(entry.ids[i]));
      }
    }
    wrote(entry, store_.write(batch), Errc::kOk);
  }

  void write_one_by_one(Entry& entry) {
    for (std::uint32_t i = 0; i < entry.key_count; ++i) {
      kv::WriteBatch single;
      const std::string key = key_name(history_, entry.keys[i]);
      if (entry.erases[i] != 0) {
        single.erase(key);
      } else {
        single.put(key, value_of(entry.ids[i]));
      }
      wrote(entry, store_.write(single), Errc::kOk);
      entry.version = 0;  // Each has its own; what is to be noticed is that others come between.
      std::this_thread::yield();
    }
  }

  void see(Seen& seen, std::string_view value, std::uint64_t version) {
    seen = {.present = 1, .word = 0, .base = 0, .version = version};
    if (value.size() < 16)
      die(shared_, "a value of " + std::to_string(value.size()) + " bytes, which nobody wrote");
    std::memcpy(&seen.word, value.data(), 8);
    std::memcpy(&seen.base, value.data() + 8, 8);
    if (value.substr(8) != std::string_view{value_of(seen.base)}.substr(8))
      die(shared_, "a value that nobody wrote");
  }

  void wrote(Entry& entry, const Result<kv::Version>& result, Errc refusal) {
    require(result, refusal);
    entry.succeeded = result.has_value();
    if (result) entry.version = *result;
  }

  template <class R>
  void require(const R& result, Errc also_allowed) {
    if (!result && result.code() != also_allowed) die(shared_, result.error().message());
  }

  Shared& shared_;
  kv::Store<>& store_;
  const Broken& broken_;
  std::mt19937_64 random_;
  std::uint64_t history_ = 0;
  std::array<std::optional<Seen>, kKeys> seen_before_;
  std::array<std::uint64_t, kKeys>
      last_seen_{};  // Versions, for kCompareAndPut; 0: not seen, or absent.
  std::string value_;
  kv::Pipeline<> pipeline_;
};

// A meeting point of `count` threads, before most operations: without it one core would do all of
// one client's operations before it turns to the next.
class Rendezvous {
 public:
  explicit Rendezvous(std::uint32_t count) : count_(count) {}
  void wait() {
    const std::uint64_t ticket = arrived_.fetch_add(1);
    const std::uint64_t target = (ticket / count_ + 1) * count_;
    while (arrived_.load() < target)
      std::this_thread::yield();
  }

 private:
  std::uint64_t count_;
  std::atomic<std::uint64_t> arrived_{0};
};

class Round {
 public:
  Round(const Arguments& arguments, std::uint64_t number)
      : arguments_(arguments),
        number_(number),
        random_(arguments.seed * 1000 + number),
        path_((number % 2 == 0 ? arguments.directory : std::string{"/dev/shm"}) +
              "/holdfast-histories-" + std::to_string(getpid())),
        spec_(path_ + (number % 2 == 0 ? "" : "?granularity=line")),
        bytes_(sizeof(Shared) + arguments.histories * kSlots * sizeof(Entry)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HF_CHECK(memory != MAP_FAILED);
    shared_ = static_cast<Shared*>(memory);  // Zero bytes are the initial state of all it holds.
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  ~Round() {
    munmap(shared_, bytes_);
    std::filesystem::remove_all(path_);
  }

  bool record(std::FILE* out) {
    const bool kills = number_ % 3 != 0;
    if (!run_process(0, [this] { work(kFirst, 0, arguments_.histories); }, kills)) return false;
    const std::uint64_t begun = shared_->begun[0].load();
    if (!run_process(1, [this, begun] { work(kSecond, 1, begun); }, kills)) return false;
    if (!run_process(2, [this, begun] { read_all(begun); }, false)) return false;
    for (std::uint64_t history = 0; history < begun; ++history)
      print(out, history);
    histories += begun;
    return true;
  }

  std::uint64_t histories = 0, operations = 0, pending = 0, overlapping = 0;
  // Per kind: returned, and in flight when their process was killed.
  std::array<std::array<std::uint64_t, 2>, static_cast<std::size_t>(Kind::kCount)> of_kind{};

 private:
  Entry& entry(std::uint64_t history, const Slots& slots, std::uint32_t client,
               std::uint32_t operation) {
    return (&shared_->entries[0])[history * kSlots + slots.first + client * slots.operations +
                                  operation];
  }

  kv::Store<> open_store() {
    kv::StoreOptions options;
    options.block_bytes = 8 * KiB;
    options.segment_bytes = 1 * MiB;
    options.initial_bytes = 1 * MiB;
    options.patchable_words = {0};
    options.order = true;
    auto store = kv::Store<>::open(spec_, options);
    if (!store) die(*shared_, "open: " + store.error().message());
    return std::move(store).value();
  }

  // The first or the second process: all histories, one after the other.
  void work(const Slots& slots, std::uint32_t process, std::uint64_t histories_to_do) {
    kv::Store<> store = open_store();
    Rendezvous rendezvous{slots.clients};
    std::vector<std::thread> threads;
    for (std::uint32_t c = 0; c < slots.clients; ++c) {
      threads.emplace_back([&, c] {
        Client client{*shared_, store, (arguments_.seed * 1000 + number_) * 16 + process * 8 + c,
                      arguments_.broken};
        for (std::uint64_t history = 0; history < histories_to_do; ++history) {
          shared_->begun[process].store(history + 1);
          client.begin(history);
          for (std::uint32_t o = 0; o < slots.operations; ++o) {
            // Not before every one: an operation shall also overlap two of another client's.
            if ((history + o) % 3 != 1) rendezvous.wait();
            // Unique in the round: slot and history, with room for the members of a batch. Never 0.
            const std::uint64_t slot = slots.first + c * slots.operations + o;
            client.operate(entry(history, slots, c, o), ((history + 1) * kSlots + slot) * kKeys);
          }
          client.finish();
          write_others(store, c, history);
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    shared_->finished[process].store(1);
    if (const Status closed = store.close(); !closed)
      die(*shared_, "close: " + closed.error().message());
  }

  // Records that no history reads, overwritten again and again: garbage to reclaim, blocks to seal.
  void write_others(kv::Store<>& store, std::uint32_t client, std::uint64_t history) {
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::string key =
          "other/" + std::to_string(client) + "/" + std::to_string((history * 6 + i) % 50);
      if (const auto put = store.put(key, value_of(history + i)); !put)
        die(*shared_, put.error().message());
    }
  }

  void read_all(std::uint64_t begun) {
    kv::Store<> store = open_store();
    Client client{*shared_, store, 1, arguments_.broken};
    for (std::uint64_t history = 0; history < begun; ++history) {
      client.begin(history);
      if (arguments_.broken.lost_writes && history % 3 == 0)
        store.erase(key_name(history, 0)).value();
      for (std::uint32_t o = 0; o < kReads; ++o)
        client.read(entry(history, kThird, 0, o), o);
    }
    if (const kv::VerifyReport report = store.verify(); !report.ok()) {
      die(*shared_, "verify: " + report.defects[0].what);
    }
    if (const Status closed = store.close(); !closed)
      die(*shared_, "close: " + closed.error().message());
  }

  // Forks a process that runs `body`; kills it, if asked to, when it has begun a random number of
  // histories.
  template <class Body>
  bool run_process(std::uint32_t process, const Body& body, bool with_kill) {
    const std::uint64_t kill_at = 1 + random_() % arguments_.histories;
    const pid_t pid = fork();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      body();
      std::_Exit(0);
    }
    int status = 0;
    if (with_kill) {
      while (waitpid(pid, &status, WNOHANG) == 0 && shared_->begun[process].load() < kill_at) {
        std::this_thread::sleep_for(std::chrono::microseconds{20});
      }
      std::this_thread::sleep_for(std::chrono::microseconds{random_() % 100});
      kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    dead_at_ns_[process] = now_ns();
    const bool killed = with_kill && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (killed || ended) return true;
    std::printf("FAIL record_histories: round %llu, process %u, seed %llu: %s (wait status %d)\n",
                static_cast<unsigned long long>(number_), process,
                static_cast<unsigned long long>(arguments_.seed), shared_->error, status);
    return false;
  }

  void print(std::FILE* out, std::uint64_t history) {
    std::uint32_t client = 0, process = 0;
    std::vector<const Entry*> all;
    for (const Slots& slots : {kFirst, kSecond, kThird}) {
      for (std::uint32_t c = 0; c < slots.clients; ++c, ++client) {
        for (std::uint32_t o = 0; o < slots.operations; ++o) {
          const Entry& e = entry(history, slots, c, o);
          if (e.called_ns.load() == 0) break;
          print_json_line(out, number_ * 1'000'000 + history, client, e, dead_at_ns_[process]);
          ++operations;
          pending += e.returned_ns.load() == 0;
          ++of_kind[static_cast<std::size_t>(e.kind)][e.returned_ns.load() == 0];
          for (const Entry* other : all)
            overlapping += overlap(*other, e);
          all.push_back(&e);
        }
      }
      ++process;
    }
  }

  static bool overlap(const Entry& a, const Entry& b) {
    const auto returned = [](const Entry& e) {
      return e.returned_ns.load() != 0 ? e.returned_ns.load() : UINT64_MAX;
    };
    return a.called_ns.load() < returned(b) && b.called_ns.load() < returned(a);
  }

  const Arguments& arguments_;
  std::uint64_t number_;
  std::mt19937_64 random_;
  std::string path_, spec_;
  std::size_t bytes_;
  Shared* shared_ = nullptr;
  std::uint64_t dead_at_ns_[3] = {};
};

int usage(const std::string& what) {
  std::fprintf(stderr,
               "record_histories: %s; usage: record_histories OUT [--rounds N] [--histories M] "
               "[--seed S] [--directory DIR] [--broken stale_reads|blind_compare|torn_batches|"
               "lost_writes]\n",
               what.c_str());
  return 2;
}

int run(int argc, char** argv) {
  Arguments arguments;
  if (argc < 2 || argv[1][0] == '-') return usage("the output file is missing");
  arguments.out = argv[1];
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return usage(name + " lacks its value");
    const std::string value = argv[i + 1];
    if (name == "--directory") {
      arguments.directory = value;
      continue;
    }
    if (name == "--broken") {
      if (!arguments.broken.set(value)) return usage("no store is broken like '" + value + "'");
      continue;
    }
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
    if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size() || number == 0) {
      return usage(name + " takes a number above 0, not '" + value + "'");
    }
    if (name == "--rounds") {
      arguments.rounds = number;
    } else if (name == "--histories") {
      arguments.histories = number;
    } else if (name == "--seed") {
      arguments.seed = number;
    } else {
      return usage("unknown argument '" + name + "'");
    }
  }
  if (arguments.seed == 0) arguments.seed = std::random_device{}();
  std::FILE* out = std::fopen(arguments.out.c_str(), "w");
  if (out == nullptr) return usage("cannot write " + arguments.out);
  std::uint64_t histories = 0, operations = 0, pending = 0, overlapping = 0;
  decltype(Round::of_kind) of_kind{};
  for (std::uint64_t number = 0; number < arguments.rounds; ++number) {
    Round round{arguments, number};
    std::fflush(out);  // Or the children would print it again.
    std::fflush(stdout);
    if (!round.record(out)) return 1;
    histories += round.histories;
    operations += round.operations;
    pending += round.pending;
    overlapping += round.overlapping;
    for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
      for (const std::size_t in_flight : {0, 1})
        of_kind[kind][in_flight] += round.of_kind[kind][in_flight];
    }
  }
  const bool written = std::fclose(out) == 0;
  std::printf(
      "recorded %llu histories, %llu operations, %llu pending at a kill, %llu pairs overlapping; "
      "seed %llu\n",
      static_cast<unsigned long long>(histories), static_cast<unsigned long long>(operations),
      static_cast<unsigned long long>(pending), static_cast<unsigned long long>(overlapping),
      static_cast<unsigned long long>(arguments.seed));
  // A verb that never came would be linearizable for the wrong reason, and so would clients that
  // never meet.
  bool every_kind = true;
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    std::printf("  %s %llu, of them in flight at a kill %llu\n", name(static_cast<Kind>(kind)),
                static_cast<unsigned long long>(of_kind[kind][0] + of_kind[kind][1]),
                static_cast<unsigned long long>(of_kind[kind][1]));
    every_kind = every_kind && of_kind[kind][0] != 0;
  }
  if (!every_kind) std::printf("FAIL record_histories: a verb never came\n");
  if (overlapping < histories)
    std::printf("FAIL record_histories: hardly any operations overlapped\n");
  return written && every_kind && overlapping * 20 >= histories ? 0 : 1;
}

}  // namespace
}  // namespace holdfast::linearizability

int main(int argc, char** argv) { return holdfast::linearizability::run(argc, argv); }
