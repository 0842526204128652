#include <holdfast/olap/ssb/generator.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <holdfast/olap/ssb/text.hpp>
#include <holdfast/olap/ssb/words.hpp>

namespace holdfast::olap::ssb {
namespace {

// Never renumbered: they are part of what a seed means.
enum Stream : std::uint64_t {
  kCustomerNation = 1,
  kCustomerCity,
  kCustomerAddress,
  kCustomerPhone,
  kCustomerSegment,
  kSupplierNation,
  kSupplierCity,
  kSupplierAddress,
  kSupplierPhone,
  kPartMfgr,
  kPartCategory,
  kPartBrand,
  kPartColours,
  kPartType,
  kPartSize,
  kPartContainer,
  kOrderLines,
  kOrderCustomer,
  kOrderDay,
  kOrderPriority,
  kLinePart,
  kLineSupplier,
  kLineQuantity,
  kLineDiscount,
  kLineTax,
  kLineCommit,
  kLineMode,
};

std::uint64_t scaled(double rows, double scale) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(rows * scale)));
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

// 6 to 24 characters.
std::string address(const Draws& draws, std::uint32_t row) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,";
  static_assert(kLetters.size() == 64);
  const std::uint64_t at = std::uint64_t{row} * 8;
  const auto size = 6 + draws.below(at, 19);
  std::string text;
  for (std::uint64_t i = 0; i < size; ++i)
    text += kLetters[draws.at(at + 1 + i / 10) >> (6 * (i % 10)) & 63];
  return text;
}

std::string phone(const Draws& draws, std::uint32_t row, unsigned nation) {
  const std::uint64_t at = std::uint64_t{row} * 4;
  return std::to_string(10 + nation) + '-' + std::to_string(100 + draws.below(at, 900)) + '-' +
         std::to_string(100 + draws.below(at + 1, 900)) + '-' +
         std::to_string(1000 + draws.below(at + 2, 9000));
}

std::uint64_t line_id(const Order& order, unsigned line) { return order.number * 8 + line; }

}  // namespace

Result<Generator> Generator::create(double scale, std::uint64_t seed) {
  if (!(scale >= kMinScale && scale <= kMaxScale)) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, scale).ptr;
    return Error{Errc::kInvalidOption,
                 "scale factor " + std::string(text, end) + ": allowed are 0.00001 to 10000"};
  }
  return Generator(scale, seed);
}

