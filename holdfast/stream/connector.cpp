#include "connector.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutex.hpp>
#include <holdfast/sql/patterns.hpp>
#include <holdfast/stream/sinks.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

// Queries that run side by side open their tables at the same time, and modules add to these.
class Connectors {
 public:
  static Connectors& all() {
    static Connectors connectors;
    return connectors;
  }
  void add(std::string_view name, Connector connector) {
    const Lock lock(mutex_);
    connectors_.insert_or_assign(std::string(name), connector);
  }
  std::optional<Connector> find(std::string_view name) {
    const Lock lock(mutex_);
    const auto at = connectors_.find(name);
    return at == connectors_.end() ? std::nullopt : std::optional(at->second);
  }
  std::vector<std::string> names(bool of_sources) {
    const Lock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, connector] : connectors_) {
      const bool has =
          of_sources ? connector.open_source != nullptr : connector.open_sink != nullptr;
      if (has) names.push_back(name);
    }
    return names;
  }

 private:
  KernelMutex mutex_;
  std::map<std::string, Connector, std::less<>> connectors_ HF_GUARDED_BY(mutex_){
      {"filesystem", {open_file_source, open_file_sink}},
      {"socket", {open_socket_source, nullptr}},
      {"datagen", {open_datagen_source, nullptr}},
      {"print", {nullptr, open_print_sink}},
      {"blackhole", {nullptr, open_blackhole_sink}},
      {"nexmark", {open_nexmark_source, nullptr}},
  };
};

LoadModule& loader() {
  static LoadModule load;
  return load;
}

// Connectors of modules, and the libraries of these.
struct ModuleConnector {
  std::string_view name, library;
};
constexpr ModuleConnector kModules[] = {{"kafka", "rdkafka"}};

// Without functions: there is none of this name.
Result<Connector> find_connector(std::string_view name) {
  auto& all = Connectors::all();
  if (const auto found = all.find(name)) return *found;
  for (const auto& module : kModules) {
    if (module.name != name) continue;
    if (!loader()) return Error{Errc::kUnsupported, "this program loads no modules"};
    HF_RETURN_IF_ERROR(loader()(module.library));
    if (const auto found = all.find(name)) return *found;
    return Error{Errc::kUnsupported, "the module of " + std::string(module.library) +
                                         " offers no connector " + std::string(name)};
  }
  return Connector();
}

Error no_connector(const TableOptions& options, bool reads) {
  std::string names;
  for (const auto& module : kModules)
    names += "'" + std::string(module.name) + "', ";
  for (const auto& name : Connectors::all().names(reads)) {
    const bool is_module = names.find("'" + name + "'") != std::string::npos;
    if (!is_module) names += "'" + name + "', ";
  }
  names.resize(names.size() - 2);
  return options.wrong("connector",
                       names + (reads ? " for a table that is read" : " for one that is written"));
}

}  // namespace

void offer_connector(std::string_view name, Connector connector) {
  Connectors::all().add(name, connector);
}

void set_module_loader(LoadModule load) {
  sql::set_pattern_loader([load] { return load("re2"); });
  loader() = std::move(load);
}

Result<std::unique_ptr<Source>> open_source(const sql::Table& table, std::string_view split) {
  TableOptions options(table, split);
  HF_ASSIGN_OR_RETURN(const auto connector, find_connector(options.text("connector").value_or("")));
  if (connector.open_source == nullptr) return no_connector(options, true);
  return connector.open_source(table, options);
}

Result<std::vector<std::string>> splits_of(const sql::Table& table) {
  TableOptions options(table);
  const auto name = options.text("connector").value_or("");
  HF_ASSIGN_OR_RETURN(const auto connector, find_connector(name));
  if (connector.splits != nullptr) return connector.splits(table, options);
  return sql::unsupported_at(table.at, "to share table " + escape(table.name) + " out",
                             "'kafka' has partitions, '" + escape(name) + "' has none");
}

Result<std::unique_ptr<Sink>> open_sink(const sql::Table* table,
                                        const std::vector<sql::Column>& columns,
                                        const Output& output, OutputFormat format,
                                        std::string_view split) {
  if (table == nullptr) return open_output_sink(columns, output, format);
  TableOptions options(*table, split);
  HF_ASSIGN_OR_RETURN(const auto connector, find_connector(options.text("connector").value_or("")));
  if (connector.open_sink == nullptr) return no_connector(options, false);
  return connector.open_sink(*table, columns, options, output);
}

}  // namespace holdfast::stream
