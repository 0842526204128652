// Options by name: the fields of kv::StoreOptions as texts.
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <holdfast/base/format.hpp>
#include <holdfast/c/boundary.hpp>
#include <holdfast/c/handles.hpp>

using namespace holdfast;
using c::boundary;

namespace holdfast::c {
namespace {

using Options = kv::StoreOptions;

// How a field is read and written; `allowed` ends the error of a text that it does not take.
struct Option {
  const char* name;
  const char* allowed;
  bool (*set)(Options&, std::string_view text);
  std::string (*get)(const Options&);
};

// ---- One kind of field each ----

template <auto kField, class Owner>
auto& field_of(Owner& owner) {
  if constexpr (requires { owner.*kField; })
    return owner.*kField;
  else
    return owner.reclaim.*kField;
}

template <auto kField>
constexpr Option bytes(const char* name) {
  return {name, "a number of bytes: 4096, 64M, 1.5GiB",
          [](Options& options, std::string_view text) {
            auto& field = field_of<kField>(options);
            using Value = std::remove_reference_t<decltype(field)>;
            const auto value = parse_bytes(text, "value");
            if (!value || *value > std::numeric_limits<Value>::max()) return false;
            field = static_cast<Value>(*value);
            return true;
          },
          [](const Options& options) { return std::to_string(field_of<kField>(options)); }};
}

template <auto kField>
constexpr Option whole_number(const char* name) {
  return {name, "a whole number below 2^32",
          [](Options& options, std::string_view text) {
            std::uint32_t value = 0;
            const auto end = text.data() + text.size();
            const auto parsed = std::from_chars(text.data(), end, value);
            if (parsed.ec != std::errc() || parsed.ptr != end) return false;
            field_of<kField>(options) = value;
            return true;
          },
          [](const Options& options) { return std::to_string(field_of<kField>(options)); }};
}

template <auto kField>
constexpr Option switch_of(const char* name) {
  return {name, "true or false",
          [](Options& options, std::string_view text) {
            if (text != "true" && text != "false") return false;
            field_of<kField>(options) = text == "true";
            return true;
          },
          [](const Options& options) {
            return std::string(field_of<kField>(options) ? "true" : "false");
          }};
}

template <class Value>
struct Choice {
  std::string_view name;
  Value value;
};
template <auto kField, const auto& kChoices>
constexpr Option choice(const char* name, const char* allowed) {
  return {name, allowed,
          [](Options& options, std::string_view text) {
            for (const auto& choice : kChoices) {
              if (choice.name != text) continue;
              field_of<kField>(options) = choice.value;
              return true;
            }
            return false;
          },
          [](const Options& options) {
            for (const auto& choice : kChoices) {
              if (choice.value == field_of<kField>(options)) return std::string(choice.name);
            }
            return std::string();
          }};
}
constexpr Choice<RegionAccess> kAccesses[] = {{"open_or_create", RegionAccess::kOpenOrCreate},
                                              {"open", RegionAccess::kOpen},
                                              {"create", RegionAccess::kCreate},
                                              {"read_only", RegionAccess::kOpenReadOnly}};
constexpr Choice<kv::Durability> kDurabilities[] = {{"default", kv::Durability::kDefault},
                                                    {"process", kv::Durability::kProcess},
                                                    {"power", kv::Durability::kPower}};

constexpr Option kPatchableWords{
    "patchable_words", "offsets in the value, separated by commas: 0,8,24",
    [](Options& options, std::string_view text) {
      std::vector<std::uint32_t> words;
      while (!text.empty()) {
        std::uint32_t word = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), word);
        if (parsed.ec != std::errc()) return false;
        words.push_back(word);
        text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
        if (text.empty()) break;
        if (text.front() != ',' || text.size() == 1) return false;
        text.remove_prefix(1);
      }
      options.patchable_words = std::move(words);
      return true;
    },
    [](const Options& options) {
      std::string text;
      for (const std::uint32_t word : options.patchable_words)
        text += (text.empty() ? "" : ",") + std::to_string(word);
      return text;
    }};

