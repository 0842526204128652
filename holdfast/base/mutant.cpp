// Only the traced build has it: without HF_TRACED this file is empty.
#ifdef HF_TRACED

#include <holdfast/base/mutant.hpp>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <holdfast/base/mutex.hpp>

namespace holdfast {
namespace {

class Mutants {
 public:
  Mutants() {
    if (const char* on = std::getenv("HOLDFAST_MUTANT")) on_ = on;
    if (const char* out = std::getenv("HOLDFAST_MUTANTS_OUT")) out_ = out;
  }
  ~Mutants() {
    if (out_.empty()) return;
    std::FILE* const file = std::fopen(out_.c_str(), "a");
    if (file == nullptr) return;
    for (const auto& id : reached_)
      std::fprintf(file, "%s\n", id.c_str());
    std::fclose(file);
  }
  bool is_on(const char* id) {
    const Lock hold(mutex_);
    reached_.insert(id);
    return on_ == id;
  }

 private:
  KernelMutex mutex_;
  std::string on_, out_;
  std::set<std::string> reached_ HF_GUARDED_BY(mutex_);
};

}  // namespace

bool mutant_is_on(const char* id) {
  static Mutants mutants;
  return mutants.is_on(id);
}

}  // namespace holdfast

#endif
