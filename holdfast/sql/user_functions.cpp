#include "user_functions.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/nested_functions.hpp>
#include <holdfast/sql/text_functions.hpp>
#include <holdfast/sql/user_calls.hpp>

namespace holdfast::sql {
namespace {

using functions::Definition;
using functions::Overload;

constexpr std::uint32_t kMostOverloads = 100;
constexpr std::string_view kExport = "holdfast_function_";

bool is_identifier(std::string_view name) {
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  return !name.empty() && name.size() <= 200 && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), is_word);
}

bool is_whole(const functions::Aggregate& calls) {
  return calls.create != nullptr && calls.copy != nullptr && calls.destroy != nullptr &&
         calls.add != nullptr && calls.result != nullptr && calls.encode != nullptr &&
         calls.decode != nullptr;
}

// What a library says of itself is not believed. Empty: nothing is wrong.
std::string wrong_of(const Overload& overload, bool aggregate) {
  if (overload.count > kMostUserArguments)
    return "a function has more than " + std::to_string(kMostUserArguments) + " arguments";
  if ((overload.aggregate != nullptr) != aggregate || (overload.call != nullptr) == aggregate)
    return "functions of one name are all scalar ones, or all aggregates";
  if (aggregate && overload.count == 0) return "an aggregate has no argument";
  if (overload.count != 0 && overload.arguments == nullptr)
    return "the types of its arguments are missing";
  if (aggregate && !is_whole(*overload.aggregate)) return "calls of an aggregate are missing";
  if (!type_of(overload.result)) return "the type of a result is not known";
  for (std::uint32_t i = 0; i < overload.count; ++i) {
    if (!type_of(overload.arguments[i])) return "the type of an argument is not known";
  }
  return {};
}

std::string wrong_of(const Definition& definition) {
  if (definition.interface != functions::kInterface)
    return "it was built for interface " + std::to_string(definition.interface) +
           " of functions, this is " + std::to_string(functions::kInterface) +
           "; build it again with the header of this version";
  if (definition.count == 0 || definition.count > kMostOverloads || definition.overloads == nullptr)
    return "it has no functions, or more than " + std::to_string(kMostOverloads);
  const bool aggregate = definition.overloads[0].aggregate != nullptr;
  for (std::uint32_t i = 0; i < definition.count; ++i) {
    const auto wrong = wrong_of(definition.overloads[i], aggregate);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// The definition that a library exports by this name.
Result<const Definition*> load(const syntax::CreateFunction& statement) {
  std::string_view given = statement.library;
  if (given.starts_with("file://")) given.remove_prefix(7);
  if (given.empty() || given.find('\0') != std::string_view::npos)
    return error_at(statement.library_at, "USING LIBRARY wants the path of a library");
  std::error_code code;
  const auto path = std::filesystem::absolute(given, code).string();
  if (code || !std::filesystem::is_regular_file(path, code))
    return error_at(statement.library_at, "there is no library " + escape(given));
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const why = ::dlerror();
    return error_at(statement.library_at, "the library " + escape(given) + " cannot be loaded: " +
                                              escape(why == nullptr ? "" : why));
  }
  const void* const found = ::dlsym(handle, (std::string(kExport) + statement.symbol).c_str());
  if (found == nullptr)
    return error_at(
        statement.symbol_at,
        "the library " + escape(given) + " exports no function '" + escape(statement.symbol) + "'",
        "HF_FUNCTION(" + statement.symbol + ") = … exports one");
  return static_cast<const Definition*>(found);
}

// "NET(DOUBLE, DOUBLE)"
std::string signature_of(const UserFunction& function, const Overload& overload) {
  std::string text = function.name + "(";
  for (std::uint32_t i = 0; i < overload.count; ++i)
    text += (i == 0 ? "" : ", ") + name_of(*type_of(overload.arguments[i]));
  return text + ")";
}

using Arguments = std::vector<ExpressionPointer>;

bool is_exact(const Overload& overload, const Arguments& arguments) {
  for (std::uint32_t i = 0; i < overload.count; ++i) {
    const Type wanted = *type_of(overload.arguments[i]);
    const Type& given = arguments[i]->type;
    const bool strings = wanted.kind == Kind::kString && given.kind == Kind::kString;
    if (given != wanted && !strings && given.kind != Kind::kNull) return false;
  }
  return true;
}

Result<Arguments> converted_to(const UserFunction& function, const Overload& overload,
                               const Arguments& arguments) {
  Arguments all;
  for (std::uint32_t i = 0; i < overload.count; ++i) {
    HF_ASSIGN_OR_RETURN(
        auto one, converted(clone(*arguments[i]), *type_of(overload.arguments[i]), function.name));
    all.push_back(std::move(one));
  }
  return all;
}

// The overload that a call means, and its arguments in the types of it.
Result<const Overload*> chosen(const UserFunction& function, Position at, Arguments& arguments) {
  const auto& definition = function.definition;
  std::vector<const Overload*> fitting;
  std::string known;
  for (std::uint32_t i = 0; i < definition.count; ++i) {
    const auto& overload = definition.overloads[i];
    known += (i == 0 ? "" : ", ") + signature_of(function, overload);
    if (overload.count == arguments.size()) fitting.push_back(&overload);
  }
  if (fitting.empty())
    return error_at(at,
                    function.name + " with " + std::to_string(arguments.size()) +
                        (arguments.size() == 1 ? " argument" : " arguments") + " is not known",
                    "there is " + known);
  std::stable_partition(fitting.begin(), fitting.end(),
                        [&](const auto* one) { return is_exact(*one, arguments); });
  for (const auto* overload : fitting) {
    auto all = converted_to(function, *overload, arguments);
    if (!all && fitting.size() == 1) return std::move(all).pass_on();
    if (!all) continue;
    arguments = *std::move(all);
    return overload;
  }
  std::string types;
  for (const auto& argument : arguments)
    types += (types.empty() ? "" : ", ") + name_of(argument->type);
  return error_at(at, "there is no " + function.name + "(" + types + ")",
                  "there is " + known + "; write a CAST");
}

}  // namespace

