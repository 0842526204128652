// words.hpp: the value lists of the Star Schema Benchmark: O'Neil, O'Neil and Chen, "The Star
// Schema Benchmark", revision 3, 2009, and the clauses of the TPC-H specification it refers to.
#pragma once

#include <array>
#include <string_view>

namespace holdfast::olap::ssb {

using Words = std::string_view;

inline constexpr std::array<Words, 5> kRegions{"AFRICA", "AMERICA", "ASIA", "EUROPE",
                                               "MIDDLE EAST"};
struct Nation {
  Words name;
  unsigned region;
};
inline constexpr std::array<Nation, 25> kNations{{
    {"ALGERIA", 0},       {"ARGENTINA", 1}, {"BRAZIL", 1}, {"CANADA", 1},
    {"EGYPT", 4},         {"ETHIOPIA", 0},  {"FRANCE", 3}, {"GERMANY", 3},
    {"INDIA", 2},         {"INDONESIA", 2}, {"IRAN", 4},   {"IRAQ", 4},
    {"JAPAN", 2},         {"JORDAN", 4},    {"KENYA", 0},  {"MOROCCO", 0},
    {"MOZAMBIQUE", 0},    {"PERU", 1},      {"CHINA", 2},  {"ROMANIA", 3},
    {"SAUDI ARABIA", 4},  {"VIETNAM", 2},   {"RUSSIA", 3}, {"UNITED KINGDOM", 3},
    {"UNITED STATES", 1},
}};

inline constexpr std::array<Words, 5> kPriorities{"1-URGENT", "2-HIGH", "3-MEDIUM",
                                                  "4-NOT SPECIFIED", "5-LOW"};
inline constexpr std::array<Words, 7> kShipModes{"AIR",     "FOB",  "MAIL", "RAIL",
                                                 "REG AIR", "SHIP", "TRUCK"};
inline constexpr std::array<Words, 5> kSegments{"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD",
                                                "MACHINERY"};
inline constexpr std::array<Words, 6> kTypes1{"STANDARD", "SMALL",   "MEDIUM",
                                              "LARGE",    "ECONOMY", "PROMO"};
inline constexpr std::array<Words, 5> kTypes2{"ANODIZED", "BURNISHED", "PLATED", "POLISHED",
                                              "BRUSHED"};
inline constexpr std::array<Words, 5> kTypes3{"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
inline constexpr std::array<Words, 5> kContainers1{"SM", "LG", "MED", "JUMBO", "WRAP"};
inline constexpr std::array<Words, 8> kContainers2{"CASE", "BOX",  "BAG", "JAR",
                                                   "PKG",  "PACK", "CAN", "DRUM"};
inline constexpr std::array<Words, 12> kMonths{"January",   "February", "March",    "April",
                                               "May",       "June",     "July",     "August",
                                               "September", "October",  "November", "December"};
inline constexpr std::array<Words, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                "Thursday", "Friday", "Saturday"};
inline constexpr std::array<Words, 12> kSeasons{"Winter", "Winter", "Winter",    "Spring",
                                                "Summer", "Summer", "Summer",    "Summer",
                                                "Fall",   "Fall",   "Christmas", "Christmas"};

inline constexpr std::array<Words, 92> kColours{
    "almond",   "antique",   "aquamarine", "azure",      "beige",     "bisque",    "black",
    "blanched", "blue",      "blush",      "brown",      "burlywood", "burnished", "chartreuse",
    "chiffon",  "chocolate", "coral",      "cornflower", "cornsilk",  "cream",     "cyan",
    "dark",     "deep",      "dim",        "dodger",     "drab",      "firebrick", "floral",
    "forest",   "frosted",   "gainsboro",  "ghost",      "goldenrod", "green",     "grey",
    "honeydew", "hot",       "indian",     "ivory",      "khaki",     "lace",      "lavender",
    "lawn",     "lemon",     "light",      "lime",       "linen",     "magenta",   "maroon",
    "medium",   "metallic",  "midnight",   "mint",       "misty",     "moccasin",  "navajo",
    "navy",     "olive",     "orange",     "orchid",     "pale",      "papaya",    "peach",
    "peru",     "pink",      "plum",       "powder",     "puff",      "purple",    "red",
    "rose",     "rosy",      "royal",      "saddle",     "salmon",    "sandy",     "seashell",
    "sienna",   "sky",       "slate",      "smoke",      "snow",      "spring",    "steel",
    "tan",      "thistle",   "tomato",     "turquoise",  "violet",    "wheat",     "white",
    "yellow"};

}  // namespace holdfast::olap::ssb
