#include "ssb_subject.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

#include "ssb_peers.hpp"

namespace holdfast::tools {

Result<std::unique_ptr<SsbSubject>> SsbPeer::start(const std::string& name, const Start& how) {
  std::error_code failure;
  std::filesystem::create_directories(how.scratch, failure);
  if (failure) return Error{Errc::kIo, name + ": making " + how.scratch + ": " + failure.message()};
  HF_ASSIGN_OR_RETURN(
      auto process,
      bench::PeerProcess::start({name,
                                 how.python,
                                 kSsbPeers,
                                 {how.tables, std::to_string(how.threads), how.order, how.scratch},
                                 name == "datafusion" ? "datafusion pyarrow" : name}));
  return std::unique_ptr<SsbSubject>(new SsbPeer(std::move(process)));
}

Result<SsbSubject::Asked> SsbPeer::ask(const olap::StarQuery& query) {
  HF_ASSIGN_OR_RETURN(auto answer, process_->ask(query.name));
  Asked asked;
  asked.seconds = answer.seconds;
  asked.table.rows = std::move(answer.rows);
  return asked;
}

Result<std::unique_ptr<SsbSubject>> SsbRowBaseline::load(const SsbArguments& arguments,
                                                         olap::Team& team) {
  SsbArguments rows = arguments;
  rows.layout = "row";
  rows.region.clear();
  HF_ASSIGN_OR_RETURN(auto star, open_star(rows, team.nodes()));
  HF_ASSIGN_OR_RETURN(auto engine, SsbEngine::create(*star.store, VectorWidth::kPortable,
                                                     arguments.index, team.nodes()));
  return std::unique_ptr<SsbSubject>(new SsbRowBaseline(std::move(star), std::move(engine), team));
}

Result<SsbSubject::Asked> SsbRowBaseline::ask(const olap::StarQuery& query) {
  const auto begin = std::chrono::steady_clock::now();
  HF_ASSIGN_OR_RETURN(auto answer, engine_.answer(query, team_));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Asked{took.count(), std::move(answer.table)};
}

}  // namespace holdfast::tools
