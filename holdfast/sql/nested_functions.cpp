#include "nested_functions.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/binder.hpp>
#include <holdfast/sql/evaluate.hpp>
#include <holdfast/sql/nested.hpp>

namespace holdfast::sql {
namespace {

using Arguments = std::vector<ExpressionPointer>;

constexpr const char* kTooLong = "a value is longer than 16 MiB";

// ---- Types ----
Result<Type> made_type(Kind kind, std::vector<TypeField> fields, Position at) {
  const auto type = nested_type(kind, std::move(fields));
  if (type) return *type;
  return error_at(at, why_no_nested_type());
}

// What stands in a value is of a type that a column may have.
Status settle(ExpressionPointer& part) {
  if (part->type.kind == Kind::kNull) part = cast_to(std::move(part), kStringType);
  if (part->type.kind == Kind::kInterval)
    return unsupported_at(part->at, "an INTERVAL in an array, a row or a map");
  return {};
}

// Casts the arguments `first`, `first` + `step`, … to the type they have in common.
Result<Type> common_of(std::string_view name, Arguments& arguments, std::size_t first,
                       std::size_t step) {
  Type all;
  for (std::size_t i = first; i < arguments.size(); i += step) {
    const auto type = common_type(all, arguments[i]->type);
    if (!type)
      return error_at(
          arguments[i]->at,
          std::string(name) + " of " + name_of(all) + " and " + name_of(arguments[i]->type),
          "write a CAST");
    all = *type;
  }
  if (all.kind == Kind::kNull) all = kStringType;
  for (std::size_t i = first; i < arguments.size(); i += step) {
    arguments[i] = cast_to(std::move(arguments[i]), all);
    HF_RETURN_IF_ERROR(settle(arguments[i]));
  }
  return all;
}

Result<Type> array_argument(std::string_view name, const Expression& argument) {
  if (argument.type.kind == Kind::kArray) return argument.type;
  return error_at(argument.at,
                  std::string(name) + " wants an ARRAY, this is " + name_of(argument.type));
}

// The array and a value beside it get a common type of elements: ARRAY_CONTAINS(bigints, 1).
Result<Type> array_and_element(std::string_view name, Position at, Arguments& arguments) {
  HF_ASSIGN_OR_RETURN(const Type array, array_argument(name, *arguments[0]));
  const auto element = common_type(element_of(array), arguments[1]->type);
  if (!element)
    return error_at(
        arguments[1]->at,
        std::string(name) + " of " + name_of(array) + " and " + name_of(arguments[1]->type),
        "write a CAST");
  HF_ASSIGN_OR_RETURN(const Type wide, made_type(Kind::kArray, {{"", *element}}, at));
  arguments[0] = cast_to(std::move(arguments[0]), wide);
  arguments[1] = cast_to(std::move(arguments[1]), *element);
  return wide;
}

// ---- ARRAY[…], ROW(…), MAP[…] ----
Result<Type> bind_array(std::string_view name, Position at, Arguments& arguments) {
  HF_ASSIGN_OR_RETURN(const Type element, common_of(name, arguments, 0, 1));
  return made_type(Kind::kArray, {{"", element}}, at);
}

Result<Type> bind_row(std::string_view, Position at, Arguments& arguments) {
  std::vector<TypeField> fields;
  for (auto& argument : arguments) {
    HF_RETURN_IF_ERROR(settle(argument));
    fields.push_back({"EXPR$" + std::to_string(fields.size()), argument->type});
  }
  return made_type(Kind::kRow, std::move(fields), at);
}

Result<Type> bind_map(std::string_view name, Position at, Arguments& arguments) {
  if (arguments.size() % 2 != 0)
    return error_at(at, "MAP wants keys and values in turn", "MAP['a', 1, 'b', 2]");
  HF_ASSIGN_OR_RETURN(const Type key, common_of(name, arguments, 0, 2));
  HF_ASSIGN_OR_RETURN(const Type value, common_of(name, arguments, 1, 2));
  return made_type(Kind::kMap, {{"", key}, {"", value}}, at);
}

const char* all_arguments(const NestedCall& call, Value& out) {
  NestedWriter writer(call.type);
  for (const auto& value : call.arguments) {
    if (!writer.add(value)) return kTooLong;
  }
  out = writer.take();
  return nullptr;
}

const char* map_of_arguments(const NestedCall& call, Value& out) {
  for (std::size_t i = 0; i < call.arguments.size(); i += 2) {
    if (call.arguments[i].null) return "a key is NULL";
  }
  auto map = map_of({call.arguments.begin(), call.arguments.end()}, call.type);
  if (!map) return kTooLong;
  out = *std::move(map);
  return nullptr;
}

// ---- a[i], r.f ----
Result<Type> bind_item(std::string_view, Position, Arguments& arguments) {
  const Type from = arguments[0]->type;
  if (from.kind == Kind::kMap) {
    const auto& key = from.nested->fields[0].type;
    HF_ASSIGN_OR_RETURN(arguments[1], converted(std::move(arguments[1]), key, "a key of the map"));
    return from.nested->fields[1].type;
  }
  if (from.kind != Kind::kArray)
    return error_at(arguments[0]->at, "[…] wants an ARRAY or a MAP, this is " + name_of(from));
  HF_ASSIGN_OR_RETURN(arguments[1], converted(std::move(arguments[1]), kBigIntType, "an index"));
  arguments[1] = folded(std::move(arguments[1]));
  const auto& index = *arguments[1];
  if (index.operation == Operation::kLiteral && !index.literal.null && index.literal.number < 1)
    return error_at(index.at, "an index of an array counts from 1");
  return element_of(from);
}

const char* item(const NestedCall& call, Value& out) {
  const Type& from = call.expressions[0]->type;
  NestedReader reader(call.arguments[0].text, from);
  const Value& index = call.arguments[1];
  out = Value();
  if (from.kind == Kind::kMap) {
    Value key, value;
    while (reader.next(key) && reader.next(value)) {
      if (same(key, index, from.nested->fields[0].type)) return out = std::move(value), nullptr;
    }
    return nullptr;
  }
  if (index.number < 1 || index.number > reader.count()) return nullptr;
  for (Int128 i = 0; i < index.number; ++i) {
    if (!reader.next(out)) return out = Value(), nullptr;
  }
  return nullptr;
}

// The number of the field is a literal, which bind_field() makes.
Result<Type> bind_field_of(std::string_view, Position, Arguments& arguments) {
  const auto place = static_cast<std::size_t>(arguments[1]->literal.number);
  return arguments[0]->type.nested->fields[place].type;
}

const char* field(const NestedCall& call, Value& out) {
  NestedReader reader(call.arguments[0].text, call.expressions[0]->type);
  for (Int128 i = 0; i <= call.arguments[1].number; ++i) {
    if (!reader.next(out)) return out = Value(), nullptr;
  }
  return nullptr;
}

// ---- Of arrays ----
Result<Type> bind_cardinality(std::string_view name, Position, Arguments& arguments) {
  const Type& type = arguments[0]->type;
  if (type.kind != Kind::kArray && type.kind != Kind::kMap)
    return error_at(arguments[0]->at,
                    std::string(name) + " wants an ARRAY or a MAP, this is " + name_of(type));
  return kIntType;
}

const char* cardinality(const NestedCall& call, Value& out) {
  out = Value::of(NestedReader(call.arguments[0].text, call.expressions[0]->type).count());
  return nullptr;
}

// Visits the bytes of the elements until visit(bytes) is false.
template <class Visit>
void for_each_element(const Value& array, const Type& type, Visit visit) {
  NestedReader reader(array.text, type);
  std::string_view element;
  while (reader.next(element) && visit(element)) {
  }
}

std::string bytes_of(const Value& value, const Type& type) {
  std::string bytes;
  append_bytes(value, type, bytes);
  return bytes;
}

// From 1; 0: it is not there.
std::int64_t place_of(const NestedCall& call) {
  const Type& type = call.expressions[0]->type;
  const auto wanted = bytes_of(call.arguments[1], element_of(type));
  std::int64_t at = 0, found = 0;
  for_each_element(call.arguments[0], type, [&](std::string_view element) {
    ++at;
    if (element == wanted) found = at;
    return found == 0;
  });
  return found;
}

Result<Type> bind_contains(std::string_view name, Position at, Arguments& arguments) {
  HF_RETURN_IF_ERROR(array_and_element(name, at, arguments));
  return kBooleanType;
}
const char* contains(const NestedCall& call, Value& out) {
  out = call.arguments[0].null ? Value() : Value::of(place_of(call) != 0 ? 1 : 0);
  return nullptr;
}

Result<Type> bind_position(std::string_view name, Position at, Arguments& arguments) {
  HF_RETURN_IF_ERROR(array_and_element(name, at, arguments));
  return kIntType;
}
const char* position(const NestedCall& call, Value& out) {
  out = Value::of(place_of(call));
  return nullptr;
}

Result<Type> bind_same_array(std::string_view name, Position, Arguments& arguments) {
  return array_argument(name, *arguments[0]);
}
const char* distinct(const NestedCall& call, Value& out) {
  NestedWriter writer(call.type);
  std::set<std::string_view> seen;
  for_each_element(call.arguments[0], call.type, [&](std::string_view element) {
    if (seen.insert(element).second) writer.add_bytes(element);
    return true;
  });
  out = writer.take();
  return nullptr;
}
const char* reversed(const NestedCall& call, Value& out) {
  std::vector<std::string_view> elements;
  for_each_element(call.arguments[0], call.type, [&](std::string_view element) {
    elements.push_back(element);
    return true;
  });
  NestedWriter writer(call.type);
  for (auto element = elements.rbegin(); element != elements.rend(); ++element)
    writer.add_bytes(*element);
  out = writer.take();
  return nullptr;
}

Result<Type> bind_extreme(std::string_view name, Position, Arguments& arguments) {
  HF_ASSIGN_OR_RETURN(const Type array, array_argument(name, *arguments[0]));
  if (element_of(array).is_nested())
    return error_at(arguments[0]->at, std::string(name) + " of " + name_of(array) +
                                          ": arrays, rows and maps have no order");
  return element_of(array);
}
// NULL elements are skipped.
template <bool kGreatest>
const char* extreme(const NestedCall& call, Value& out) {
  NestedReader reader(call.arguments[0].text, call.expressions[0]->type);
  Value element;
  out = Value();
  while (reader.next(element)) {
    if (element.null) continue;
    const int order = out.null ? 0 : compare(element, out, call.type);
    if (out.null || (kGreatest ? order > 0 : order < 0)) out = std::move(element);
  }
  return nullptr;
}

template <bool kBehind>
const char* with_element(const NestedCall& call, Value& out) {
  if (call.arguments[0].null) return out = Value(), nullptr;
  NestedWriter writer(call.type);
  if (!kBehind) writer.add(call.arguments[1]);
  for_each_element(call.arguments[0], call.type,
                   [&](std::string_view element) { return writer.add_bytes(element); });
  if (kBehind) writer.add(call.arguments[1]);
  out = writer.take();
  return out.text.size() > kMaxNestedBytes ? kTooLong : nullptr;
}

const char* without_element(const NestedCall& call, Value& out) {
  if (call.arguments[0].null) return out = Value(), nullptr;
  const auto unwanted = bytes_of(call.arguments[1], element_of(call.type));
  NestedWriter writer(call.type);
  for_each_element(call.arguments[0], call.type, [&](std::string_view element) {
    if (element != unwanted) writer.add_bytes(element);
    return true;
  });
  out = writer.take();
  return nullptr;
}

Result<Type> bind_arrays(std::string_view name, Position, Arguments& arguments) {
  for (const auto& argument : arguments)
    HF_RETURN_IF_ERROR(array_argument(name, *argument));
  return common_of(name, arguments, 0, 1);
}
const char* concatenated(const NestedCall& call, Value& out) {
  NestedWriter writer(call.type);
  bool fits = true;
  for (const auto& array : call.arguments) {
    for_each_element(array, call.type,
                     [&](std::string_view element) { return fits = writer.add_bytes(element); });
    if (!fits) return kTooLong;
  }
  out = writer.take();
  return nullptr;
}

// Of both, those of the second that are in the first, or those of the first that are not in the
// second: each once, as they come.
enum class Sets : std::uint8_t { kUnion, kIntersect, kExcept };
template <Sets kSets>
const char* of_two_sets(const NestedCall& call, Value& out) {
  std::set<std::string_view> seen, second;
  NestedWriter writer(call.type);
  for_each_element(call.arguments[1], call.type, [&](std::string_view element) {
    second.insert(element);
    return true;
  });
  const auto take = [&](std::string_view element) {
    const bool wanted =
        kSets == Sets::kUnion || second.contains(element) == (kSets == Sets::kIntersect);
    if (wanted && seen.insert(element).second) writer.add_bytes(element);
    return true;
  };
  for_each_element(call.arguments[0], call.type, take);
  if (kSets == Sets::kUnion) for_each_element(call.arguments[1], call.type, take);
  out = writer.take();
  return out.text.size() > kMaxNestedBytes ? kTooLong : nullptr;
}

// ARRAY_JOIN(array, between [, instead of NULL])
Result<Type> bind_join(std::string_view name, Position, Arguments& arguments) {
  HF_ASSIGN_OR_RETURN(const Type array, array_argument(name, *arguments[0]));
  if (element_of(array).kind != Kind::kString)
    return error_at(arguments[0]->at,
                    std::string(name) + " wants an ARRAY<STRING>, this is " + name_of(array));
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    HF_ASSIGN_OR_RETURN(arguments[i],
                        converted(std::move(arguments[i]), kStringType, std::string(name)));
  }
  return kStringType;
}
const char* joined(const NestedCall& call, Value& out) {
  NestedReader reader(call.arguments[0].text, call.expressions[0]->type);
  std::string text;
  Value element;
  bool first = true;
  while (reader.next(element)) {
    if (element.null && call.arguments.size() < 3) continue;
    if (!std::exchange(first, false)) text += call.arguments[1].text;
    text += element.null ? call.arguments[2].text : element.text;
    if (text.size() > kMaxNestedBytes) return kTooLong;
  }
  out = Value::of_text(std::move(text));
  return nullptr;
}

// Keys and values of a map, as arrays.
template <std::size_t kPart>
Result<Type> bind_half(std::string_view name, Position at, Arguments& arguments) {
  const Type& type = arguments[0]->type;
  if (type.kind != Kind::kMap)
    return error_at(at, std::string(name) + " wants a MAP, this is " + name_of(type));
  return made_type(Kind::kArray, {{"", type.nested->fields[kPart].type}}, at);
}
template <std::size_t kPart>
const char* half(const NestedCall& call, Value& out) {
  NestedWriter writer(call.type);
  std::size_t at = 0;
  for_each_element(call.arguments[0], call.expressions[0]->type, [&](std::string_view part) {
    if (at++ % 2 == kPart) writer.add_bytes(part);
    return true;
  });
  out = writer.take();
  return nullptr;
}

constexpr auto kFunctions = std::to_array<NestedFunction>({
    {"ARRAY", 1, kMaxColumns, bind_array, all_arguments, true},
    {"ARRAY_APPEND", 2, 2, array_and_element, with_element<true>, true},
    {"ARRAY_CONCAT", 1, kMaxColumns, bind_arrays, concatenated},
    {"ARRAY_CONTAINS", 2, 2, bind_contains, contains, true},
    {"ARRAY_DISTINCT", 1, 1, bind_same_array, distinct},
    {"ARRAY_EXCEPT", 2, 2, bind_arrays, of_two_sets<Sets::kExcept>},
    {"ARRAY_INTERSECT", 2, 2, bind_arrays, of_two_sets<Sets::kIntersect>},
    {"ARRAY_JOIN", 2, 3, bind_join, joined},
    {"ARRAY_MAX", 1, 1, bind_extreme, extreme<true>},
    {"ARRAY_MIN", 1, 1, bind_extreme, extreme<false>},
    {"ARRAY_POSITION", 2, 2, bind_position, position},
    {"ARRAY_PREPEND", 2, 2, array_and_element, with_element<false>, true},
    {"ARRAY_REMOVE", 2, 2, array_and_element, without_element, true},
    {"ARRAY_REVERSE", 1, 1, bind_same_array, reversed},
    {"ARRAY_UNION", 2, 2, bind_arrays, of_two_sets<Sets::kUnion>},
    {"CARDINALITY", 1, 1, bind_cardinality, cardinality},
    {"FIELD", 2, 2, bind_field_of, field},
    {"ITEM", 2, 2, bind_item, item},
    {"MAP", 2, kMaxColumns, bind_map, map_of_arguments, true},
    {"MAP_KEYS", 1, 1, bind_half<0>, half<0>},
    {"MAP_VALUES", 1, 1, bind_half<1>, half<1>},
    {"ROW", 1, kMaxColumns, bind_row, all_arguments, true},
});

}  // namespace

