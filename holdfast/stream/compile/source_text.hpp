// source_text.hpp: what a query says, as C++ text that says nothing else.
//
// Guarantee  Whatever bytes a text of a query has (quotes, backslashes, line ends, NUL, the end of
//            a comment), they end where the literal, the comment or the name ends: what is given
//            back is printable ASCII, and of a query's own characters only those that have no
//            meaning to a compiler.
// Threads    Functions of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/sql/expression.hpp>

namespace holdfast::stream::compile {

// "std::int64_t": the type of values in runtime/values.hpp.
std::string_view cpp_type(const sql::Type& type);
// `some<std::int64_t>(5)`, `some(Text{"ada", 3})`, `Maybe<Text>{}`.
std::string literal(const sql::Value& value, const sql::Type& type);
// "c3_price": the number makes it unique, the name helps a reader.
std::string identifier(char kind, std::size_t number, std::string_view name);
// Lines of a comment, each with `//` before it.
std::string comment(std::string_view text);
// a, b
std::string joined(const std::vector<std::string>& parts);
// name(a, b)
std::string call(std::string_view name, const std::vector<std::string>& arguments);
// The text with lines of at most 100 columns where commas and brackets let it be broken.
std::string with_short_lines(std::string_view text);

}  // namespace holdfast::stream::compile
