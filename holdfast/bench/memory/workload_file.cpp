#include <holdfast/bench/memory/workload_file.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include <holdfast/base/format.hpp>
#include <holdfast/results/output.hpp>
#include <holdfast/yaml/tree.hpp>

namespace holdfast::bench::memory {
namespace {

namespace fs = std::filesystem;
using yaml::in_quotes;
using yaml::suggestion;
using Kind = yaml::Node::Kind;

// A value of a key that was understood, ready to be put into configurations.
struct Setting {
  const Key* key = nullptr;
  std::string text;
  yaml::Position position;
};

// A key with the values that a matrix gives it, or the one of args.
struct Dimension {
  std::vector<Setting> settings;
};

class FileReader {
 public:
  FileReader(const std::string& file, Workloads& workloads, yaml::Diagnostics& diagnostics)
      : file_(file), workloads_(workloads), diagnostics_(diagnostics) {}

  void read(const yaml::Node& root) {
    if (root.kind == Kind::kNull) return error({}, "holds no benchmarks");
    if (root.kind != Kind::kMap)
      return error(root.position,
                   "must be a map of benchmark names, this is " + std::string(name(root.kind)));
    for (const auto& entry : root.entries) {
      if (entry.key == "regions" && !looks_like_benchmark(*entry.value)) {
        read_regions(*entry.value);
      } else {
        read_benchmark(entry);
      }
    }
  }

 private:
  void error(yaml::Position position, std::string message) {
    diagnostics_.add(file_, position, std::move(message));
  }

  static bool looks_like_benchmark(const yaml::Node& node) {
    return node.find("args") != nullptr || node.find("matrix") != nullptr ||
           node.find("parallel_benchmark") != nullptr;
  }

  // Whether `node` is of `kind`; else it says so.
  bool expect(const yaml::Node& node, Kind kind, const std::string& what) {
    if (node.kind == kind) return true;
    error(node.position, what + " must be " + std::string(name(kind)) + ", this is " +
                             std::string(name(node.kind)));
    return false;
  }

  void read_benchmark(const yaml::Entry& entry) {
    if (entry.key.empty()) return error(entry.key_position, "a benchmark needs a name");
    if (std::any_of(entry.key.begin(), entry.key.end(),
                    [](unsigned char c) { return c < ' ' || c == 0x7f; }))
      error(entry.key_position,
            "the name " + in_quotes(entry.key) + " has a control character in it; leave it out");
    if (!expect(*entry.value, Kind::kMap, "benchmark " + in_quotes(entry.key))) return;
    Benchmark benchmark;
    benchmark.name = unique_name(entry.key);
    benchmark.file = file_;
    benchmark.position = entry.key_position;
    const yaml::Node* parallel = nullptr;
    static constexpr std::string_view kWords[] = {"args", "matrix", "parallel_benchmark",
                                                  "description"};
    for (const auto& inner : entry.value->entries) {
      if (inner.key == "parallel_benchmark" || inner.key == "parallel_benchmarks") {
        parallel = inner.value.get();
      } else if (inner.key == "description") {
        if (expect(*inner.value, Kind::kScalar, "description"))
          benchmark.description = inner.value->text;
      } else if (inner.key != "args" && inner.key != "matrix") {
        error(inner.key_position,
              in_quotes(inner.key) + " is unknown in a benchmark" + misplaced(inner.key, kWords));
      }
    }
    if (parallel == nullptr) {
      if (auto part = read_part(entry)) benchmark.parts.push_back(std::move(*part));
    } else {
      if (entry.value->find("args") != nullptr || entry.value->find("matrix") != nullptr)
        error(entry.key_position, "benchmark " + in_quotes(entry.key) +
                                      " has a parallel_benchmark and its own args or matrix; put "
                                      "those into its two parts");
      read_parallel(*parallel, benchmark);
    }
    if (benchmark.parts.empty() || failed_) {
      failed_ = false;
      return;
    }
    if (benchmark.runs() > kVariantsMax)
      return error(entry.key_position,
                   "the matrix has more than " + std::to_string(kVariantsMax) + " combinations");
    workloads_.benchmarks.push_back(std::move(benchmark));
  }

