// random_query.hpp: SELECTs over the star of mart_support.hpp, of a grammar.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <holdfast/base/random.hpp>

namespace holdfast::olap::mart {

class RandomQuery {
 public:
  explicit RandomQuery(std::uint64_t seed) : random_(seed) {}

  // All of it is ordered where there is a limit, so that the answer is one.
  std::string text() {
    from();
    std::string where;
    for (auto count = below(4); count > 0; --count)
      where += (where.empty() ? " WHERE " : " AND ") + condition();
    std::string items, keys, order;
    if (below(5) == 0) {
      const auto count = 1 + below(3);
      for (std::uint64_t i = 0; i < count; ++i)
        items += (i == 0 ? "" : ", ") + any();
      return "SELECT " + items + from_ + where;
    }
    const auto count = below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto key = any();
      keys += (i == 0 ? "" : ", ") + key;
      items += key + " AS k" + std::to_string(i) + ", ";
      order += (i == 0 ? "" : ", ") + ("k" + std::to_string(i)) + (below(2) == 0 ? " DESC" : "");
    }
    const auto aggregates = 1 + below(3);
    for (std::uint64_t i = 0; i < aggregates; ++i)
      items += (i == 0 ? "" : ", ") + aggregate();
    std::string text = "SELECT " + items + from_ + where;
    if (count > 0) text += " GROUP BY " + keys;
    if (count > 0 && below(3) == 0) text += " HAVING COUNT(*) > " + std::to_string(below(9));
    if (count > 0 && below(2) == 0) {
      text += " ORDER BY " + order;
      if (below(2) == 0) text += " LIMIT " + std::to_string(below(20));
      if (below(4) == 0) text += " OFFSET " + std::to_string(below(5));
    }
    return text;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  std::string pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  void from() {
    from_ = " FROM sales s";
    texts_ = {"s.channel", "s.product"};
    numbers_ = {"s.quantity", "s.quantity", "s.id", "s.serial", "s.customer"};
    money_ = {"s.price"};
    truths_ = {"s.gift"};
    const auto join = [&](const std::string& table, const std::string& on) {
      from_ += (below(3) == 0 ? " LEFT JOIN " : " JOIN ") + table + " ON " + on;
    };
    if (below(2) == 0) {
      join("customers c", "s.customer = c.ckey");
      texts_.insert(texts_.end(), {"c.region", "c.nation", "c.region"});
      money_.push_back("c.credit");
    }
    if (below(2) == 0) {
      join("products p", "p.pkey = s.product");
      texts_.insert(texts_.end(), {"p.category", "p.brand"});
      numbers_.push_back("p.size");
    }
    if (below(2) == 0) {
      join("days d", "s.sold = d.day");
      numbers_.insert(numbers_.end(), {"d.year", "d.month"});
      truths_.push_back("d.holiday");
    }
    if (below(4) == 0) {
      join("days d2", "d2.day = s.shipped");
      numbers_.push_back("d2.month");
    }
  }

  std::string literal() { return std::to_string(below(60)); }
  std::string number() {
    switch (below(6)) {
      case 0: return "(" + pick(numbers_) + " + " + literal() + ")";
      case 1: return "(" + pick(numbers_) + " - " + pick(numbers_) + ")";
      case 2: return "(s.quantity * " + literal() + ")";
      case 3:
        return "CASE WHEN " + condition() + " THEN " + pick(numbers_) + " ELSE " + literal() +
               " END";
      default: return pick(numbers_);
    }
  }
  std::string amount() {
    switch (below(4)) {
      case 0: return "(s.price * s.quantity)";
      case 1: return "(" + pick(money_) + " + 0.50)";
      default: return pick(money_);
    }
  }
  std::string any() {
    switch (below(8)) {
      case 0: return number();
      case 1: return pick(truths_);
      case 5: return "LPAD(" + pick(texts_) + ", 6, '-')";
      case 2: return "s.sold";
      case 3: return "SUBSTRING(" + pick(texts_) + ", 1, 3)";
      case 4: return "(" + pick(texts_) + " || " + pick(texts_) + ")";
      default: return pick(texts_);
    }
  }
  std::string condition() {
    static const std::vector<std::string> kSigns{"=", "<>", "<", "<=", ">", ">="};
    static const std::vector<std::string> kTexts{"'ASIA'",   "'EUROPE'", "'nation 3'", "'web'",
                                                 "'cat, 1'", "'brand4'", "'p-17'"};
    switch (below(9)) {
      case 0: return pick(texts_) + " " + pick(kSigns) + " " + pick(kTexts);
      case 1: return pick(texts_) + " IN (" + pick(kTexts) + ", " + pick(kTexts) + ")";
      case 2:
        return pick(numbers_) + " BETWEEN " + literal() + " AND " + std::to_string(below(4000));
      case 3: return pick(truths_) + (below(2) == 0 ? " IS TRUE" : " IS NOT TRUE");
      case 4: return pick(texts_) + (below(2) == 0 ? " IS NULL" : " IS NOT NULL");
      case 5: return "(" + condition() + " OR " + condition() + ")";
      case 6: return "NOT (" + condition() + ")";
      case 7: return pick(money_) + " " + pick(kSigns) + " " + std::to_string(below(9000)) + ".5";
      default: return "s.quantity " + pick(kSigns) + " " + literal();
    }
  }
  std::string aggregate() {
    static const std::vector<std::string> kOf{"SUM", "MIN", "MAX", "COUNT", "AVG"};
    std::string text;
    switch (below(6)) {
      case 0: text = "COUNT(*)"; break;
      case 1: text = "COUNT(DISTINCT " + pick(texts_) + ")"; break;
      case 2: text = (below(2) == 0 ? "MIN(" : "MAX(") + pick(texts_) + ")"; break;
      case 3: text = pick(kOf) + "(" + amount() + ")"; break;
      case 4: text = pick(kOf) + "(s.weight)"; break;
      default: text = pick(kOf) + "(" + number() + ")"; break;
    }
    if (below(6) == 0) text += " FILTER (WHERE " + condition() + ")";
    return text;
  }

  Random random_;
  std::string from_;
  std::vector<std::string> texts_, numbers_, money_, truths_;
};

}  // namespace holdfast::olap::mart