constexpr Option kSpaceAmplification{
    "reclaim.space_amplification", "a number from 1.05 to 10",
    [](Options& options, std::string_view text) {
      double value = 0;
      const auto end = text.data() + text.size();
      const auto parsed = std::from_chars(text.data(), end, value);
      if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) return false;
      options.reclaim.space_amplification = value;
      return true;
    },
    [](const Options& options) {
      char text[32];
      const auto written =
          std::to_chars(text, text + sizeof text, options.reclaim.space_amplification);
      return std::string(text, written.ptr);
    }};

constexpr Option kOptions[] = {
    choice<&Options::access, kAccesses>("access", "open_or_create, open, create or read_only"),
    bytes<&Options::block_bytes>("block_bytes"),
    bytes<&Options::segment_bytes>("segment_bytes"),
    bytes<&Options::initial_bytes>("initial_bytes"),
    bytes<&Options::file_bytes>("file_bytes"),
    kPatchableWords,
    choice<&Options::durability, kDurabilities>("durability", "default, process or power"),
    bytes<&Options::max_bytes>("max_bytes"),
    switch_of<&Options::verify_reads>("verify_reads"),
    switch_of<&Options::order>("order"),
    switch_of<&Options::at_mark>("at_mark"),
    switch_of<&Options::prefault>("prefault"),
    whole_number<&Options::recovery_threads>("recovery_threads"),
    whole_number<&Options::sync_interval_ms>("sync_interval_ms"),
    switch_of<&Options::background>("background"),
    switch_of<&kv::ReclaimOptions::background>("reclaim.background"),
    kSpaceAmplification,
    bytes<&kv::ReclaimOptions::bytes_per_second>("reclaim.bytes_per_second"),
};

Result<const Option*> find(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) {
    if (name == option.name) return &option;
    names.emplace_back(option.name);
  }
  const std::string_view near = closest(name, names);
  return Error{Errc::kInvalidOption,
               "there is no option '" + escape(name) + "'; " +
                   (near.empty() ? std::string("holdfast.h lists them")
                                 : "did you mean '" + std::string(near) + "'?")};
}

}  // namespace

Result<kv::WriteOptions> write_options(std::uint32_t flags) {
  constexpr std::uint32_t kDurable = HF_DURABLE_PROCESS | HF_DURABLE_POWER;
  if ((flags & ~(kDurable | HF_RENEW)) != 0 || (flags & kDurable) == kDurable)
    return unknown_number("flags", flags,
                          "one of HF_DURABLE_PROCESS and HF_DURABLE_POWER, and HF_RENEW,");
  kv::WriteOptions options;
  if ((flags & HF_DURABLE_PROCESS) != 0) options.durability = kv::Durability::kProcess;
  if ((flags & HF_DURABLE_POWER) != 0) options.durability = kv::Durability::kPower;
  options.renew = (flags & HF_RENEW) != 0;
  return options;
}

}  // namespace holdfast::c

int32_t hf_options_new(hf_options** options) {
  return boundary([&]() -> Status {
    HF_NEEDS(options);
    *options = nullptr;
    *options = new hf_options();
    return {};
  });
}

int32_t hf_options_set(hf_options* options, const char* name, const char* value) {
  return boundary([&]() -> Status {
    HF_NEEDS(options);
    HF_NEEDS(name);
    HF_NEEDS(value);
    HF_ASSIGN_OR_RETURN(const c::Option* option, c::find(name));
    if (option->set(options->options, value)) return {};
    return Error{Errc::kInvalidOption, std::string(name) + "='" + escape(value) + "'; " +
                                           option->allowed + " is allowed"};
  });
}

int32_t hf_options_get(const hf_options* options, const char* name, char* buffer, size_t capacity,
                       size_t* length) {
  return boundary([&]() -> Status {
    HF_NEEDS(options);
    HF_NEEDS(name);
    HF_NEEDS_BYTES(buffer, capacity);
    HF_NEEDS(length);
    HF_ASSIGN_OR_RETURN(const c::Option* option, c::find(name));
    c::copy_text(option->get(options->options), buffer, capacity, length);
    return {};
  });
}

void hf_options_free(hf_options* options) { delete options; }
