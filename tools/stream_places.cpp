#include "stream_places.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/memory/spec.hpp>
#include <holdfast/modules/modules.hpp>
#include <holdfast/stream/connector.hpp>
#include <holdfast/stream/durable_file.hpp>
#include <holdfast/stream/savepoint.hpp>
#include <holdfast/stream/snapshot_store.hpp>
#include <holdfast/stream_kv/kv_state_store.hpp>
#include <holdfast/stream_rocksdb/rocksdb_state.hpp>

namespace holdfast::tools {
namespace {

// "query-1.checkpoint", or of a split "query-1/orders-3.checkpoint".
std::string checkpoint_file(const std::string& directory, std::size_t query,
                            const std::string& split) {
  const auto name = directory + "/query-" + std::to_string(query);
  return split.empty() ? name + ".checkpoint" : name + "/" + split + ".checkpoint";
}

// Of a query that had no checkpoint when the savepoint was made.
constexpr const char* kNoneYet = ".none";

bool is_there(const std::string& file) { return ::access(file.c_str(), F_OK) == 0; }

Status make_directory_of(const std::string& file) {
  return stream::make_directories(std::filesystem::path(file).parent_path().string());
}

// In a store or a database: what both ask of the arguments. Its place is the answer.
Result<std::string> place_of_store(const StreamArguments& arguments, const std::string& state) {
  if (!arguments.directory.empty())
    return Error{Errc::kInvalidOption, "--checkpoint-dir belongs to --state dram; with --state " +
                                           state + " the place of --region holds the checkpoints"};
  if (!arguments.members.empty())
    return Error{Errc::kInvalidOption,
                 "--members belongs to --state dram: one process alone opens "
                 "the place of --state " +
                     state};
  if (arguments.region.empty())
    return Error{Errc::kInvalidOption,
                 "--state " + state + " wants --region " + (state == "kv" ? "SPEC" : "DIR")};
  return arguments.region;
}

Result<stream::OpenState> in_kv(const std::string& region, const StreamArguments& arguments,
                                Use use) {
  const auto access = use == Use::kRun ? RegionAccess::kOpenOrCreate : RegionAccess::kOpen;
  const auto queries = std::max<std::size_t>(arguments.queries, 1);
  auto memory_bytes = stream::KvStateStore::memory_for_each_of(queries);
  if (!arguments.kv_memory.empty()) {
    HF_ASSIGN_OR_RETURN(const auto all, parse_bytes(arguments.kv_memory, "--state-memory"));
    memory_bytes = all / queries;
  }
  HF_ASSIGN_OR_RETURN(auto store, stream::KvStateStore::open_region(region, access));
  return stream::OpenState([store, memory_bytes](std::size_t query, const std::string&) {
    return Result<std::unique_ptr<stream::StateStore>>(std::make_unique<stream::KvStateStore>(
        store, static_cast<std::uint32_t>(query), memory_bytes));
  });
}

Result<stream::OpenState> in_rocksdb(const std::string& place, Use use) {
  const auto directory = parts_of(place).place;
  std::error_code code;
  if (use == Use::kSavepoint && !std::filesystem::exists(directory, code))
    return Error{Errc::kNotFound, "--region " + directory + " is not there"};
  HF_ASSIGN_OR_RETURN(
      const auto open,
      modules::function<Result<stream::StateOfQuery>(const std::string&)>("rocksdb"));
  HF_ASSIGN_OR_RETURN(auto state_of_query, open(place));
  return stream::OpenState([state_of_query](std::size_t query, const std::string&) {
    return state_of_query(static_cast<std::uint32_t>(query));
  });
}

Result<std::shared_ptr<stream::FileDescriptor>> locked_for_run(const std::string& directory) {
  HF_RETURN_IF_ERROR(make_directory_of(directory + "/checkpoint"));
  HF_ASSIGN_OR_RETURN(auto locked, stream::locked_directory(directory));
  return std::make_shared<stream::FileDescriptor>(std::move(locked));
}

// One file of a savepoint. A query that has no checkpoint yet has an empty file instead, which says
// so: a run from the savepoint begins it.
Result<std::string> save(const stream::OpenState& open, const std::string& target,
                         std::size_t query, const std::string& split) {
  HF_ASSIGN_OR_RETURN(const auto from, open(query, split));
  const auto file = checkpoint_file(target, query, split);
  if (is_there(file + kNoneYet))
    return Error{Errc::kAlreadyExists, file + ": there is a savepoint already"};
  HF_RETURN_IF_ERROR(make_directory_of(file));
  stream::SnapshotStore to(file);
  const Status done = stream::copy_checkpoint(*from, to);
  if (done) return file;
  if (done.code() != Errc::kNotFound) return Error{done.code(), file + ": " + done.error().detail};
  HF_RETURN_IF_ERROR(stream::replace_file(file + kNoneYet, ""));
  return file + kNoneYet;
}

Status save_each(const stream::OpenState& open, const StreamArguments& arguments,
                 const stream::Script& script, std::vector<std::string>& files) {
  for (std::size_t query = 1; query <= script.plans().size(); ++query) {
    std::vector<std::string> splits{""};
    if (!arguments.members.empty()) {
      HF_ASSIGN_OR_RETURN(splits, stream::splits_of(script.plans()[query - 1].source()));
    }
    for (const auto& split : splits) {
      HF_ASSIGN_OR_RETURN(auto file, save(open, arguments.target, query, split));
      files.push_back(std::move(file));
    }
  }
  return {};
}

}  // namespace

Result<stream::OpenState> places_of(const StreamArguments& arguments, Use use) {
  const auto& state = arguments.state;
  if (state != "kv" && !arguments.kv_memory.empty())
    return Error{Errc::kInvalidOption, "--state-memory belongs to --state kv"};
  if (state == "kv" || state == "rocksdb") {
    HF_ASSIGN_OR_RETURN(const auto place, place_of_store(arguments, state));
    return state == "kv" ? in_kv(place, arguments, use) : in_rocksdb(place, use);
  }
  if (!arguments.region.empty())
    return Error{Errc::kInvalidOption, "--region belongs to --state kv and --state rocksdb"};
  const auto& directory = arguments.members.empty() ? arguments.directory : arguments.members;
  if (!arguments.members.empty() && !arguments.directory.empty())
    return Error{Errc::kInvalidOption,
                 "--members holds the checkpoints, too: --checkpoint-dir is not wanted"};
  if (directory.empty()) return stream::OpenState();
  // Members lock their splits themselves.
  std::shared_ptr<stream::FileDescriptor> lock;
  if (use == Use::kRun && arguments.members.empty()) {
    HF_ASSIGN_OR_RETURN(lock, locked_for_run(directory));
  }
  return stream::OpenState([directory, lock, use](std::size_t query, const std::string& split)
                               -> Result<std::unique_ptr<stream::StateStore>> {
    const auto file = checkpoint_file(directory, query, split);
    if (use == Use::kRun) HF_RETURN_IF_ERROR(make_directory_of(file));
    return std::unique_ptr<stream::StateStore>(std::make_unique<stream::SnapshotStore>(file));
  });
}

StreamArguments with_state_of(StreamArguments arguments, const stream::Script& script) {
  const auto& said = script.state_place();
  arguments.queries = script.plans().size();
  if (arguments.state.empty()) arguments.state = said.backend.empty() ? "dram" : said.backend;
  if (arguments.state == "kv" && arguments.kv_memory.empty() && said.kv_memory)
    arguments.kv_memory = std::to_string(*said.kv_memory);
  if (arguments.state == "dram") {
    if (arguments.directory.empty() && arguments.members.empty())
      arguments.directory = said.directory;
    return arguments;
  }
  if (arguments.region.empty() && arguments.directory.empty()) arguments.region = said.directory;
  const bool cached = arguments.state == "rocksdb" && !said.rocksdb_cache.empty();
  if (cached && !arguments.region.empty() && parts_of(arguments.region).options.empty())
    arguments.region += "?cache=" + said.rocksdb_cache;
  return arguments;
}

Result<stream::OpenState> state_of(const StreamArguments& arguments) {
  HF_ASSIGN_OR_RETURN(auto open, places_of(arguments, Use::kRun));
  if (arguments.from.empty()) return open;
  if (!open)
    return Error{Errc::kInvalidOption,
                 "--from wants --checkpoint-dir, --members, --state kv or --state rocksdb"};
  return stream::OpenState(
      [open, from = arguments.from](
          std::size_t query,
          const std::string& split) -> Result<std::unique_ptr<stream::StateStore>> {
        stream::SnapshotStore savepoint(checkpoint_file(from, query, split));
        HF_ASSIGN_OR_RETURN(const auto to, open(query, split));
        const Status copied = stream::copy_checkpoint(savepoint, *to);
        const auto file = checkpoint_file(from, query, split);
        if (!copied && copied.code() == Errc::kNotFound && !is_there(file + kNoneYet))
          return Error{Errc::kNotFound, "--from: " + file + " is not there"};
        if (!copied && copied.code() == Errc::kNotFound) return open(query, split);
        if (!copied && copied.code() != Errc::kAlreadyExists) return copied.error();
        return open(query, split);
      });
}

Result<std::vector<std::string>> save_all(const stream::OpenState& open,
                                          const StreamArguments& arguments,
                                          const stream::Script& script) {
  std::vector<std::string> files;
  const Status saved = save_each(open, arguments, script, files);
  const auto says_none = [](const std::string& file) { return file.ends_with(kNoneYet); };
  if (saved && !std::all_of(files.begin(), files.end(), says_none)) return files;
  for (const auto& file : files)
    ::unlink(file.c_str());
  return saved ? Error{Errc::kNotFound, "there is no completed checkpoint"} : saved.error();
}

}  // namespace holdfast::tools
