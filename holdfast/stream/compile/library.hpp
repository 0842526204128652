// library.hpp: a compiled query, loaded.
//
// Errors  kCorrupt: the file is no library of ours, or of another version.
#pragma once

#include <memory>
#include <string>

#include <holdfast/base/result.hpp>
#include <holdfast/stream/compile/runtime/interface.hpp>

namespace holdfast::stream::compile {

class Library {
 public:
  static Result<std::shared_ptr<const Library>> load(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // What it makes must go before the library. Null: it makes the other of the two.
  std::unique_ptr<query::Query> make_query(query::Host& host) const {
    return std::unique_ptr<query::Query>(make_query_ == nullptr ? nullptr : make_query_(host));
  }
  std::unique_ptr<query::Graph> make_graph(query::Host& host) const {
    return std::unique_ptr<query::Graph>(make_graph_ == nullptr ? nullptr : make_graph_(host));
  }

 private:
  Library(void* handle, query::MakeQuery* of_query, query::MakeGraph* of_graph)
      : handle_(handle), make_query_(of_query), make_graph_(of_graph) {}

  void* handle_;
  query::MakeQuery* make_query_;
  query::MakeGraph* make_graph_;
};

}  // namespace holdfast::stream::compile
