#include <holdfast/peers/stream/flink_peer.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <holdfast/modules/modules.hpp>

namespace holdfast::bench::stream {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kSubjects = {"flink-sql-rocksdb", "flink-sql-heap",
                                                       "flink-ds-rocksdb", "flink-ds-heap"};
// What Flink's own scripts open for it.
constexpr std::array<const char*, 8> kOpened = {
    "java.util", "java.lang", "java.time",  "java.net",
    "java.io",   "java.nio",  "sun.nio.ch", "java.util.concurrent"};

bool has_jars(const fs::path& directory) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().filename().string().starts_with("holdfast-flink-peer-")) return true;
  return false;
}

// build/java/flink-peer of a checkout whose command is build/release/holdfast-bench.
std::vector<std::string> places_of(const FlinkSetting& setting) {
  if (!setting.jars.empty()) return {setting.jars};
  std::vector<std::string> places;
  for (const auto& place : modules::places())
    places.push_back((fs::path(place).parent_path() / "java" / "flink-peer").string());
  return places;
}

std::string java() {
  const char* const home = std::getenv("JAVA_HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/bin/java" : "java";
}

}  // namespace

bool is_flink(std::string_view name) {
  return std::find(kSubjects.begin(), kSubjects.end(), name) != kSubjects.end();
}

std::vector<std::string> with_states_of_flink(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const auto& name : names) {
    if (name != "flink-sql" && name != "flink-ds") {
      all.push_back(name);
      continue;
    }
    all.push_back(name + "-rocksdb");
    all.push_back(name + "-heap");
  }
  return all;
}

Result<std::vector<std::string>> flink_command(const std::string& name, unsigned threads,
                                               const FlinkSetting& setting) {
  const auto places = places_of(setting);
  const auto found = std::find_if(places.begin(), places.end(), has_jars);
  if (found == places.end()) {
    std::string looked;
    for (const auto& place : places)
      looked += (looked.empty() ? "" : " and ") + place;
    return Error{Errc::kNotFound,
                 name + ": no holdfast-flink-peer-….jar in " + looked +
                     "; in a checkout ./run bench stream --compare flink-sql builds it (a JDK 17, "
                     "Maven, and Flink from Maven Central), --flink names its directory"};
  }
  std::vector<std::string> words = {java(), "-Xmx6g"};
  for (const auto* opened : kOpened)
    words.push_back(std::string("--add-opens=java.base/") + opened + "=ALL-UNNAMED");
  const auto checkpoint_ms =
      std::max<std::int64_t>(10, static_cast<std::int64_t>(setting.checkpoint_seconds * 1'000));
  for (auto word : {std::string("-cp"), *found + "/*:" + *found + "/lib/*",
                    std::string("org.holdfast.flink.peer.StreamPeer"), name,
                    std::to_string(threads), setting.directory, std::to_string(checkpoint_ms)})
    words.push_back(std::move(word));
  return words;
}

}  // namespace holdfast::bench::stream
