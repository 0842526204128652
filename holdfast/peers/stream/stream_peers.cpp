#include <holdfast/peers/stream/stream_peers.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <holdfast/bench/engine/interruption.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/peers/peer_process.hpp>
#include <holdfast/peers/stream/flink_peer.hpp>
#include <holdfast/peers/stream/peer_tables.hpp>

namespace holdfast::bench::stream {
namespace {

Error wrong(const std::string& what) { return {Errc::kCorrupt, "wrong: " + what}; }

// One engine: a process for each number of threads, since some are told at their start.
class StreamPeer {
 public:
  // "duckdb", "polars" by this Python, or one of Flink. Errors: those of PeerProcess::start and of
  // flink_command.
  static Result<std::unique_ptr<StreamPeer>> start(const std::string& name,
                                                   const std::string& python,
                                                   const FlinkSetting& flink,
                                                   const std::vector<unsigned>& threads);

  const std::string& name() const { return name_; }
  bool has(const std::string& query) const { return queries_.contains(query); }
  // By number of threads.
  const std::map<unsigned, std::unique_ptr<PeerProcess>>& processes() const { return processes_; }
  // Once for each table. Errors: kIo.
  Status load(const PeerTables& files, const sql::Table& table, std::span<const std::byte> records);

 private:
  explicit StreamPeer(std::string name) : name_(std::move(name)) {}

  const std::string name_;
  std::map<unsigned, std::unique_ptr<PeerProcess>> processes_;
  std::set<std::string> queries_, loaded_;
};

// What it is asked.
struct PeerQuestion {
  std::string query;  // As rows name it.
  std::string words;  // Behind that in the line to the process.
  std::uint64_t events = 0;
  double seconds = 0;  // It is asked again for so long.
  std::function<Status(const PeerProcess::Answer&)> check;
};
// The file that a peer wrote: all window starts, then all sensors, then all sums.
Result<std::vector<WindowAnswer>> windows_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto bytes = file ? static_cast<std::size_t>(file.tellg()) : 0;
  std::array<std::vector<std::int64_t>, 3> columns;
  file.seekg(0);
  for (auto& column : columns) {
    column.resize(bytes / sizeof(std::int64_t) / columns.size());
    file.read(reinterpret_cast<char*>(column.data()),
              static_cast<std::streamsize>(column.size() * sizeof(std::int64_t)));
  }
  if (!file) return Error{Errc::kIo, "reading the answer at " + path};
  if (bytes % (sizeof(std::int64_t) * columns.size()) != 0)
    return wrong("an answer of " + std::to_string(bytes) + " bytes is no three columns");
  const auto& [starts, sensors, sums] = columns;
  std::map<std::int64_t, WindowAnswer> windows;
  for (std::size_t i = 0; i < starts.size(); ++i)
    windows[starts[i]].add(sensors[i], sums[i]);
  std::vector<WindowAnswer> answers;
  for (const auto& [start, answer] : windows) {
    if (start != static_cast<std::int64_t>(answers.size()) * kWindowMs)
      return wrong("a window begins at " + std::to_string(start));
    answers.push_back(answer);
  }
  return answers;
}

Result<Answer> answer_of(const PeerProcess::Answer& given) {
  std::vector<std::uint64_t> numbers;
  for (const auto& row : given.rows) {
    for (const auto& field : row) {
      std::uint64_t number = 0;
      const auto* const end = field.data() + field.size();
      const auto read = std::from_chars(field.data(), end, number);
      if (read.ec != std::errc() || read.ptr != end) return wrong("'" + field + "' is no number");
      numbers.push_back(number);
    }
  }
  if (numbers.empty()) return wrong("an answer without numbers");
  return Answer{static_cast<std::int64_t>(numbers[0]), {numbers.begin() + 1, numbers.end()}};
}

class PeerSubject final : public Subject {
 public:
  // `peer` outlives it. Its rows are INVALID if its tables were not `loaded`.
  PeerSubject(StreamPeer& peer, Status loaded, PeerQuestion question)
      : peer_(peer), loaded_(std::move(loaded)), question_(std::move(question)) {}