  // Two files of a directory may use the same name: the second benchmark then has its file's name
  // in front. (Twice in one file was refused when its text was read.)
  std::string unique_name(const std::string& key) const {
    const auto taken = [&](const std::string& name) {
      return std::any_of(workloads_.benchmarks.begin(), workloads_.benchmarks.end(),
                         [&](const Benchmark& other) { return other.name == name; });
    };
    if (!taken(key)) return key;
    const auto stem = fs::path(file_).stem().string();
    const auto name = stem + "/" + key;
    return taken(name) ? fs::path(file_).parent_path().filename().string() + "/" + name : name;
  }

  // What `key`, written beside args and matrix, was meant to be.
  static std::string misplaced(const std::string& key, std::span<const std::string_view> words) {
    if (find_key(key) != nullptr) return "; it belongs below args or matrix";
    return suggestion(key, words);
  }

  void read_parallel(const yaml::Node& node, Benchmark& benchmark) {
    if (!expect(node, Kind::kMap, "parallel_benchmark")) return;
    if (node.entries.size() != 2 && !node.incomplete) {
      error(node.position, "parallel_benchmark needs exactly two benchmarks, here are " +
                               std::to_string(node.entries.size()));
      failed_ = true;
    }
    static constexpr std::string_view kWords[] = {"args", "matrix"};
    for (const auto& entry : node.entries) {
      if (!expect(*entry.value, Kind::kMap, "benchmark " + in_quotes(entry.key))) {
        failed_ = true;
        continue;
      }
      for (const auto& inner : entry.value->entries) {
        if (inner.key != "args" && inner.key != "matrix")
          error(inner.key_position,
                in_quotes(inner.key) + " is unknown in a benchmark" + misplaced(inner.key, kWords));
      }
      if (auto part = read_part(entry)) benchmark.parts.push_back(std::move(*part));
    }
  }

  // Its mistakes do not keep those of the other part from being found.
  std::optional<Part> read_part(const yaml::Entry& entry) {
    const bool failed_before = std::exchange(failed_, false);
    auto part = read_part_alone(entry);
    failed_ = failed_ || failed_before;
    return part;
  }

  std::optional<Part> read_part_alone(const yaml::Entry& entry) {
    Part part;
    part.name = entry.key;
    part.position = entry.key_position;
    std::vector<Dimension> dimensions;
    const auto* args = entry.value->find("args");
    const auto* matrix = entry.value->find("matrix");
    if (args == nullptr && matrix == nullptr) {
      // Of a word that is unknown it was said already that it is: it may be what is missing.
      const bool only_known =
          std::all_of(entry.value->entries.begin(), entry.value->entries.end(),
                      [](const yaml::Entry& inner) { return inner.key == "description"; });
      if (only_known && !entry.value->incomplete)
        error(entry.key_position,
              "benchmark " + in_quotes(entry.key) + " has neither args nor a matrix");
      failed_ = true;
      return {};
    }
    if (args != nullptr && args->value->kind != Kind::kNull &&
        expect(*args->value, Kind::kMap, "args")) {
      for (const auto& argument : args->value->entries)
        read_argument(argument, dimensions);
    }
    const auto fixed = dimensions.size();
    if (matrix != nullptr && matrix->value->kind != Kind::kNull &&
        expect(*matrix->value, Kind::kMap, "matrix")) {
      for (const auto& argument : matrix->value->entries)
        read_matrix(argument, fixed, dimensions, part);
    }
    if (failed_) return {};
    combine(dimensions, fixed, part);
    return part.variants.empty() ? std::nullopt : std::optional(std::move(part));
  }

  const Key* key_of(const yaml::Entry& entry) {
    const auto* key = find_key(entry.key);
    if (key != nullptr) return key;
    std::vector<std::string_view> names;
    for (const auto& known : keys())
      names.push_back(known.name);
    std::string help = remedy_for(entry.key);
    if (help.empty()) help = suggestion(entry.key, names);
    if (help.starts_with("; there are")) help = "; docs/memory_benchmark.md lists the keys";
    error(entry.key_position, in_quotes(entry.key) + " is unknown" + help);
    failed_ = true;
    return nullptr;
  }

