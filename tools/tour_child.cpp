// The tour's child: opens the store, writes, and says on the board what was acknowledged, until it
// is killed or has done its passes. Nothing in it knows that it will be killed.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>

#include "console.hpp"
#include "kv_verbs.hpp"
#include "tour.hpp"
#include "tour_workload.hpp"

namespace holdfast::tools {
namespace {

void announce(std::atomic<std::uint64_t>& started, std::uint64_t operations) {
  // Never lowered: what a killed predecessor had in flight may be there.
  if (started.load(std::memory_order_relaxed) < operations)
    started.store(operations, std::memory_order_release);
}

Status write_singly(kv::Store<>& store, const Workload& workload, Board::Writer& board,
                    std::uint64_t until) {
  std::string value;
  for (std::uint64_t operation = board.acknowledged.load(); operation < until; ++operation) {
    const TourRecord& record = workload.record(0, operation);
    Workload::value_into(record, workload.pass(0, operation), value);
    announce(board.started, operation + 1);
    const auto put = store.put(record.key, value);
    if (!put) return put.error();
    board.acknowledged.store(operation + 1, std::memory_order_release);
  }
  return ok_status();
}

Status write_in_groups(kv::Store<>& store, const Workload& workload, Board::Writer& board,
                       std::uint64_t until) {
  std::string values[kGroup];
  for (std::uint64_t operation = board.acknowledged.load(); operation < until;) {
    std::string_view keys[kGroup], views[kGroup];
    const std::size_t members = std::min<std::uint64_t>(kGroup, until - operation);
    for (std::size_t i = 0; i < members; ++i) {
      const TourRecord& record = workload.record(1, operation + i);
      Workload::value_into(record, workload.pass(1, operation + i), values[i]);
      keys[i] = record.key;
      views[i] = values[i];
    }
    announce(board.started, operation + members);
    HF_RETURN_IF_ERROR(store.put_many({keys, members}, {views, members}));
    operation += members;
    board.acknowledged.store(operation, std::memory_order_release);
  }
  return ok_status();
}

}  // namespace

int run_tour_child(const TourChildArguments& arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // A parent that dies leaves nobody behind.
  void* shared =
      mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, arguments.board_fd, 0);
  if (shared == MAP_FAILED) {
    complain("holdfast tour-child", fmt::format("mapping the board: {}", std::strerror(errno)));
    return kExitBadRequest;
  }
  auto& board = *static_cast<Board*>(shared);
  const auto workload = Workload::from_file(arguments.input, 0);
  if (!workload) return report_error("holdfast tour-child", arguments.store, workload.error());
  auto store = open_for_writing(arguments.store, RegionAccess::kOpenOrCreate, true);
  if (!store) return report_error("holdfast tour-child", arguments.store, store.error());
  board.ready.store(1);

  Status outcome[kWriters];
  std::thread groups{[&] {
    outcome[1] = write_in_groups(*store, *workload, board.writers[1],
                                 arguments.passes * workload->records(1));
  }};
  outcome[0] =
      write_singly(*store, *workload, board.writers[0], arguments.passes * workload->records(0));
  groups.join();
  for (const Status& status : outcome) {
    if (!status) return report_error("holdfast tour-child", arguments.store, status.error());
  }
  if (const Status closed = store->close(); !closed) {
    return report_error("holdfast tour-child", arguments.store, closed.error());
  }
  return kExitDone;
}

}  // namespace holdfast::tools
