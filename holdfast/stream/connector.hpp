// connector.hpp: the connectors by their names: 'connector' = 'filesystem'.
//
// Connectors that need a library of others are modules, which are loaded when a table asks for one.
// A module offers its connector when it is loaded. set_module_loader() names the function that
// loads modules, once.
//
// Threads  offer_connector and set_module_loader before any table is opened, or one at a time.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <holdfast/stream/sink.hpp>
#include <holdfast/stream/source.hpp>
#include <holdfast/stream/table_options.hpp>

namespace holdfast::stream {

// Each may be null: the connector does not read, does not write, has no splits. The first two ask
// all_known() at their end.
struct Connector {
  Result<std::unique_ptr<Source>> (*open_source)(const sql::Table&, TableOptions&) = nullptr;
  Result<std::unique_ptr<Sink>> (*open_sink)(const sql::Table&, const std::vector<sql::Column>&,
                                             TableOptions&, const Output&) = nullptr;
  Result<std::vector<std::string>> (*splits)(const sql::Table&, TableOptions&) = nullptr;
};

void offer_connector(std::string_view name, Connector connector);

// Loads the module of a library; it then has offered its connectors, or regular expressions
// (sql/patterns.hpp). Errors: what to install.
using LoadModule = std::function<Status(std::string_view library)>;
void set_module_loader(LoadModule load);

}  // namespace holdfast::stream
