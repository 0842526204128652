#include "library.hpp"

#include <dlfcn.h>

namespace holdfast::stream::compile {
namespace {

#define HF_TEXT_OF(name) #name
#define HF_TEXT(name) HF_TEXT_OF(name)
constexpr const char* kQueryEntry = HF_TEXT(HOLDFAST_QUERY_ENTRY);
constexpr const char* kGraphEntry = HF_TEXT(HOLDFAST_GRAPH_ENTRY);

}  // namespace

Result<std::shared_ptr<const Library>> Library::load(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return Error{Errc::kCorrupt, "loading " + path + ": " + (why == nullptr ? "" : why)};
  }
  void* const query = ::dlsym(handle, kQueryEntry);
  void* const graph = ::dlsym(handle, kGraphEntry);
  if (query == nullptr && graph == nullptr) {
    ::dlclose(handle);
    return Error{Errc::kCorrupt, path + " has no " + kQueryEntry};
  }
  return std::shared_ptr<const Library>(new Library(handle,
                                                    reinterpret_cast<query::MakeQuery*>(query),
                                                    reinterpret_cast<query::MakeGraph*>(graph)));
}

Library::~Library() { ::dlclose(handle_); }

}  // namespace holdfast::stream::compile
