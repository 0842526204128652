// secrets.hpp: options of tables that nobody else may see: passwords and keys. The text of a plan
// is shown by `explain`, on the page of running streams and in errors, and kept in checkpoints.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::sql {

// By its name: 'properties.sasl.password', 'properties.ssl.key.pem', …
bool is_secret(std::string_view option);

// What stands in the text of a plan for such an option's value.
inline constexpr std::string_view kSecret = "…";

// The text of a plan with kSecret for the values of such options, as text_of() writes it. Builds
// before this one wrote the values.
std::string without_secrets(std::string_view plan_text);

}  // namespace holdfast::sql