std::span<const NestedFunction> nested_functions() { return kFunctions; }

std::uint32_t nested_function_named(std::string_view name) {
  const auto found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                  [&](const auto& function) { return function.name == name; });
  return static_cast<std::uint32_t>(found - kFunctions.begin());
}

Result<ExpressionPointer> bind_nested(std::string_view name, Position at, Arguments arguments) {
  const auto number = nested_function_named(name);
  const auto& function = kFunctions[number];
  if (arguments.size() < function.least || arguments.size() > function.most) {
    std::string count = std::to_string(function.least);
    if (function.most == kMaxColumns)
      count += " or more";
    else if (function.most != function.least)
      count += " to " + std::to_string(function.most);
    return error_at(at, std::string(name) + " wants " + count + " arguments");
  }
  auto call = made(Operation::kNestedCall, Type{}, at);
  call->column = number;
  HF_ASSIGN_OR_RETURN(call->type, function.bind(name, at, arguments));
  call->arguments = std::move(arguments);
  return call;
}

Result<ExpressionPointer> bind_field(ExpressionPointer row, const std::string& name, Position at) {
  if (row->type.kind != Kind::kRow)
    return error_at(at, "." + escape(name) + " wants a ROW, this is " + name_of(row->type));
  const auto& fields = row->type.nested->fields;
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.name == name; });
  if (found == fields.end()) {
    std::vector<std::string_view> names;
    for (const auto& one : fields)
      names.push_back(one.name);
    const auto meant = closest(name, names);
    return error_at(at, name_of(row->type) + " has no field " + escape(name),
                    meant.empty() ? "" : "did you mean " + std::string(meant) + "?");
  }
  Arguments arguments;
  arguments.push_back(std::move(row));
  arguments.push_back(literal_of(Value::of(found - fields.begin()), kIntType, at));
  return bind_nested("FIELD", at, std::move(arguments));
}

}  // namespace holdfast::sql
