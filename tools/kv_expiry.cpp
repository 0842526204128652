// expiry, expire, clock: rules by which records end, and the clock that they are judged by.
#include <fmt/format.h>

#include <holdfast/kv/space.hpp>

#include "console.hpp"
#include "kv_verbs.hpp"
#include "text_layout.hpp"

namespace holdfast::tools {
namespace {

void print_rule(const KvTarget& target, const kv::ExpiryRule& rule) {
  const bool big = rule.order == std::endian::big;
  if (target.json) {
    std::string text = "{";
    append_json_member(text, "prefix", rule.prefix);
    out("{},\"offset\":{},\"width\":{},\"order\":\"{}\",\"ttl\":{}}}\n", text, rule.offset_bytes,
        rule.width_bytes, big ? "big" : "little", rule.ttl);
    return;
  }
  out("{}\toffset {}\twidth {}\t{}-endian\tttl {}\n", visible(rule.prefix), rule.offset_bytes,
      rule.width_bytes, big ? "big" : "little", rule.ttl);
}

}  // namespace

int kv_expiry(const KvTarget& target) {
  bool typed = false;
  auto store = open_for_reading(target, &typed);
  if (!store) return report_error(target, store.error());
  Result<std::vector<kv::ExpiryRule>> rules = store->expiry_rules();
  if (!target.space.empty()) {
    const auto space = store->space(target.space);
    if (!space) return report_error(target, space.error());
    rules = store->expiry_rules(*space);
  }
  if (!rules) return report_error(target, rules.error());
  if (target.json)
    out("{{\"clock\":{}}}\n", store->clock());
  else
    out("clock {}\n", store->clock());
  for (const kv::ExpiryRule& rule : *rules)
    print_rule(target, rule);
  return kExitDone;
}

int kv_expire(const KvTarget& target, const ExpireArguments& arguments) {
  auto store = open_for_writing(target.spec, access_to_put(target), false);
  if (!store) return report_error(target, store.error());
  if (store->recovery().created) note("created store {}\n", target.spec);
  const auto prefix = option_bytes("--prefix", arguments.rule.prefix, arguments.key_encoding);
  if (!prefix) return report_error(target, prefix.error());
  kv::ExpiryRule rule = arguments.rule;
  rule.prefix = *prefix;
  const auto add = [&]() -> Status {
    if (target.space.empty()) return store->expire(rule);
    HF_ASSIGN_OR_RETURN(const kv::Space space, store->space(target.space));
    return store->expire(space, rule);
  };
  if (const Status added = with_room(*store, add); !added)
    return report_error(target, added.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  return print_done(target, "added", *survival);
}

int kv_clock(const KvTarget& target, std::uint64_t now) {
  auto store = open_for_writing(target.spec, RegionAccess::kOpen, false);
  if (!store) return report_error(target, store.error());
  if (const Status set = with_room(*store, [&] { return store->set_clock(now); }); !set)
    return report_error(target, set.error());
  const auto survival = settle(*store);
  if (!survival) return report_error(target, survival.error());
  return print_done(target, "set", *survival);
}

}  // namespace holdfast::tools
