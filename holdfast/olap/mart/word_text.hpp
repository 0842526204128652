// word_text.hpp: a value as a text of a file, as a word of a column, and as SQL sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <holdfast/olap/mart/schema.hpp>
#include <holdfast/sql/value.hpp>

namespace holdfast::olap::mart {

// The word of a text that is not NULL, of any type but strings. nullopt: it is none of the type.
std::optional<std::int64_t> word_of_text(std::string_view text, const sql::Type& type);

// Of any type but strings.
sql::Value value_of_word(std::int64_t word, const sql::Type& type);

}  // namespace holdfast::olap::mart
