// Queries that run, are explained, or become definitions: their text as a script.
#include <algorithm>
#include <charconv>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/sql/plan.hpp>
#include <holdfast/stream/query.hpp>

namespace holdfast::stream {
namespace {

// The error with the line that it is in. `text` stands behind the definitions.
Error with_its_line(Error error, std::string_view definitions, std::string_view text) {
  constexpr std::string_view kLine = "line ";
  auto& detail = error.detail;
  const auto comma = detail.find(',');
  if (!detail.starts_with(kLine) || comma == std::string::npos) return error;
  std::int64_t line = 0;
  if (std::from_chars(detail.data() + kLine.size(), detail.data() + comma, line).ec != std::errc())
    return error;
  const auto above = std::count(definitions.begin(), definitions.end(), '\n');
  const bool defined = line <= above;
  auto rest = defined ? definitions : text;
  if (!defined) line -= above;
  for (auto i = line; i > 1 && rest.find('\n') != std::string_view::npos; --i)
    rest.remove_prefix(rest.find('\n') + 1);
  detail = (defined ? "definitions, line " : "line ") + std::to_string(line) +
           detail.substr(comma) + "; in: " + escape(rest.substr(0, rest.find('\n')));
  return error;
}

// A script of the definitions and the text.
Result<Script> prepared(const Definitions& definitions, const std::string& text) {
  const auto statements = definitions.all_statements();
  auto script = Script::prepare(statements + text, definitions.all_functions());
  if (script) return script;
  return with_its_line(std::move(script).error(), statements, text);
}

}  // namespace

Result<std::string> Query::explain() const {
  HF_RETURN_IF_ERROR(status_);
  HF_ASSIGN_OR_RETURN(const auto script, prepared(*definitions_, sql()));
  return sql::text_of(script.plans().front());
}

Status Query::for_each(OnRow on_row, ScriptOptions options, const std::atomic<bool>& stop) const {
  HF_RETURN_IF_ERROR(status_);
  options.on_row = std::move(on_row);
  HF_ASSIGN_OR_RETURN(auto script, prepared(*definitions_, sql()));
  return script.run(options, stop);
}

Status Query::insert_into(std::string_view table, const ScriptOptions& options,
                          const std::atomic<bool>& stop) const {
  HF_ASSIGN_OR_RETURN(const auto text, insert_sql(table));
  HF_ASSIGN_OR_RETURN(auto script, prepared(*definitions_, text));
  return script.run(options, stop);
}

Status insert_all(const std::vector<Insert>& inserts, const ScriptOptions& options,
                  const std::atomic<bool>& stop) {
  if (inserts.empty()) return {};
  auto definitions = inserts.front().query.definitions();
  std::string text = "EXECUTE STATEMENT SET BEGIN\n";
  for (const auto& [table, query] : inserts) {
    HF_ASSIGN_OR_RETURN(const auto insert, query.insert_sql(table));
    text += insert + ";\n";
    if (query.definitions()->follow(*definitions))
      definitions = query.definitions();
    else if (!definitions->follow(*query.definitions()))
      return Error{Errc::kInvalidOption,
                   "the queries for " + escape(inserts.front().table) + " and " + escape(table) +
                       " are not of the same Queries; make both by from() of one"};
  }
  HF_ASSIGN_OR_RETURN(auto script, prepared(*definitions, text + "END"));
  return script.run(options, stop);
}

Status Queries::define(std::string_view statement) {
  // A comment at its end ends with the line.
  const Definitions next{std::string(statement) + "\n;\n", {}, definitions_};
  HF_ASSIGN_OR_RETURN(const auto script, prepared(*definitions_, next.statement));
  if (!script.plans().empty())
    return Error{
        Errc::kInvalidOption,
        "a definition is CREATE TABLE, CREATE VIEW, CREATE FUNCTION or SET; this one has a query"};
  definitions_ = std::make_shared<Definitions>(next);
  return {};
}

Status Queries::define(std::string_view name, const functions::Definition& function) {
  const Definitions next{{}, {{std::string(name), function}}, definitions_};
  HF_RETURN_IF_ERROR(prepared(next, {}));
  definitions_ = std::make_shared<Definitions>(next);
  return {};
}

Status Queries::define(std::string_view name, const Query& query) {
  if (!definitions_->follow(*query.definitions()))
    return Error{Errc::kInvalidOption, "the view " + escape(name) +
                                           " is of another Queries; make it by from() of this one"};
  HF_RETURN_IF_ERROR(query.explain());
  return define("CREATE VIEW " + std::string(name) + " AS\n" + query.sql());
}

}  // namespace holdfast::stream