  // It has no phases: it takes its times itself.
  bool supports(const std::string&) const override { return false; }
  Status run(PhaseThread&) override { return {}; }
  Result<std::vector<ExtraSample>> extras() override {
    std::vector<ExtraSample> samples;
    for (const auto& [threads, process] : peer_.processes()) {
      auto& sample = samples.emplace_back();
      sample.operation = question_.query;
      sample.threads = threads;
      sample.operations = 0;
      sample.facts.set("peer", process->name() + " " + process->version());
      sample.facts.set("peer_configuration", process->configuration());
      if (const auto status = measure(*process, sample); !status)
        sample.invalid = status.error().detail;
    }
    return samples;
  }

 private:
  Status measure(PeerProcess& process, ExtraSample& sample) const {
    HF_RETURN_IF_ERROR(loaded_);
    // Once without the clock: what is done at first use is done.
    const auto line = question_.query + " " + question_.words;
    HF_ASSIGN_OR_RETURN(const auto first, process.ask(line));
    HF_RETURN_IF_ERROR(question_.check(first));
    do {
      HF_ASSIGN_OR_RETURN(const auto answer, process.ask(line));
      HF_RETURN_IF_ERROR(question_.check(answer));
      if (answer.seconds == 0) return wrong("it says that it took no time");
      sample.seconds += answer.seconds;
      sample.operations += question_.events;
    } while (sample.seconds < question_.seconds && !interrupted());
    return {};
  }

  StreamPeer& peer_;
  const Status loaded_;
  const PeerQuestion question_;
};

Result<std::unique_ptr<StreamPeer>> StreamPeer::start(const std::string& name,
                                                      const std::string& python,
                                                      const FlinkSetting& flink,
                                                      const std::vector<unsigned>& threads) {
  const auto start_one = [&](unsigned count) -> Result<std::unique_ptr<PeerProcess>> {
    if (!is_flink(name))
      return PeerProcess::start(
          {name, python, kStreamPeers, {std::to_string(count)}, name + " pyarrow"});
    HF_ASSIGN_OR_RETURN(auto command, flink_command(name, count, flink));
    return PeerProcess::start_program(name, std::move(command));
  };
  std::unique_ptr<StreamPeer> peer(new StreamPeer(name));
  for (const auto count : threads) {
    HF_ASSIGN_OR_RETURN(auto process, start_one(count));
    HF_ASSIGN_OR_RETURN(const auto queries, process->ask("queries"));
    for (const auto& row : queries.rows)
      peer->queries_.insert(row.begin(), row.end());
    peer->processes_.emplace(count, std::move(process));
  }
  return peer;
}

Status StreamPeer::load(const PeerTables& files, const sql::Table& table,
                        std::span<const std::byte> records) {
  if (loaded_.contains(table.name)) return {};
  HF_RETURN_IF_ERROR(files.write(table, records));
  for (const auto& [threads, process] : processes_) {
    HF_ASSIGN_OR_RETURN(const auto loaded, process->ask("load " + table.name + " " + files.path()));
    (void)loaded;
  }
  files.remove(table);
  loaded_.insert(table.name);
  return {};
}

// All outlive it.
PeerQuestion question_of(const WindowSum& query, const PeerTables& files) {
  const auto path = files.answer_path();
  const auto check = [&query, path](const PeerProcess::Answer&) -> Status {
    HF_ASSIGN_OR_RETURN(const auto windows, windows_of(path));
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // So that no answer is taken for the next one.
    return query.check(windows, 1);
  };
  return {"window-sum", path, query.events().size(), 0, check};
}

PeerQuestion question_of(const NexmarkQuery& query) {
  std::string kinds;
  for (const auto& column : query.plan().columns())
    kinds += column.type.kind == sql::Kind::kString ? 'S' : 'N';
  const auto check = [&query](const PeerProcess::Answer& given) -> Status {
    HF_ASSIGN_OR_RETURN(const auto answer, answer_of(given));
    if (query.agrees(answer)) return {};
    return wrong(answer.text() + "; interpreted " + query.answer().text());
  };
  return {"nexmark-q" + std::to_string(query.number()), kinds, query.rows(), 0, check};
}

class StreamPeers final : public OtherEngines {
 public:
  Result<std::vector<std::string>> names(const std::vector<std::string>& asked) const override {
    auto names = with_states_of_flink(asked);
    for (const auto& name : names) {
      if (name != "duckdb" && name != "polars" && !is_flink(name))
        return Error{Errc::kInvalidOption,
                     "--compare '" + name +
                         "': there are duckdb, polars, flink-sql and flink-ds, the last two also "
                         "with -rocksdb or -heap, with commas between them"};
    }
    return names;
  }

