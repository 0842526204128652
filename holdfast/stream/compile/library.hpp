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

  // The query must go before the library.
  std::unique_ptr<query::Query> make(query::Host& host) const {
    return std::unique_ptr<query::Query>(make_(host));
  }

 private:
  Library(void* handle, query::MakeQuery* entry) : handle_(handle), make_(entry) {}

  void* handle_;
  query::MakeQuery* make_;
};

}  // namespace holdfast::stream::compile
