// peer_subject.hpp: other engines as subjects of `holdfast stream bench`: they hold the same events
// as columns in memory, and answer the query as a batch (stream_peers.py).
//
// Their seconds are those that they took themselves, from the query to its answer. Each answer is
// compared with ours, outside of these.
//
// Threads  One at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <holdfast/bench/runner.hpp>
#include <holdfast/bench/stream/nexmark_subject.hpp>
#include <holdfast/bench/stream/window_sum.hpp>
#include <holdfast/peers/peer_process.hpp>
#include <holdfast/peers/stream/flink_peer.hpp>
#include <holdfast/peers/stream/peer_tables.hpp>

namespace holdfast::bench::stream {

extern const std::string_view kStreamPeers;  // stream_peers.py, as it is.

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
// All outlive it.
PeerQuestion question_of(const WindowSum& query, const PeerTables& files);
PeerQuestion question_of(const NexmarkQuery& query);

// `peer` outlives it. Its rows are INVALID if its tables were not `loaded`.
std::unique_ptr<Subject> peer_subject(StreamPeer& peer, Status loaded, PeerQuestion question);

}  // namespace holdfast::bench::stream
