#include <holdfast/olap/ssb/table_columns.hpp>

namespace holdfast::olap::ssb {
namespace {

constexpr TableColumn kCustomer[] = {{"c_custkey"},     {"c_name", true},      {"c_address", true},
                                     {"c_city", true},  {"c_nation", true},    {"c_region", true},
                                     {"c_phone", true}, {"c_mktsegment", true}};

constexpr TableColumn kSupplier[] = {{"s_suppkey"},    {"s_name", true},   {"s_address", true},
                                     {"s_city", true}, {"s_nation", true}, {"s_region", true},
                                     {"s_phone", true}};

constexpr TableColumn kPart[] = {{"p_partkey"},        {"p_name", true},   {"p_mfgr", true},
                                 {"p_category", true}, {"p_brand1", true}, {"p_color", true},
                                 {"p_type", true},     {"p_size"},         {"p_container", true}};

constexpr TableColumn kDate[] = {{"d_datekey"},
                                 {"d_date", true},
                                 {"d_dayofweek", true},
                                 {"d_month", true},
                                 {"d_year"},
                                 {"d_yearmonthnum"},
                                 {"d_yearmonth", true},
                                 {"d_daynuminweek"},
                                 {"d_daynuminmonth"},
                                 {"d_daynuminyear"},
                                 {"d_monthnuminyear"},
                                 {"d_weeknuminyear"},
                                 {"d_sellingseason", true},
                                 {"d_lastdayinweekfl", true},
                                 {"d_lastdayinmonthfl", true},
                                 {"d_holidayfl", true},
                                 {"d_weekdayfl", true}};

constexpr TableColumn kLineorder[] = {{"lo_orderkey"},
                                      {"lo_linenumber"},
                                      {"lo_custkey"},
                                      {"lo_partkey"},
                                      {"lo_suppkey"},
                                      {"lo_orderdate"},
                                      {"lo_orderpriority", true},
                                      {"lo_shippriority", true},
                                      {"lo_quantity"},
                                      {"lo_extendedprice"},
                                      {"lo_ordtotalprice"},
                                      {"lo_discount"},
                                      {"lo_revenue"},
                                      {"lo_supplycost"},
                                      {"lo_tax"},
                                      {"lo_commitdate"},
                                      {"lo_shipmode", true}};

}  // namespace

TableColumns columns_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kCustomer: return {"customer", kCustomer};
    case Dimension::kSupplier: return {"supplier", kSupplier};
    case Dimension::kPart: return {"part", kPart};
    default: return {"date", kDate};
  }
}

TableColumns columns_of_lineorder() { return {"lineorder", kLineorder}; }

}  // namespace holdfast::olap::ssb
