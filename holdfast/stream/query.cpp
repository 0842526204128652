#include "query.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/base/format.hpp>
#include <holdfast/base/mutant.hpp>
#include <holdfast/sql/lexer.hpp>

namespace holdfast::stream {
namespace {

// Milliseconds as an interval: '75.250' SECOND(n, 3) has all there can be.
std::string interval(std::chrono::milliseconds time) {
  const auto ms = time.count();
  const auto rest = std::to_string(1'000 + ms % 1'000).substr(1);
  return "INTERVAL '" + std::to_string(ms / 1'000) + "." + rest + "' SECOND";
}

std::string joined_by(std::string_view between, const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts)
    text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// What is no whole by itself could take another meaning from the parts beside it.
Status check_whole(const std::vector<sql::Token>& tokens) {
  if (tokens.size() == 1) return sql::error_at(tokens[0].at, "there is nothing");
  std::string open;  // What would close each parenthesis.
  for (const auto& token : tokens) {
    if (token.is_sign(";")) return sql::error_at(token.at, "a ; ends statements only");
    if (token.is_sign("(")) open += ')';
    if (token.is_sign("[")) open += ']';
    if (!token.is_sign(")") && !token.is_sign("]")) continue;
    if (open.empty() || !token.is_sign({&open.back(), 1}))
      return sql::error_at(token.at, token.text + " has no partner");
    open.pop_back();
  }
  if (open.empty()) return {};
  return sql::error_at(tokens.back().at, std::string("a ") + open.back() + " is missing");
}

// Whether a text is the name of a table, and nothing else.
bool is_one_name(std::string_view text) {
  const auto tokens = sql::tokens_of(text);
  return tokens && tokens->size() == 2 &&
         ((*tokens)[0].kind == sql::TokenKind::kWord ||
          (*tokens)[0].kind == sql::TokenKind::kQuoted);
}

bool begins_with_using(std::string_view text) {
  const auto tokens = sql::tokens_of(text);
  return tokens && tokens->front().is("USING");
}

}  // namespace

bool Definitions::follow(const Definitions& other) const {
  const Definitions* one = this;
  while (one != nullptr && one != &other)
    one = one->before.get();
  return one != nullptr;
}

std::vector<const Definitions*> Definitions::all() const {
  std::vector<const Definitions*> chain;
  for (const auto* one = this; one != nullptr; one = one->before.get())
    chain.push_back(one);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

std::string Definitions::all_statements() const {
  std::string text;
  for (const auto* one : all())
    text += one->statement;
  return text;
}

OwnFunctions Definitions::all_functions() const {
  OwnFunctions gathered;
  for (const auto* one : all())
    gathered.insert(gathered.end(), one->functions.begin(), one->functions.end());
  return gathered;
}

Query::Query(std::shared_ptr<const Definitions> definitions, std::string_view table)
    : definitions_(std::move(definitions)) {
  table_ = part("from", table);
  if (is_one_name(table_))
    name_ = table_;
  else
    source_ = Source::kText;
}

// ---- Parts ----
std::string Query::part(std::string_view call, std::string_view text) {
  const auto tokens = sql::tokens_of(text);
  const Status whole = tokens ? check_whole(*tokens) : Status(tokens.error());
  if (!whole && status_)
    status_ = Error{whole.code(),
                    std::string(call) + ": " + whole.error().detail + "; in: " + escape(text)};
  // A comment ends with its line.
  const bool comment = HF_MUTANT("ST110", text.find("--") != std::string_view::npos, false);
  return std::string(text) + (comment ? "\n" : "");
}

std::vector<std::string> Query::parts(std::string_view call,
                                      const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const auto& text : texts)
    all.push_back(part(call, text));
  return all;
}

void Query::take_over(std::string_view call, const Query& other) {
  if (status_ && !other.status_) status_ = other.status_;
  if (HF_MUTANT("ST111", other.definitions_->follow(*definitions_), false))
    definitions_ = other.definitions_;
  else if (!definitions_->follow(*other.definitions_) && status_)
    status_ =
        Error{Errc::kInvalidOption, std::string(call) +
                                        ": the two queries are not of the same Queries; make both "
                                        "by from() of one"};
}

// ---- What a query is ----
bool Query::is_selected() const {
  return source_ == Source::kUnion || distinct_ || !columns_.empty() || !order_.empty() ||
         !limit_.empty();
}

bool Query::is_table() const {
  return !is_selected() && where_.empty() && !keys_ && having_.empty() && overs_.empty() &&
         row_window_.empty();
}

Query Query::as_table() const {
  Query query(definitions_);
  query.status_ = status_;
  query.table_ = "(" + sql() + ")";
  query.name_ = name_;
  return query;
}

Query Query::as(std::string_view name) const {
  Query query = is_table() && source_ == Source::kTable ? *this : as_table();
  query.name_ = query.part("as", name);
  return query;
}

Query Query::where(std::string_view condition) const {
  Query query = open();
  query.where_.push_back("(" + query.part("where", condition) + ")");
  return query;
}

// ---- Windows ----
Query Query::windowed(std::string_view call, std::string_view time,
                      const std::string& sizes) const {
  // Conditions go below a window. A session depends on the rows that are there: they stand before
  // it.
  Query rows = *this;
  if (HF_MUTANT("ST112", call != "SESSION", true)) rows.where_.clear();
  const bool fits = rows.is_table() && source_ == Source::kTable && window_.empty();
  Query query = fits ? *this : as_table();
  query.window_ = call;
  query.window_arguments_ = ", DESCRIPTOR(" + query.part(call, time) + "), " + sizes;
  return query;
}

Query Query::tumble(std::string_view time, std::chrono::milliseconds size) const {
  return windowed("TUMBLE", time, interval(size));
}

Query Query::hop(std::string_view time, std::chrono::milliseconds slide,
                 std::chrono::milliseconds size) const {
  return windowed("HOP", time, interval(slide) + ", " + interval(size));
}

Query Query::cumulate(std::string_view time, std::chrono::milliseconds step,
                      std::chrono::milliseconds size) const {
  return windowed("CUMULATE", time, interval(step) + ", " + interval(size));
}

Query Query::session(std::string_view time, std::chrono::milliseconds gap) const {
  return windowed("SESSION", time, interval(gap));
}

Query Query::tumble_rows(std::int64_t size) const {
  Query query = open();
  query.row_window_ = "TUMBLE_ROWS(" + std::to_string(size) + ")";
  return query;
}

Query Query::hop_rows(std::int64_t slide, std::int64_t size) const {
  Query query = open();
  query.row_window_ = "HOP_ROWS(" + std::to_string(slide) + ", " + std::to_string(size) + ")";
  return query;
}

// ---- Groups and columns ----
Query Query::group_by(const std::vector<std::string>& keys) const {
  Query query = open();
  query.keys_ = query.parts("group_by", keys);
  return query;
}

Query Query::having(std::string_view condition) const {
  Query query = open();
  query.having_.push_back("(" + query.part("having", condition) + ")");
  return query;
}

Query Query::over(std::string_view name, std::string_view window) const {
  Query query = open();
  query.overs_.push_back(query.part("over", name) + " AS (" + query.part("over", window) + ")");
  return query;
}

Query Query::select(const std::vector<std::string>& columns) const {
  Query query = open();
  query.columns_ = query.parts("select", columns);
  return query;
}

Query Query::distinct() const {
  const bool ends =
      source_ == Source::kUnion || !order_.empty() || HF_MUTANT("ST113", !limit_.empty(), false);
  Query query = ends ? as_table() : *this;
  query.distinct_ = true;
  return query;
}

Query Query::order_by(const std::vector<std::string>& keys) const {
  const bool ends = !order_.empty() || HF_MUTANT("ST114", !limit_.empty(), false);
  Query query = ends ? as_table() : *this;
  query.order_ = "\nORDER BY " + joined_by(", ", query.parts("order_by", keys));
  return query;
}

Query Query::limit(std::uint64_t rows, std::uint64_t offset) const {
  Query query = HF_MUTANT("ST115", limit_.empty(), true) ? *this : as_table();
  query.limit_ = "\nLIMIT " + std::to_string(rows);
  if (offset != 0) query.limit_ += " OFFSET " + std::to_string(offset);
  return query;
}

// ---- Several tables ----
Query Query::joined(std::string_view words, const Query& other, std::string_view on) const {
  Query query = HF_MUTANT("ST116", is_table(), !is_selected()) ? *this : as_table();
  const bool alone = other.is_table() && HF_MUTANT("ST117", other.source_ != Source::kJoin, true);
  const Query right = alone ? other : other.as_table();
  query.take_over(words, other);
  query.table_ = query.from() + "\n" + std::string(words) + " " + right.from();
  if (words != "CROSS JOIN") {
    const auto condition = query.part(words, on);
    query.table_ += (begins_with_using(on) ? " " : " ON ") + condition;
  }
  query.source_ = Source::kJoin;
  query.name_.clear();
  query.window_.clear();
  query.as_of_.clear();
  return query;
}

Query Query::join(const Query& other) const { return joined("CROSS JOIN", other, {}); }
Query Query::join(const Query& other, std::string_view on) const {
  return joined("JOIN", other, on);
}
Query Query::left_outer_join(const Query& other, std::string_view on) const {
  return joined("LEFT JOIN", other, on);
}
Query Query::right_outer_join(const Query& other, std::string_view on) const {
  return joined("RIGHT JOIN", other, on);
}
Query Query::full_outer_join(const Query& other, std::string_view on) const {
  return joined("FULL JOIN", other, on);
}

Query Query::matched(std::string_view words, const Query& other, std::string_view on) const {
  Query query = open();
  query.part(words, on);
  const Query matches = other.where(on);
  query.take_over(words, matches);
  query.where_.push_back(std::string(words) + " (" + matches.sql() + ")");
  return query;
}

Query Query::semi_join(const Query& other, std::string_view on) const {
  return matched("EXISTS", other, on);
}
Query Query::anti_join(const Query& other, std::string_view on) const {
  return matched("NOT EXISTS", other, on);
}

Query Query::as_of(std::string_view time) const {
  Query query = is_table() && source_ == Source::kTable ? *this : as_table();
  query.as_of_ = query.part("as_of", time);
  return query;
}

std::string Query::term() const {
  const bool ends =
      source_ == Source::kUnion || !order_.empty() || HF_MUTANT("ST118", !limit_.empty(), false);
  return ends ? "(" + sql() + ")" : sql();
}

Query Query::combined(std::string_view words, const Query& other) const {
  Query query(definitions_);
  query.status_ = status_;
  query.take_over(words, other);
  query.table_ = term() + "\n" + std::string(words) + "\n" + other.term();
  query.source_ = Source::kUnion;
  return query;
}

Query Query::union_all(const Query& other) const { return combined("UNION ALL", other); }
Query Query::union_distinct(const Query& other) const { return combined("UNION", other); }
Query Query::intersect(const Query& other) const { return combined("INTERSECT", other); }
Query Query::minus(const Query& other) const { return combined("EXCEPT", other); }

// ---- The text ----
std::string Query::from() const {
  std::string text = table_;
  if (!window_.empty()) {
    const bool query = table_.starts_with('(');
    const std::string partitions = window_ == "SESSION" && keys_ && !keys_->empty()
                                       ? " PARTITION BY " + joined_by(", ", *keys_)
                                       : "";
    text = "TABLE(" + window_ + "(" + (query ? "" : "TABLE ") + table_ + partitions +
           window_arguments_ + "))";
  }
  if (!as_of_.empty()) text += " FOR SYSTEM_TIME AS OF " + as_of_;
  if (!name_.empty() && name_ != table_) text += " AS " + name_;
  return text;
}

std::string Query::sql() const {
  if (source_ == Source::kUnion) return table_ + order_ + limit_;
  std::string text = distinct_ ? "SELECT DISTINCT " : "SELECT ";
  text += columns_.empty() ? "*" : joined_by(", ", columns_);
  text += "\nFROM " + from();
  if (!where_.empty()) text += "\nWHERE " + joined_by(" AND ", where_);
  auto keys = keys_.value_or(std::vector<std::string>());
  if (HF_MUTANT("ST120", keys_.has_value(), true) && !window_.empty())
    keys.insert(keys.begin(), {"window_start", "window_end"});
  if (!row_window_.empty()) keys.insert(keys.begin(), row_window_);
  if (!keys.empty()) text += "\nGROUP BY " + joined_by(", ", keys);
  if (!having_.empty()) text += "\nHAVING " + joined_by(" AND ", having_);
  if (!overs_.empty()) text += "\nWINDOW " + joined_by(", ", overs_);
  return text + order_ + limit_;
}

Result<std::string> Query::insert_sql(std::string_view table) const {
  Query query = *this;
  const auto into = query.part("INSERT INTO", table);
  HF_RETURN_IF_ERROR(query.status_);
  // Behind the table a parenthesis would begin the names of its columns.
  const auto text = sql();
  const bool wrapped = HF_MUTANT("ST119", text.starts_with('('), false);
  return "INSERT INTO " + into + "\n" + (wrapped ? as_table().sql() : text);
}

}  // namespace holdfast::stream