Status UserFunctions::add(std::string_view name, const Definition& definition, Position at) {
  if (!is_identifier(name))
    return error_at(at, "a function cannot be called '" + escape(name) + "'",
                    "letters, digits and _ are");
  auto upper = in_upper_case(name);
  if (is_built_in(upper)) return error_at(at, "the function " + upper + " is a built-in one");
  if (all_.contains(upper)) return error_at(at, "the function " + upper + " is there already");
  const auto wrong = wrong_of(definition);
  if (!wrong.empty()) return error_at(at, "the function " + upper + ": " + wrong);
  auto key = upper;
  all_.emplace(std::move(key), UserFunction{std::move(upper), definition});
  return {};
}

Status UserFunctions::add(const syntax::CreateFunction& statement) {
  if (statement.if_not_exists && all_.contains(in_upper_case(statement.name))) return {};
  if (!is_identifier(statement.symbol))
    return error_at(statement.symbol_at,
                    "'" + escape(statement.symbol) + "' is no name that a library can export");
  HF_ASSIGN_OR_RETURN(const auto* definition, load(statement));
  return add(statement.name, *definition, statement.at);
}

Status UserFunctions::drop(const syntax::DropFunction& statement) {
  if (all_.erase(in_upper_case(statement.name)) != 0 || statement.if_exists) return {};
  return error_at(statement.at, "there is no function " + escape(statement.name) + " to drop");
}

const UserFunction* UserFunctions::find(std::string_view name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

std::vector<std::string_view> UserFunctions::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : all_)
    names.push_back(name);
  return names;
}

Result<ExpressionPointer> bind_user_function(const UserFunction& function, Position at,
                                             Arguments arguments) {
  HF_ASSIGN_OR_RETURN(const auto* overload, chosen(function, at, arguments));
  auto call = made(Operation::kPrepared, *type_of(overload->result), at);
  call->prepared = std::make_shared<UserCall>(function, *overload);
  call->arguments = std::move(arguments);
  return call;
}

Result<Aggregate> bind_user_aggregate(const UserFunction& function, Position at,
                                      Arguments arguments) {
  HF_ASSIGN_OR_RETURN(const auto* overload, chosen(function, at, arguments));
  auto user = std::make_shared<UserAggregate>();
  user->name = versioned_name(function);
  user->overload = overload;
  // Several values are one, a ROW. It is not NULL where one of them is.
  user->is_row = arguments.size() > 1 || overload->arguments[0].nullable;
  Aggregate aggregate;
  aggregate.kind = AggregateKind::kUser;
  aggregate.at = at;
  aggregate.type = *type_of(overload->result);
  if (user->is_row) {
    HF_ASSIGN_OR_RETURN(aggregate.argument, bind_nested("ROW", at, std::move(arguments)));
  } else {
    aggregate.argument = std::move(arguments[0]);
  }
  user->argument = aggregate.argument->type;
  aggregate.user = std::move(user);
  return aggregate;
}

}  // namespace holdfast::sql
