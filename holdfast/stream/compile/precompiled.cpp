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

// Those of sql come with the others, where these want them.
std::string text_that_includes_all(const std::string& defined) {
  std::string text = "#define " + defined + "\n";
  for (const auto& header : kRuntimeHeaders) {
    if (!header.path.starts_with("holdfast/sql/"))
      text += "#include <" + std::string(header.path) + ">\n";
  }
  return text;
}

bool write_once(const Cache& cache, const std::string& place, const std::string& text) {
  if (::access(place.c_str(), R_OK) == 0) return true;
  const auto own = cache.own_file(".text");
  return replace_file(own.path(), text) && Cache::publish(own.path(), place);
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
  const auto source = place + ".cpp";
  if (!write_once(cache, place, text_that_includes_all("HOLDFAST_APART")) ||
      !write_once(cache, source, text_that_includes_all("HOLDFAST_APART_HERE")))
    return nullptr;
  Made headers{cache.own_file(kEnding), cache.own_file(".log"), {}};
  Made apart{cache.own_file(Compiler::kApartEnding), cache.own_file(".log"), {}};
  const bool begun =
      start(headers, compiler.words_for_headers(place, cache.headers(), headers.file.path())) &&
      start(apart, compiler.words_for_apart(source, cache.headers(), apart.file.path()));
  if (!begun) return nullptr;
  try {
    return std::unique_ptr<Precompiled>(
        new Precompiled(std::move(lock), std::move(place), std::move(headers), std::move(apart)));
  } catch (const std::system_error&) {
    return nullptr;  // No thread: it is made another time.
  }
}

void Precompiled::remove(const std::string& found) { ::unlink((found + kEnding).c_str()); }

bool Precompiled::start(Made& made, const std::vector<std::string>& words) {
  auto process = Process::start(words, made.said.path(), Priority::kLow);
  if (process) made.process.emplace(*std::move(process));
  return bool(process);
}

Precompiled::Precompiled(FileDescriptor lock, std::string place, Made headers, Made apart)
    : lock_(std::move(lock)),
      place_(std::move(place)),
      headers_(std::move(headers)),
      apart_(std::move(apart)),
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
  while (!ends_ && (!headers_.process->poll() || !apart_.process->poll()))
    ended_.wait_for(mutex_, kTick);
  if (headers_.process->poll() != 0 || apart_.process->poll() != 0) return;
  // The headers last: who finds them has both. What is not published is made again.
  if (Cache::publish(apart_.file.path(), place_ + Compiler::kApartEnding))
    static_cast<void>(Cache::publish(headers_.file.path(), place_ + kEnding));
}

}  // namespace holdfast::stream::compile
