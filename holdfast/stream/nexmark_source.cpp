// The source 'connector' = 'nexmark': people, auctions and bids of one made-up auction house.
//
// After Tucker, Tufte, Papadimos and Maier, "NEXMark: A Benchmark for Queries over Data Streams"
// (2002). Of 50 events one is a person, three are auctions and 46 are bids, in this order; event n
// is n / `events-per-second` seconds after the first. Each depends on the seed and on n alone, so
// the three tables of one seed belong together, and a resumed query sees what it would have seen.
//
// Half of the bids are for one auction in a hundred, and by one person in a hundred; the others are
// for the last hundred auctions, by the last thousand people. This, and the texts, are our own.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <holdfast/base/hash.hpp>
#include <holdfast/sql/calendar.hpp>
#include <holdfast/stream/bytes.hpp>
#include <holdfast/stream/sources.hpp>

namespace holdfast::stream {
namespace {

using Texts = std::array<std::string_view, 6>;

constexpr std::uint64_t kCycle = 50, kAuctionsOfCycle = 3;
constexpr std::int64_t kFirstId = 1000;
constexpr std::uint64_t kHot = 100;  // Every hundredth is a hot one.

enum class Topic : std::uint8_t { kPerson, kAuction, kBid };

// What a column of a table is made of.
enum class Make : std::uint8_t {
  kId,
  kName,
  kEmail,
  kCard,
  kCity,
  kState,
  kTime,
  kExtra,
  kItem,
  kDescription,
  kInitialBid,
  kReserve,
  kExpires,
  kSeller,
  kCategory,
  kAuction,
  kBidder,
  kPrice,
  kChannel,
  kUrl
};
struct Known {
  std::string_view name;
  Make make;
  sql::Kind kind;
};
constexpr std::array<Known, 8> kPersonColumns{{{"id", Make::kId, sql::Kind::kBigInt},
                                               {"name", Make::kName, sql::Kind::kString},
                                               {"emailAddress", Make::kEmail, sql::Kind::kString},
                                               {"creditCard", Make::kCard, sql::Kind::kString},
                                               {"city", Make::kCity, sql::Kind::kString},
                                               {"state", Make::kState, sql::Kind::kString},
                                               {"dateTime", Make::kTime, sql::Kind::kTimestamp},
                                               {"extra", Make::kExtra, sql::Kind::kString}}};
constexpr std::array<Known, 10> kAuctionColumns{
    {{"id", Make::kId, sql::Kind::kBigInt},
     {"itemName", Make::kItem, sql::Kind::kString},
     {"description", Make::kDescription, sql::Kind::kString},
     {"initialBid", Make::kInitialBid, sql::Kind::kBigInt},
     {"reserve", Make::kReserve, sql::Kind::kBigInt},
     {"dateTime", Make::kTime, sql::Kind::kTimestamp},
     {"expires", Make::kExpires, sql::Kind::kTimestamp},
     {"seller", Make::kSeller, sql::Kind::kBigInt},
     {"category", Make::kCategory, sql::Kind::kBigInt},
     {"extra", Make::kExtra, sql::Kind::kString}}};
constexpr std::array<Known, 7> kBidColumns{{{"auction", Make::kAuction, sql::Kind::kBigInt},
                                            {"bidder", Make::kBidder, sql::Kind::kBigInt},
                                            {"price", Make::kPrice, sql::Kind::kBigInt},
                                            {"channel", Make::kChannel, sql::Kind::kString},
                                            {"url", Make::kUrl, sql::Kind::kString},
                                            {"dateTime", Make::kTime, sql::Kind::kTimestamp},
                                            {"extra", Make::kExtra, sql::Kind::kString}}};

std::span<const Known> columns_of(Topic topic) {
  if (topic == Topic::kPerson) return kPersonColumns;
  if (topic == Topic::kAuction) return kAuctionColumns;
  return kBidColumns;
}

struct NexmarkField {
  std::size_t column = 0;
  Make make = Make::kId;
};

struct Settings {
  Topic topic = Topic::kBid;
  std::uint64_t events = std::numeric_limits<std::uint64_t>::max();
  std::int64_t per_second = 10'000;
  std::int64_t first_ms = 0;
  std::uint64_t seed = 1;
};

class NexmarkSource : public Source {
 public:
  NexmarkSource(std::vector<NexmarkField> fields, const Settings& settings)
      : fields_(std::move(fields)), settings_(settings) {
    go_to_own();
  }