  // Of YAML and of cxlbench, the published tool's successor: what does the same here.
  static std::string remedy_for(const std::string& key) {
    struct Remedy {
      std::string_view key, text;
    };
    static constexpr Remedy kRemedies[] = {
        {"<<",
         "merge keys of YAML 1.1 are not supported; write the keys out, or use an alias for "
         "a whole map"},
        {"numa_memory_nodes", "name the memory by region: and regions: (nodes: [0, 1])"},
        {"numa_task_nodes", "use --numa for the nodes of threads, or numa_pattern"},
        {"thread_cores", "use thread_pinning: core, or taskset"},
        {"device_path", "use --target, or region: and regions: (spec: /dev/daxX.Y)"},
        {"percentage_pages_first_partition", "use regions: (nodes: and weights:)"},
        {"node_count_first_partition", "use regions: (nodes: and weights:)"},
        {"dependent_reads", "use exec_mode: chase"}};
    for (const auto& remedy : kRemedies) {
      if (remedy.key == key) return "; " + std::string(remedy.text);
    }
    const bool numbered = key.starts_with("m0_") || key.starts_with("m1_");
    return numbered ? "; the second range is dram_memory_range in dram_region" : std::string();
  }

  void read_argument(const yaml::Entry& entry, std::vector<Dimension>& dimensions) {
    const auto* key = key_of(entry);
    if (key == nullptr || !unique(*key, entry.key_position, dimensions, "args")) return;
    if (entry.value->kind == Kind::kList)
      return fail(entry.value->position,
                  std::string(key->name) + ": a list belongs below matrix; args has one value");
    if (auto setting = setting_of(*key, entry.key, *entry.value))
      dimensions.push_back({{std::move(*setting)}});
  }

  void read_matrix(const yaml::Entry& entry, std::size_t fixed, std::vector<Dimension>& dimensions,
                   Part& part) {
    const auto* key = key_of(entry);
    if (key == nullptr) return;
    for (std::size_t i = 0; i < fixed; ++i) {
      if (dimensions[i].settings.front().key != key) continue;
      return fail(entry.key_position,
                  std::string(key->name) + " is below args and below matrix, " + "first in line " +
                      std::to_string(dimensions[i].settings.front().position.line));
    }
    if (!unique(*key, entry.key_position, dimensions, "matrix")) return;
    Dimension dimension;
    if (entry.value->kind == Kind::kScalar) {
      // The published tool wants a list; one value is a list of one.
      if (auto setting = setting_of(*key, entry.key, *entry.value))
        dimension.settings.push_back(std::move(*setting));
    } else if (expect(*entry.value, Kind::kList, std::string(key->name))) {
      if (entry.value->items.empty())
        return fail(entry.value->position, std::string(key->name) + ": the list is empty");
      for (const auto& item : entry.value->items) {
        if (auto setting = setting_of(*key, entry.key, *item))
          dimension.settings.push_back(std::move(*setting));
      }
    } else {
      failed_ = true;
    }
    if (dimension.settings.empty()) return;
    part.matrix_keys.emplace_back(key->name);
    dimensions.push_back(std::move(dimension));
  }

  bool unique(const Key& key, yaml::Position position, const std::vector<Dimension>& dimensions,
              const std::string& where) {
    for (const auto& dimension : dimensions) {
      if (dimension.settings.front().key != &key) continue;
      fail(position,
           std::string(key.name) + " is there twice below " + where + ", also under an older name");
      return false;
    }
    return true;
  }

  void fail(yaml::Position position, std::string message) {
    failed_ = true;
    error(position, std::move(message));
  }

  std::optional<Setting> setting_of(const Key& key, const std::string& spelling,
                                    const yaml::Node& node) {
    if (node.kind != Kind::kScalar) {
      fail(node.position,
           std::string(key.name) + " must be one value, this is " + std::string(name(node.kind)));
      return {};
    }
    auto text = node.text;
    // An older key with its unit in its name. What has one is read as it is.
    if (spelling == "pause_length_micros" && !text.empty() &&
        text.find_first_not_of("0123456789.") == std::string::npos)
      text += "us";
    Config scratch;
    if (const auto status = key.set(scratch, text); !status) {
      std::istringstream mistakes(status.error().detail);  // A chain may have several.
      for (std::string mistake; std::getline(mistakes, mistake);)
        fail(node.position, std::string(key.name) + ": " + mistake);
      return {};
    }
    return Setting{&key, std::move(text), node.position};
  }

