#include "compilation.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/stream/durable_file.hpp>

namespace holdfast::stream::compile {
namespace {

// Of what a compiler says: its first errors, as a terminal can show them.
std::string errors_in(std::string_view text) {
  constexpr int kLines = 4;
  std::string lines;
  for (int count = 0; count < kLines && !text.empty();) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("error") == std::string_view::npos) continue;
    lines += "\n  " + escape(line);
    ++count;
  }
  return lines;
}

}  // namespace

Result<Compilation> Compilation::begin(const std::string& source, const CompileSettings& settings) {
  HF_ASSIGN_OR_RETURN(const auto cache, Cache::open(settings.directory));
  Compilation compilation;
  compilation.stop_ = settings.stop;
  HF_ASSIGN_OR_RETURN(compilation.compiler_,
                      Compiler::find(settings.compiler, cache.own_file(".version"), settings.stop));
  const auto& compiler = compilation.compiler_;
  HF_ASSIGN_OR_RETURN(compilation.place_, cache.place_of(source, compiler.identity()));
  compilation.source_path_ = compilation.place_ + ".cpp";
  // One that cannot be loaded is made anew.
  if (auto library = Library::load(compilation.place_ + ".so")) {
    compilation.library_ = *std::move(library);
    return compilation;
  }
  compilation.made_ = cache.own_file(".so");
  compilation.said_ = cache.own_file(".log");
  compilation.first_ = Precompiled::find(cache, compiler);
  compilation.cache_ = cache;
  HF_RETURN_IF_ERROR(compilation.start());
  return compilation;
}

Status Compilation::start() {
  HF_ASSIGN_OR_RETURN(auto process, Process::start(compiler_.words(source_path_, cache_->headers(),
                                                                   made_.path(), first_),
                                                   said_.path()));
  process_.emplace(std::move(process));
  return {};
}

Result<std::shared_ptr<const Library>> Compilation::poll() {
  if (library_ != nullptr) return library_;
  const auto code = process_->poll();
  if (!code) return std::shared_ptr<const Library>();
  return finish(*code);
}

Result<std::shared_ptr<const Library>> Compilation::wait() {
  while (library_ == nullptr) {
    const auto code = process_->wait(std::chrono::hours(24), stop_);
    if (!code) break;
    HF_ASSIGN_OR_RETURN(library_, finish(*code));
  }
  return library_;
}

Result<std::shared_ptr<const Library>> Compilation::finish(int code) {
  const auto said = read_file(said_.path());
  if (code != 0 && !first_.empty()) {  // Perhaps that is damaged: a compiler says so, and ends.
    Precompiled::remove(std::exchange(first_, {}));
    HF_RETURN_IF_ERROR(start());
    return std::shared_ptr<const Library>();
  }
  if (code != 0) {
    return Error{Errc::kIo, "the compiler ended with " + std::to_string(code) + "; its source is " +
                                source_path_ + errors_in(said ? *said : "")};
  }
  // Not beside the compiler: runs that end before it does would begin this each time, for nothing.
  if (first_.empty()) precompiled_ = Precompiled::make(*cache_, compiler_);
  HF_RETURN_IF_ERROR(Cache::publish(made_.path(), place_ + ".so"));
  return Library::load(place_ + ".so");
}

}  // namespace holdfast::stream::compile