  Status start(const StreamBenchOptions& options) override {
    seconds_ = options.seconds;
    FlinkSetting flink{options.flink, {}, options.checkpoint_seconds};
    if (std::any_of(options.compare.begin(), options.compare.end(), is_flink)) {
      // On the medium that our state is on.
      const std::filesystem::path region = parts_of(options.region).place;
      HF_ASSIGN_OR_RETURN(
          flink_place_,
          PeerTables::make(region.is_absolute() ? region.parent_path().string() : "/dev/shm"));
      flink.directory = flink_place_->path();
    }
    for (const auto& name : options.compare) {
      HF_ASSIGN_OR_RETURN(auto peer,
                          StreamPeer::start(name, options.python, flink, options.threads));
      peers_.push_back(std::move(peer));
    }
    if (peers_.empty()) return {};
    HF_ASSIGN_OR_RETURN(files_, PeerTables::make());
    return {};
  }

  std::vector<SubjectEntry> subjects(const WindowSum& query, const sql::Plan& plan,
                                     std::vector<std::string>& missing) override {
    if (peers_.empty()) return {};
    const auto load = [&](StreamPeer& peer) {
      return peer.load(*files_, plan.source(), std::as_bytes(std::span(query.events())));
    };
    return entries(question_of(query, *files_), load, missing);
  }
  std::vector<SubjectEntry> subjects(const NexmarkQuery& query,
                                     std::vector<std::string>& missing) override {
    const auto load = [&](StreamPeer& peer) -> Status {
      for (const auto& node : query.plan().nodes) {
        const auto* const scan = std::get_if<sql::Scan>(&node.what);
        if (scan == nullptr) continue;
        const auto& table = *scan->table;
        HF_RETURN_IF_ERROR(peer.load(*files_, table, query.events().table(table.name).records));
      }
      return {};
    };
    return entries(question_of(query), load, missing);
  }

 private:
  template <class Load>
  std::vector<SubjectEntry> entries(PeerQuestion question, const Load& load,
                                    std::vector<std::string>& missing) {
    question.seconds = seconds_;
    std::vector<SubjectEntry> entries;
    for (const auto& peer : peers_) {
      if (!peer->has(question.query)) {
        missing.push_back(peer->name());
        continue;
      }
      const auto make = [peer = peer.get(), loaded = load(*peer), question](unsigned) {
        return std::make_unique<PeerSubject>(*peer, loaded, question);
      };
      entries.push_back({peer->name(), make, ""});
    }
    return entries;
  }

  double seconds_ = 0;
  std::unique_ptr<PeerTables> files_, flink_place_;  // Before the peers that write there.
  std::vector<std::unique_ptr<StreamPeer>> peers_;
};

}  // namespace

std::unique_ptr<OtherEngines> stream_peers() { return std::make_unique<StreamPeers>(); }

}  // namespace holdfast::bench::stream