  // The cross product, the last dimension varying fastest.
  void combine(const std::vector<Dimension>& dimensions, std::size_t fixed, Part& part) {
    std::size_t count = 1;
    for (const auto& dimension : dimensions) {
      count *= dimension.settings.size();
      if (count > kVariantsMax)
        return fail(part.position, "the matrix of " + in_quotes(part.name) + " has more than " +
                                       std::to_string(kVariantsMax) + " combinations");
    }
    std::vector<std::size_t> chosen(dimensions.size(), 0);
    for (std::size_t i = 0; i < count; ++i) {
      Variant variant;
      for (std::size_t d = 0; d < dimensions.size(); ++d) {
        const auto& setting = dimensions[d].settings[chosen[d]];
        (void)setting.key->set(variant.config, setting.text);  // Succeeded before.
        variant.config.places[static_cast<std::size_t>(setting.key->id)] = setting.position;
        if (d >= fixed) variant.matrix.emplace_back(setting.key->name, setting.text);
      }
      complete(variant.config);
      check(variant.config, part);
      part.variants.push_back(std::move(variant));
      for (auto d = dimensions.size(); d-- > 0;) {
        if (++chosen[d] < dimensions[d].settings.size()) break;
        chosen[d] = 0;
      }
    }
  }

  // What other keys imply where one is not there.
  static void complete(Config& config) {
    // Listing 3.1 of the paper has a chain and no exec_mode.
    if (!config.chain.empty() && !config.is_set(KeyId::kExecMode))
      config.exec_mode = ExecMode::kCustom;
    if (config.chase() && !config.is_set(KeyId::kAccessSize)) config.access_bytes = kCacheLineBytes;
    if (config.chase() && !config.is_set(KeyId::kNumberOperations))
      config.number_operations = 10'000'000;  // At 100 ns each a second, not ten.
    if (config.grouping == Grouping::kIndividual) config.number_partitions = 0;
    // The older spelling: write_ratio 0 or 1 is an operation.
    if (config.write_ratio == 0) config.operation = AccessKind::kRead;
    if (config.write_ratio == 1) config.operation = AccessKind::kWrite;
  }

  void check(const Config& config, const Part& part) {
    for (const auto& problem : problems_of(config)) {
      const auto& key = keys()[static_cast<std::size_t>(problem.key)];
      const auto place = config.places[static_cast<std::size_t>(problem.key)];
      std::string message = std::string(key.name) + ": " + problem.message;
      if (place.line == 0) message = "benchmark " + in_quotes(part.name) + ": " + message;
      // A matrix meets the same mistake in many combinations; the first one stands for all.
      failed_ = true;
      if (reported_.emplace(place.line == 0 ? part.position : place, key.name).second)
        error(place.line == 0 ? part.position : place, std::move(message));
    }
  }

  void read_regions(const yaml::Node& node) {
    if (!expect(node, Kind::kMap, "regions")) return;
    for (const auto& entry : node.entries) {
      RegionDefinition region;
      region.name = entry.key;
      region.file = file_;
      region.position = entry.key_position;
      if (entry.key == "target")
        error(entry.key_position, "\"target\" is the region that --target names; use another name");
      for (const auto& other : workloads_.regions) {
        if (other.name == entry.key && other.file != file_)
          error(entry.key_position, "a region " + in_quotes(entry.key) + " is already in " +
                                        other.file + ", line " +
                                        std::to_string(other.position.line));
      }
      read_region(*entry.value, region);
      // Even with a mistake in it: benchmarks that name it are right.
      workloads_.regions.push_back(std::move(region));
    }
  }