  Result<bool> next(sql::Row& row) override {
    if (event_ >= settings_.events) return false;
    for (const auto& field : fields_)
      row[field.column] = value(field.make);
    ++event_;
    go_to_own();
    return true;
  }
  std::string position() const override {
    ByteWriter bytes;
    bytes.number(event_);
    return bytes.take();
  }
  Status seek(std::string_view position) override {
    ByteReader bytes(position);
    event_ = bytes.number();
    if (!bytes.ok()) return Error{Errc::kCorrupt, "the checkpoint has no number of an event"};
    return {};
  }
  std::string place() const override { return "event " + std::to_string(event_); }

 private:
  // Past the events of other tables.
  void go_to_own() {
    const std::uint64_t first = settings_.topic == Topic::kPerson    ? 0
                                : settings_.topic == Topic::kAuction ? 1
                                                                     : 1 + kAuctionsOfCycle;
    const std::uint64_t end = settings_.topic == Topic::kPerson    ? 1
                              : settings_.topic == Topic::kAuction ? 1 + kAuctionsOfCycle
                                                                   : kCycle;
    const std::uint64_t place = event_ % kCycle;
    if (place < first) event_ += first - place;
    if (place >= end) event_ += kCycle - place + first;
  }

  std::uint64_t random(Make of) const {
    return mix64(mix64(settings_.seed * 64 + static_cast<std::uint64_t>(of)) ^ event_);
  }
  std::int64_t time() const {
    return settings_.first_ms +
           static_cast<std::int64_t>(event_ * 1000 /
                                     static_cast<std::uint64_t>(settings_.per_second));
  }
  // The number of the newest person or auction that is there.
  std::uint64_t newest_person() const { return event_ / kCycle; }
  std::uint64_t newest_auction() const {
    const std::uint64_t place = std::min(event_ % kCycle, kAuctionsOfCycle);
    const std::uint64_t count = event_ / kCycle * kAuctionsOfCycle + place;
    return count == 0 ? 0 : count - 1;
  }
  // One of the last `among`, or, half the time, the last hot one.
  std::int64_t one_of(std::uint64_t newest, std::uint64_t among, std::uint64_t draw) const {
    if ((draw & 1) == 0) return kFirstId + static_cast<std::int64_t>(newest / kHot * kHot);
    const std::uint64_t count = std::min(among, newest + 1);
    return kFirstId + static_cast<std::int64_t>(newest - (draw >> 1) % count);
  }
  static sql::Value text(std::string text) { return sql::Value::of_text(std::move(text)); }
  static sql::Value pick(const Texts& texts, std::uint64_t draw) {
    return text(std::string(texts[draw % texts.size()]));
  }
  static std::int64_t amount(std::uint64_t draw) {
    std::int64_t value = 100 + static_cast<std::int64_t>(draw % 900);
    for (std::uint64_t digits = (draw >> 32) % 6; digits > 0; --digits)
      value *= 10;
    return value;
  }

