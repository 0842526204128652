#include "precompiled.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include <holdfast/base/lock.hpp>
#include <holdfast/memory/lock.hpp>
#include <holdfast/stream/compile/runtime_headers.hpp>

namespace holdfast::stream::compile {
namespace {

constexpr const char* kEnding = ".gch";         // Where both compilers look.
constexpr std::chrono::milliseconds kTick{50};  // Between two looks at the compiler.

std::string text_that_includes_all() {
  std::string text;
  for (const auto& header : kRuntimeHeaders)
    text += "#include <" + std::string(header.path) + ">\n";
  return text;
}

// None: another process has it.
FileDescriptor locked_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const bool taken = file && memory_detail::lock_file(file.get(), true, path).code() == Errc::kBusy;
  return taken ? FileDescriptor() : std::move(file);
}

}  // namespace

std::string Precompiled::find(const Cache& cache, const Compiler& compiler) {
  auto place = cache.headers_place(compiler.identity());
  return ::access((place + kEnding).c_str(), R_OK) == 0 ? place : "";
}

std::unique_ptr<Precompiled> Precompiled::make(const Cache& cache, const Compiler& compiler) {
  auto place = cache.headers_place(compiler.identity());
  auto lock = locked_file(place + ".lock");
  if (!lock || ::access((place + kEnding).c_str(), R_OK) == 0) return nullptr;
  // Once: what clang has made is of the file as it was written then.
  if (::access(place.c_str(), R_OK) != 0) {
    const auto text = cache.own_file(".hpp");
    if (!replace_file(text.path(), text_that_includes_all()) || !Cache::publish(text.path(), place))
      return nullptr;
  }
  auto made = cache.own_file(kEnding), said = cache.own_file(".log");
  auto process = Process::start(compiler.words_for_headers(place, cache.headers(), made.path()),
                                said.path(), Priority::kLow);
  if (!process) return nullptr;
  try {
    return std::unique_ptr<Precompiled>(new Precompiled(
        std::move(lock), std::move(place), std::move(made), std::move(said), *std::move(process)));
  } catch (const std::system_error&) {
    return nullptr;  // No thread: it is made another time.
  }
}

void Precompiled::remove(const std::string& found) { ::unlink((found + kEnding).c_str()); }

Precompiled::Precompiled(FileDescriptor lock, std::string place, OwnFile made, OwnFile said,
                         Process process)
    : lock_(std::move(lock)),
      place_(std::move(place)),
      made_(std::move(made)),
      said_(std::move(said)),
      process_(std::move(process)),
      publisher_([this] { publish_when_made(); }) {}

Precompiled::~Precompiled() {
  {
    const Lock held(mutex_);
    ends_ = true;
  }
  ended_.notify_one();
  publisher_.join();
}

void Precompiled::publish_when_made() {
  const Lock held(mutex_);
  while (!ends_ && !process_.poll())
    ended_.wait_for(mutex_, kTick);
  // One that is not published is made again.
  if (process_.poll() == 0) static_cast<void>(Cache::publish(made_.path(), place_ + kEnding));
}

}  // namespace holdfast::stream::compile