  void read_region(const yaml::Node& node, RegionDefinition& region) {
    if (node.kind == Kind::kScalar) {
      region.spec = node.text;
      return;
    }
    if (!expect(node, Kind::kMap, "region " + in_quotes(region.name))) return;
    if (node.entries.empty() && !node.incomplete)
      error(node.position, "region " + in_quotes(region.name) +
                               " says nothing; give spec: (dram, node:N or a path) or nodes:");
    static constexpr std::string_view kWords[] = {"spec", "nodes", "weights"};
    for (const auto& entry : node.entries) {
      if (entry.key == "spec") {
        if (expect(*entry.value, Kind::kScalar, "spec")) region.spec = entry.value->text;
      } else if (entry.key == "nodes") {
        for (const auto value : read_numbers(*entry.value, "nodes", 0, 1023))
          region.nodes.push_back(static_cast<int>(value));
      } else if (entry.key == "weights") {
        region.weights = read_numbers(*entry.value, "weights", 1, 1000);
      } else {
        error(entry.key_position,
              in_quotes(entry.key) + " is unknown in a region" + suggestion(entry.key, kWords));
      }
    }
    if (!region.weights.empty() && region.weights.size() != region.nodes.size()) {
      error(region.position, "region " + in_quotes(region.name) + " has " +
                                 std::to_string(region.nodes.size()) + " nodes and " +
                                 std::to_string(region.weights.size()) +
                                 " weights; give one weight for each node");
    }
    if (!region.nodes.empty() && !region.spec.starts_with("dram"))
      error(region.position, "region " + in_quotes(region.name) +
                                 ": nodes are for memory of the system, spec: dram; " +
                                 in_quotes(region.spec) + " lies where it lies");
  }

  std::vector<unsigned> read_numbers(const yaml::Node& node, const std::string& what, unsigned low,
                                     unsigned high) {
    std::vector<unsigned> values;
    if (!expect(node, Kind::kList, what)) return values;
    if (node.items.empty()) error(node.position, what + ": the list is empty");
    for (const auto& item : node.items) {
      unsigned value = 0;
      const auto& text = item->text;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (item->kind != Kind::kScalar || code != std::errc{} || end != text.data() + text.size() ||
          value < low || value > high) {
        error(item->position, what + ": " + in_quotes(text) + " must be a number from " +
                                  std::to_string(low) + " to " + std::to_string(high));
        value = low;  // So that their number is right.
      }
      values.push_back(value);
    }
    return values;
  }

  const std::string& file_;
  Workloads& workloads_;
  yaml::Diagnostics& diagnostics_;
  std::set<std::pair<yaml::Position, std::string_view>> reported_;
  bool failed_ = false;  // The benchmark being read has a mistake and is left out.
};

}  // namespace

std::size_t Benchmark::runs() const {
  std::size_t count = 1;
  for (const auto& part : parts)
    count *= part.variants.size();
  return count;
}

void read_workload_text(const std::string& text, const std::string& file, Workloads& workloads,
                        yaml::Diagnostics& diagnostics) {
  const auto before = diagnostics.count();
  const auto root = yaml::parse(text, file, diagnostics);
  // Of what could not be read it need not be said that it holds nothing.
  if (root->kind == Kind::kNull && diagnostics.count() > before) return;
  FileReader(file, workloads, diagnostics).read(*root);
}

Workloads read_workloads(const std::string& path, yaml::Diagnostics& diagnostics) {
  Workloads workloads;
  std::vector<std::string> files;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      const auto extension = entry->path().extension();
      if (extension == ".yaml" || extension == ".yml") files.push_back(entry->path().string());
    }
    std::sort(files.begin(), files.end());
    if (error) diagnostics.add(path, {}, "cannot be read: " + error.message());
    if (files.empty() && !error)
      diagnostics.add(path, {}, "holds no .yaml file; give a workload file or a directory of them");
  } else {
    files.push_back(path);
  }
  for (const auto& file : files) {
    const auto text = results::read_file(file, yaml::kBytesMax);
    if (!text) {
      diagnostics.add(file, {}, text.error().detail.substr(file.size() + 2));  // Names it itself.
      continue;
    }
    read_workload_text(*text, file, workloads, diagnostics);
  }
  return workloads;
}

}  // namespace holdfast::bench::memory