Generator::Generator(double scale, std::uint64_t seed)
    : seed_(seed),
      orders_(scaled(1'500'000, scale)),
      customers_(static_cast<std::uint32_t>(scaled(30'000, scale))),
      suppliers_(static_cast<std::uint32_t>(scaled(2'000, scale))),
      parts_(static_cast<std::uint32_t>(
          scaled(200'000, scale < 1 ? scale : 1 + std::floor(std::log2(scale))))),
      line_counts_(seed, kOrderLines),
      order_customers_(seed, kOrderCustomer),
      order_days_(seed, kOrderDay),
      line_parts_(seed, kLinePart),
      line_suppliers_(seed, kLineSupplier),
      quantities_(seed, kLineQuantity),
      discounts_(seed, kLineDiscount) {}

std::uint32_t Generator::rows(Dimension dimension) const {
  switch (dimension) {
    case Dimension::kDate: return kDays;
    case Dimension::kCustomer: return customers_;
    case Dimension::kSupplier: return suppliers_;
    default: return parts_;
  }
}

Place Generator::place(const Draws& nations, const Draws& cities, std::uint32_t row) const {
  const auto nation = static_cast<unsigned>(nations.below(row, kNations.size()));
  std::string city = padded(std::string(kNations[nation].name.substr(0, 9)), 9);
  city += static_cast<char>('0' + cities.below(row, 10));
  return {nation, kNations[nation].region, std::move(city)};
}

Part Generator::part(std::uint32_t row) const {
  const auto draw = [&](Stream stream, unsigned bound) {
    return 1 + static_cast<unsigned>(Draws(seed_, stream).below(row, bound));
  };
  return {draw(kPartMfgr, 5), draw(kPartCategory, 5), draw(kPartBrand, 40)};
}

DimensionRow Generator::row(Dimension dimension, std::uint32_t row) const {
  if (dimension == Dimension::kDate) return date_row(row);
  if (dimension == Dimension::kPart) {
    const auto [mfgr, category, brand] = part(row);
    const std::string first = "MFGR#" + std::to_string(mfgr);
    const std::string second = first + std::to_string(category);
    return {row + 1, {first, second, second + std::to_string(brand), ""}};
  }
  const bool customer = dimension == Dimension::kCustomer;
  auto at = place(Draws(seed_, customer ? kCustomerNation : kSupplierNation),
                  Draws(seed_, customer ? kCustomerCity : kSupplierCity), row);
  return {row + 1,
          {std::string(kRegions[at.region]), std::string(kNations[at.nation].name),
           std::move(at.city), ""}};
}

void Generator::append_place(std::string_view title, std::uint32_t row, const Place& at,
                             std::string& text) const {
  const bool customer = title == "Customer#";
  const std::string number = std::to_string(row + 1);
  add(text, row + 1);
  text.append(title).append(number.size() < 9 ? 9 - number.size() : 0, '0');
  add(text, number);
  add(text, address(Draws(seed_, customer ? kCustomerAddress : kSupplierAddress), row));
  add(text, at.city);
  add(text, kNations[at.nation].name);
  add(text, kRegions[at.region]);
  add(text, phone(Draws(seed_, customer ? kCustomerPhone : kSupplierPhone), row, at.nation));
  if (customer) add(text, kSegments[Draws(seed_, kCustomerSegment).below(row, kSegments.size())]);
}

void Generator::append_part(std::uint32_t row, std::string& text) const {
  // Three different colours: two for the name, one that is neither.
  const Draws colours(seed_, kPartColours);
  std::array<std::uint64_t, 3> colour{};
  for (std::uint64_t i = 0; i < 3; ++i) {
    colour[i] = colours.below(std::uint64_t{row} * 4 + i, kColours.size() - i);
    std::array<std::uint64_t, 3> taken{};
    std::copy_n(colour.begin(), i, taken.begin());
    std::sort(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::uint64_t j = 0; j < i; ++j)
      colour[i] += colour[i] >= taken[j] ? 1 : 0;
  }
  const auto stored = this->row(Dimension::kPart, row);
  const auto type = Draws(seed_, kPartType).below(row, 150);
  const auto container = Draws(seed_, kPartContainer).below(row, 40);
  add(text, row + 1);
  text.append(kColours[colour[0]]).append(" ");
  add(text, kColours[colour[1]]);
  for (std::size_t i = 0; i < 3; ++i)
    add(text, stored.values[i]);
  add(text, kColours[colour[2]]);
  text.append(kTypes1[type / 25]).append(" ").append(kTypes2[type / 5 % 5]).append(" ");
  add(text, kTypes3[type % 5]);
  add(text, 1 + Draws(seed_, kPartSize).below(row, 50));
  text.append(kContainers1[container / 8]).append(" ");
  add(text, kContainers2[container % 8]);
}

void Generator::append_text(Dimension dimension, std::uint32_t row, std::string& text) const {
  if (dimension == Dimension::kDate) return append_date(row, text);
  if (dimension == Dimension::kPart) {
    append_part(row, text);
  } else if (dimension == Dimension::kCustomer) {
    append_place("Customer#", row,
                 place(Draws(seed_, kCustomerNation), Draws(seed_, kCustomerCity), row), text);
  } else {
    append_place("Supplier#", row,
                 place(Draws(seed_, kSupplierNation), Draws(seed_, kSupplierCity), row), text);
  }
  text += '\n';
}

Order Generator::order(std::uint64_t number) const {
  // Customers whose number is a multiple of 3 never order.
  const auto buyer = order_customers_.below(number, customers_ - customers_ / 3);
  const auto i = number + 1;
  return {number, i / 8 * 32 + i % 8, 1 + static_cast<unsigned>(line_counts_.below(number, 7)),
          static_cast<std::uint32_t>(buyer / 2 * 3 + buyer % 2 + 1),
          static_cast<std::uint32_t>(order_days_.below(number, kOrderDays))};
}

Line Generator::line(const Order& order, unsigned line) const {
  const auto id = line_id(order, line);
  const auto draw = [&](const Draws& draws, std::uint64_t bound) {
    return static_cast<std::uint32_t>(draws.below(id, bound));
  };
  Line made{};
  made.part = 1 + draw(line_parts_, parts_);
  made.supplier = 1 + draw(line_suppliers_, suppliers_);
  made.quantity = 1 + draw(quantities_, 50);
  made.discount = draw(discounts_, 11);
  const auto price = price_of_part(made.part);
  made.extended_price = made.quantity * price;
  made.revenue =
      static_cast<std::uint32_t>(std::uint64_t{made.extended_price} * (100 - made.discount) / 100);
  made.supply_cost = 6 * price / 10;
  return made;
}

void Generator::append_text(const Order& order, std::string& text) const {
  const Draws taxes(seed_, kLineTax), commits(seed_, kLineCommit), modes(seed_, kLineMode);
  std::array<Line, 7> lines;
  std::array<std::uint64_t, 7> tax{};
  std::uint64_t total = 0;
  for (unsigned i = 0; i < order.lines; ++i) {
    lines[i] = line(order, i);
    tax[i] = taxes.below(line_id(order, i), 9);
    total += std::uint64_t{lines[i].revenue} * (100 + tax[i]) / 100;
  }
  const auto priority =
      kPriorities[Draws(seed_, kOrderPriority).below(order.number, kPriorities.size())];
  for (unsigned i = 0; i < order.lines; ++i) {
    const auto id = line_id(order, i);
    add(text, order.key);
    for (const auto number :
         {i + 1, order.customer, lines[i].part, lines[i].supplier, day_key(order.day)})
      add(text, number);
    add(text, priority);
    add(text, "0");
    add(text, lines[i].quantity);
    add(text, lines[i].extended_price);
    add(text, total);
    add(text, lines[i].discount);
    add(text, lines[i].revenue);
    add(text, lines[i].supply_cost);
    add(text, tax[i]);
    add(text, day_key(order.day + 30 + static_cast<std::uint32_t>(commits.below(id, 61))));
    add(text, kShipModes[modes.below(id, kShipModes.size())]);
    text += '\n';
  }
}

}  // namespace holdfast::olap::ssb