  sql::Value value(Make make) const {
    const std::uint64_t draw = random(make);
    switch (make) {
      case Make::kId:
        return sql::Value::of(kFirstId +
                              static_cast<std::int64_t>(settings_.topic == Topic::kPerson
                                                            ? newest_person()
                                                            : event_ / kCycle * kAuctionsOfCycle +
                                                                  event_ % kCycle - 1));
      case Make::kTime: return sql::Value::of(time());
      case Make::kInitialBid: return sql::Value::of(amount(draw));
      case Make::kReserve: return sql::Value::of(amount(random(Make::kInitialBid)) + amount(draw));
      case Make::kExpires:
        return sql::Value::of(time() + 1 + static_cast<std::int64_t>(draw % 20'000));
      case Make::kSeller:
      case Make::kBidder: return sql::Value::of(one_of(newest_person(), 1000, draw));
      case Make::kCategory: return sql::Value::of(10 + static_cast<std::int64_t>(draw % 5));
      case Make::kAuction: return sql::Value::of(one_of(newest_auction(), 100, draw));
      case Make::kPrice: return sql::Value::of(amount(draw));
      default: return text_value(make, draw);
    }
  }

  static sql::Value text_value(Make make, std::uint64_t draw) {
    static constexpr Texts kFirst = {"Ada", "Edgar", "Grace", "Jim", "Michael", "Pat"};
    static constexpr Texts kLast = {"Codd",     "Gray",     "Hopper",
                                    "Lovelace", "Selinger", "Stonebraker"};
    static constexpr Texts kCities = {"Bend", "Boise", "Kent", "Palo Alto", "Phoenix", "Portland"};
    static constexpr Texts kStates = {"AZ", "CA", "ID", "OR", "WA", "WY"};
    static constexpr Texts kChannels = {"Apple",  "Baidu", "Facebook",
                                        "Google", "apple", "channel-"};
    switch (make) {
      case Make::kName:
        return text(std::string(kFirst[draw % 6]) + " " + std::string(kLast[(draw >> 8) % 6]));
      case Make::kEmail:
        return text("u" + std::to_string(draw % 10'000) + "@m" + std::to_string((draw >> 16) % 99) +
                    ".example");
      case Make::kCard: {
        std::string digits = std::to_string(draw % 10'000'000'000'000'000u);
        digits.insert(0, 16 - digits.size(), '0');
        return text(std::move(digits));
      }
      case Make::kCity: return pick(kCities, draw);
      case Make::kState: return pick(kStates, draw);
      case Make::kChannel: {
        std::string channel(kChannels[draw % 6]);
        if (channel.ends_with('-')) channel += std::to_string((draw >> 8) % 10'000);
        return text(std::move(channel));
      }
      case Make::kUrl: {
        std::string url = "https://auctions.example/d" + std::to_string(draw % 10) + "/e" +
                          std::to_string((draw >> 8) % 10) + "/item.htm?query=1";
        if ((draw >> 16) % 4 != 0) url += "&channel_id=" + std::to_string((draw >> 20) % 10'000);
        return text(std::move(url));
      }
      case Make::kItem: return text("item " + std::to_string(draw % 100'000));
      case Make::kDescription: return text("as seen in lot " + std::to_string(draw % 1000));
      default: {
        std::string letters;
        for (std::uint64_t i = 0; i < 24 + draw % 16; ++i)
          letters += static_cast<char>('a' + mix64(draw + i) % 26);
        return text(std::move(letters));
      }
    }
  }

  std::vector<NexmarkField> fields_;
  const Settings settings_;
  std::uint64_t event_ = 0;
};

Result<std::vector<NexmarkField>> fields_of(const sql::Table& table, Topic topic) {
  std::vector<NexmarkField> fields;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.computed[i] != nullptr) continue;
    const auto& column = table.columns[i];
    const auto known = columns_of(topic);
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Known& one) { return one.name == column.name; });
    if (found == known.end() || found->kind != column.type.kind) {
      std::string list;
      for (const auto& one : known)
        list += (list.empty() ? "" : ", ") + std::string(one.name) + " " +
                sql::name_of(sql::Type{one.kind});
      return sql::error_at(
          table.at,
          "the table of 'nexmark' has no column " + column.name + " " + sql::name_of(column.type),
          "there are " + list);
    }
    fields.push_back({i, found->make});
  }
  return fields;
}

}  // namespace

Result<std::unique_ptr<Source>> open_nexmark_source(const sql::Table& table,
                                                    TableOptions& options) {
  Settings settings;
  const auto topic = options.text("nexmark.table");
  if (!topic || (*topic != "person" && *topic != "auction" && *topic != "bid"))
    return options.wrong("nexmark.table", "'person', 'auction' or 'bid'");
  settings.topic = *topic == "person"    ? Topic::kPerson
                   : *topic == "auction" ? Topic::kAuction
                                         : Topic::kBid;
  HF_ASSIGN_OR_RETURN(const auto events, options.number("number-of-events", -1));
  if (events >= 0) settings.events = static_cast<std::uint64_t>(events);
  HF_ASSIGN_OR_RETURN(settings.per_second, options.number("events-per-second", 10'000));
  if (settings.per_second <= 0 || settings.per_second > 1'000'000'000)
    return options.wrong("events-per-second", "1 to 1000000000");
  HF_ASSIGN_OR_RETURN(const auto seed, options.number("seed", 1));
  settings.seed = static_cast<std::uint64_t>(seed);
  const auto first = options.text("first-time");
  const auto time = sql::timestamp_of(first.value_or("2026-01-01 00:00:00"));
  if (!time) return options.wrong("first-time", "a time such as '2026-01-01 00:00:00'");
  settings.first_ms = *time;
  HF_RETURN_IF_ERROR(options.all_known());
  HF_ASSIGN_OR_RETURN(auto fields, fields_of(table, settings.topic));
  return std::unique_ptr<Source>(std::make_unique<NexmarkSource>(std::move(fields), settings));
}

}  // namespace holdfast::stream
