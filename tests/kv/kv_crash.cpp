#include "kv_crash.hpp"

#include <holdfast/kv/cursor.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <holdfast/base/spin.hpp>
#include <holdfast/crash/medium.hpp>

#include "absent_region.hpp"

namespace holdfast::kv {

StoreOptions small_options() {
  StoreOptions options;
  options.block_bytes = 8 * KiB;
  options.segment_bytes = 64 * KiB;
  options.initial_bytes = 64 * KiB;
  options.max_bytes = 1 * MiB;
  options.recovery_threads = 1;
  options.background = false;
  options.durability = Durability::kPower;
  return options;
}

StoreOptions patchable_options() {
  StoreOptions options = small_options();
  options.patchable_words = {0, 8};
  return options;
}

namespace {

// Of a store or a keyspace that keeps its keys in order: that a cursor shows what for_each does.
template <class S>
Status check_order(const S& of, const State& state) {
  auto cursor = of.cursor();
  if (cursor.code() == Errc::kInvalidOption) return {};
  if (!cursor) return std::move(cursor).error();
  auto wanted = state.begin();
  for (cursor->first(); *cursor; cursor->next(), ++wanted) {
    if (wanted == state.end() || cursor->key() != wanted->first ||
        cursor->value() != wanted->second)
      return Error{Errc::kCorrupt, "a cursor and for_each differ at " + std::string(cursor->key())};
  }
  if (!cursor->status()) return cursor->status().error();
  if (wanted == state.end()) return {};
  return Error{Errc::kCorrupt, "a cursor does not show " + wanted->first};
}

}  // namespace

Result<State> read_all(Store<>& store) {
  const auto wrong = [](const std::string& what) { return Error{Errc::kCorrupt, what}; };
  State state;
  std::string text;
  {
    const Snapshot snapshot = store.snapshot();
    HF_RETURN_IF_ERROR(
        snapshot.for_each([&](std::string_view key, std::string_view value, Version) {
          if (!state.emplace(key, value).second)
            text = "for_each shows " + std::string(key) + " twice";
          return true;
        }));
  }
  if (!text.empty()) return wrong(text);
  // Records that have expired count until reclamation comes upon them.
  if (store.expiry_rules().empty() ? store.count() != state.size() : store.count() < state.size()) {
    return wrong("count() is " + std::to_string(store.count()) + ", for_each shows " +
                 std::to_string(state.size()));
  }
  for (const auto& [key, value] : state) {
    auto found = store.get(key, text);
    if (!found) return wrong("get(" + key + "): " + found.error().message());
    if (text != value) return wrong("get(" + key + ") and for_each differ");
  }
  HF_RETURN_IF_ERROR(check_order(store, state));
  for (const std::string& name : store.spaces()) {
    HF_ASSIGN_OR_RETURN(const Space space, store.space(name));
    const std::string prefix = "~" + name;
    state[prefix] = "";
    State own;
    HF_RETURN_IF_ERROR(space.for_each([&](std::string_view key, std::string_view value, Version) {
      own.emplace(key, value);
      if (!state.emplace(prefix + "/" + std::string(key), value).second)
        text = "for_each shows " + std::string(key) + " twice in " + name;
      std::string got;
      if (!space.get(key, got) || got != value) text = "get and for_each differ in " + name;
      return true;
    }));
    if (space.count() != own.size()) return wrong("count() of keyspace " + name);
    HF_RETURN_IF_ERROR(check_order(space, own));
  }
  if (text.starts_with("for_each shows") || text.starts_with("get and")) return wrong(text);
  const VerifyReport report = store.verify();
  if (!report.ok()) return wrong("verify: " + report.defects.front().what);
  return state;
}

namespace {

Status books_agree(Store<>& store, const State& state) {
  const Geometry& geometry = ForTests::table(store).geometry();
  std::uint64_t there = 0;
  for (const auto& [key, value] : state) {
    const NewRecord record{RecordKind::kPut, 0, ForTests::bytes(key), ForTests::bytes(value)};
    there += Geometry::padded(record.bytes(geometry));
  }
  const std::uint64_t live = store.stats().live_bytes;
  if (live == there) return {};
  return Error{Errc::kCorrupt,
               "live_bytes=" + std::to_string(live) + ", records take " + std::to_string(there)};
}

}  // namespace

// ---- Keys of the model ----

namespace {

// Calls verb(of, key): of the store, or of the keyspace that a key "~name/key" is in.
template <class Verb>
auto where(Store<>& store, const std::string& key, Verb&& verb) {
  const auto slash = key.find('/');
  if (!key.starts_with('~') || slash == key.npos) return verb(store, key);
  Space space = store.space(key.substr(1, slash - 1)).value();
  return verb(space, key.substr(slash + 1));
}

std::string in_model(const std::string& space, const std::string& key) {
  return "~" + space + "/" + key;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

WriteBatch batch_of(Store<>& store, const Accesses& writes) {
  WriteBatch batch;
  for (const auto& [name, value] : writes) {
    const auto add = [&](const auto& of, const std::string& key) {
      if constexpr (std::is_same_v<decltype(of), const Space&>)
        value ? batch.put(of, key, *value) : batch.erase(of, key);
      else
        value ? batch.put(key, *value) : batch.erase(key);
    };
    where(store, name, add);
  }
  return batch;
}

}  // namespace

// ---- One thread ----

Tested::Tested(Region region, const StoreOptions& options, crash::Workload& run,
               KeyValueModel& model, std::uint64_t first_id)
    : options_(options), run_(run), model_(model), next_id_(first_id) {
  store_ = std::make_unique<Store<>>(Store<>::open(std::move(region), options_).value());
}

Tested::~Tested() {
  if (store_) abandon();
}

void Tested::write(const Accesses& writes, const std::function<void()>& work) {
  for (const auto& [key, value] : writes) {
    if (value)
      dull_[key] = *value;
    else
      dull_.erase(key);
  }
  if (!recording_) return work();
  const std::uint64_t id = next_id_++;
  model_.batch(id, writes);
  run_.perform(id, work);
}

void Tested::put(const std::string& key, const std::string& value) {
  const PutOutcome expected = dull_.contains(key) ? PutOutcome::kOverwrote : PutOutcome::kInserted;
  write({{key, value}}, [&] {
    const PutOutcome outcome = store_->put(key, value).value();
    EXPECT_TRUE(outcome == expected || outcome == PutOutcome::kWritten);
  });
}
void Tested::put_if_absent(const std::string& key, const std::string& value) {
  const bool absent = !dull_.contains(key);
  write(absent ? Accesses{{key, value}} : Accesses{},
        [&] { EXPECT_EQ(store_->put_if_absent(key, value).has_value(), absent); });
}
void Tested::compare_and_put(const std::string& key, const std::string& value) {
  std::string ignored;
  const auto found = store_->get(key, ignored);
  write({{key, value}}, [&] { store_->compare_and_put(key, found ? *found : 0, value).value(); });
}
void Tested::update(const std::string& key, const std::string& value) {
  write({{key, value}},
        [&] { store_->update(key, [&](std::string& old) { old = value; }).value(); });
}
void Tested::update_word(const std::string& key, std::uint32_t at, std::uint64_t word) {
  std::string value = dull_.at(key);
  value.replace(at, sizeof word, word_text(word));
  write({{key, value}},
        [&] { store_->update_word(key, at, [&](std::uint64_t) { return word; }).value(); });
}
void Tested::append(const std::string& key, const std::string& bytes) {
  const auto found = dull_.find(key);
  write({{key, (found == dull_.end() ? "" : found->second) + bytes}},
        [&] { store_->append(key, bytes).value(); });
}
void Tested::add(const std::string& key, std::uint64_t amount) {
  std::uint64_t sum = 0;
  if (const auto found = dull_.find(key); found != dull_.end())
    std::memcpy(&sum, found->second.data(), sizeof sum);
  write({{key, word_text(sum + amount)}},
        [&] { store_->merge(key, MergeFunction::kAdd, word_text(amount)).value(); });
}
void Tested::erase(const std::string& key) {
  const bool there = dull_.contains(key);
  write({{key, std::nullopt}}, [&] { EXPECT_EQ(store_->erase(key).value(), there); });
}
void Tested::failing(const Accesses& writes, const std::function<void(Store<>&)>& verb) {
  const std::uint64_t id = next_id_++;
  model_.batch(id, writes);
  run_.begin(id);
  verb(*store_);
  run_.withdraw(id);
  other([] {});  // A point to crash at.
}
void Tested::batch(const Accesses& writes) {
  const WriteBatch batch = batch_of(*store_, writes);
  write(writes, [&] { store_->write(batch).value(); });
}
void Tested::create_space(const std::string& name) {
  write({{"~" + name, ""}}, [&] { store_->create_space(name).value(); });
}
void Tested::drop_space(const std::string& name) {
  Accesses writes{{"~" + name, std::nullopt}};
  for (const auto& [key, value] : dull_) {
    if (key.starts_with("~" + name + "/")) writes.push_back({key, std::nullopt});
  }
  write(writes, [&] { store_->drop_space(name).value(); });
}
void Tested::put_in(const std::string& name, const std::string& key, const std::string& value) {
  write({{"~" + name + "/" + key, value}},
        [&] { store_->space(name).value().put(key, value).value(); });
}
void Tested::append_in(const std::string& name, const std::string& key, const std::string& bytes) {
  const std::string of_model = "~" + name + "/" + key;
  const auto found = dull_.find(of_model);
  write({{of_model, (found == dull_.end() ? "" : found->second) + bytes}},
        [&] { store_->space(name).value().append(key, bytes).value(); });
}
void Tested::erase_in(const std::string& name, const std::string& key) {
  write({{"~" + name + "/" + key, std::nullopt}},
        [&] { store_->space(name).value().erase(key).value(); });
}
void Tested::update_word_in(const std::string& name, const std::string& key, std::uint32_t at,
                            std::uint64_t word) {
  std::string value = dull_.at(in_model(name, key));
  value.replace(at, sizeof word, word_text(word));
  write({{in_model(name, key), value}}, [&] {
    store_->space(name).value().update_word(key, at, [&](std::uint64_t) { return word; }).value();
  });
}
void Tested::set_clock(std::uint64_t now) {
  Accesses expired;
  for (const auto& [key, value] : dull_) {
    std::uint64_t end = 0;
    std::memcpy(&end, value.data(), std::min(value.size(), sizeof end));
    if (value.size() >= sizeof end && end <= now) expired.push_back({key, std::nullopt});
  }
  write(expired, [&] { store_->set_clock(now).value(); });
}
void Tested::put_many(const Records& records) {
  std::vector<std::string_view> keys, values;
  Accesses writes;
  for (const auto& [key, value] : records) {
    keys.push_back(key);
    values.push_back(value);
    writes.push_back({key, value});
  }
  write_each(writes, [&] { store_->put_many(keys, values).value(); });
}
void Tested::put_many_in(const std::string& name, const Records& records) {
  std::vector<std::string_view> keys, values;
  Accesses writes;
  for (const auto& [key, value] : records) {
    keys.push_back(key);
    values.push_back(value);
    writes.push_back({in_model(name, key), value});
  }
  write_each(writes, [&] { store_->space(name).value().put_many(keys, values).value(); });
}
void Tested::update_many_in(const std::string& name, const Records& records) {
  std::vector<std::string_view> keys;
  std::vector<Errc> outcomes(records.size());
  Accesses writes;
  for (const auto& [key, value] : records) {
    keys.push_back(key);
    writes.push_back({in_model(name, key), value});
  }
  write_each(writes, [&] {
    store_->space(name)
        .value()
        .update_many(
            keys, [&](std::size_t i, std::string& value) { value = records[i].second; }, outcomes)
        .value();
  });
}
void Tested::erase_many(const std::vector<std::string>& keys) {
  erase_each(keys, [&] {
    std::vector<Errc> outcomes(keys.size());
    store_->erase_many(views_of(keys), outcomes).value();
  });
}
void Tested::erase_many_in(const std::string& name, const std::vector<std::string>& keys) {
  std::vector<std::string> of_model;
  for (const std::string& key : keys)
    of_model.push_back(in_model(name, key));
  erase_each(of_model, [&] {
    std::vector<Errc> outcomes(keys.size());
    store_->space(name).value().erase_many(views_of(keys), outcomes).value();
  });
}
void Tested::erase_prefix(const std::string& prefix) {
  erase_each(keys_with(prefix), [&] { store_->erase_prefix(prefix).value(); });
}
void Tested::erase_range_in(const std::string& name, const std::string& from,
                            const std::string& to) {
  std::vector<std::string> keys = keys_with("~" + name + "/");
  std::erase_if(keys, [&](const std::string& key) {
    const std::string own = key.substr(name.size() + 2);
    return own < from || own >= to;
  });
  erase_each(keys, [&] { store_->space(name).value().erase_range(from, to).value(); });
}
std::vector<std::string> Tested::keys_with(const std::string& prefix) const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : dull_)
    if (key.starts_with(prefix)) keys.push_back(key);
  return keys;
}
// Any of them may be there without the others.
void Tested::write_each(const Accesses& writes, const std::function<void()>& verb) {
  const std::uint64_t first = next_id_;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const auto& [key, value] = writes[i];
    // An erase that finds nothing does nothing.
    const bool does = value || dull_.contains(key);
    if (recording_) {
      model_.batch(next_id_, does ? Accesses{writes[i]} : Accesses{});
      run_.begin(next_id_++, static_cast<std::uint32_t>(i));
    }
    if (value)
      dull_[key] = *value;
    else
      dull_.erase(key);
  }
  verb();
  for (std::uint64_t id = first; id < next_id_; ++id)
    run_.acknowledge(id);
}
void Tested::erase_each(const std::vector<std::string>& keys, const std::function<void()>& verb) {
  Accesses writes;
  for (const std::string& key : keys)
    writes.push_back({key, std::nullopt});
  write_each(writes, verb);
}
void Tested::close() {
  other([&] { store_->close().value(); });
  store_.reset();
}
void Tested::abandon() {
  ForTests::abandon(*store_);
  store_.reset();
}
void Tested::reopen() {
  auto& medium = dynamic_cast<crash::Medium&>(trace_sink());
  other(
      [&] { store_ = std::make_unique<Store<>>(Store<>::open(medium.open(), options_).value()); });
}

// ---- Several threads ----

void Actor::put(const std::string& key, const std::string& value) {
  const std::uint64_t id = tested_.take_id();
  tested_.model().put(id, key, value);
  tested_.run().perform(
      id,
      [&] {
        where(tested_.store(), key,
              [&](auto& of, const std::string& own) { of.put(own, value).value(); });
      },
      number_);
}
void Actor::erase(const std::string& key) {
  const std::uint64_t id = tested_.take_id();
  tested_.model().erase(id, key);
  tested_.run().perform(
      id,
      [&] {
        if (!where(tested_.store(), key,
                   [](auto& of, const std::string& own) { return of.erase(own).value(); })) {
          tested_.model().batch(id, {});  // It found nothing and did nothing.
          tested_.model().returned(id, key, std::nullopt);
        }
      },
      number_);
}
void Actor::get(const std::string& key) {
  const std::uint64_t id = tested_.take_id();
  tested_.model().batch(id, {});
  tested_.run().perform(
      id,
      [&] {
        std::string value;
        const auto found = where(tested_.store(), key, [&](auto& of, const std::string& own) {
          return of.get(own, value);
        });
        tested_.model().returned(id, key, found ? std::optional(value) : std::nullopt);
      },
      number_);
}
void Actor::batch(const Accesses& writes) {
  const std::uint64_t id = tested_.take_id();
  const WriteBatch batch = batch_of(tested_.store(), writes);
  tested_.model().batch(id, writes);
  tested_.run().perform(id, [&] { tested_.store().write(batch).value(); }, number_);
}
void Actor::add_to_word(const std::string& key, std::uint64_t amount) {
  const std::uint64_t id = tested_.take_id();
  tested_.model().batch(id, {});
  const auto change = [&](std::uint64_t word) {
    tested_.model().batch(id, {{key, word_text(word + amount)}});
    tested_.model().returned(id, key, word_text(word));
    return word + amount;
  };
  tested_.run().perform(
      id,
      [&] {
        where(tested_.store(), key,
              [&](auto& of, const std::string& own) { of.update_word(own, 0, change).value(); });
      },
      number_);
}
void Actor::other(const std::function<void()>& work) {
  const std::uint64_t id = tested_.take_id();
  tested_.model().batch(id, {});
  tested_.run().perform(id, work, number_);
}

// ---- The protocol ----

Report Crash::run(const crash::Model& model) {
  static const bool hooked = [] {
    set_spin_hook([] { trace_sink().on_wait(); });
    return true;
  }();
  (void)hooked;
  crash::Protocol<State> protocol;
  if (created) {
    protocol.setup = [this](Region& region) {
      Store<> store = Store<>::open(std::move(region), options).value();
      ForTests::abandon(store);
    };
  }
  if (!image.empty()) {
    protocol.setup = [this](Region& region) {
      region.write(0, std::as_bytes(std::span(image))).value();
      region.sync().value();
    };
  }
  protocol.workload = [this](Region& region, crash::Workload& run) {
    if (instead) return instead(region, run, model_);
    const std::uint64_t known = 1;  // What was before counts as one operation, long acknowledged.
    model_.batch(known, {});
    std::optional<Tested> tested;
    {
      const auto quiet = run.quiet();
      run.begin(known);
      run.acknowledge(known);
      tested.emplace(in_memory ? std::move(region) : absent(std::move(region)), options, run,
                     model_, kFirst);
      tested->recording_ = false;
      if (before) before(*tested);
      tested->recording_ = true;
      Accesses writes;
      for (const auto& [key, value] : tested->dull())
        writes.push_back({key, value});
      model_.batch(known, std::move(writes));
    }
    // Sealed words only repeat what the runs' tails say.
    run.hint(kSuperblockPageBytes, options.block_bytes - kSuperblockPageBytes);
    during(*tested);
  };
  protocol.recover = [this](Region& region) -> Result<State> {
    HF_ASSIGN_OR_RETURN(Store<> store, Store<>::open(std::move(region), options));
    auto state = read_all(store);
    if (books && state) HF_RETURN_IF_ERROR(books_agree(store, *state));
    ForTests::abandon(store);
    return state;
  };
  protocol.check = [this](const crash::Past<State>& past, const State& observed) {
    std::string wrong = model_.check(past, observed);
    return wrong.empty() && also ? also(past, observed) : wrong;
  };
  if (then) {
    protocol.then = [this](Region& region, crash::Workload& run, const State& found) {
      Tested tested(in_memory ? std::move(region) : absent(std::move(region)), options, run, model_,
                    1'000'000);
      tested.dull_ = found;
      if (afterwards) return afterwards(tested);
      tested.put("then", value_of('t', 40));
      if (!found.empty() && !found.begin()->first.starts_with('~')) {
        const std::string key = found.begin()->first;
        tested.put(key, value_of('u', 24));
        tested.erase(key);
      }
    };
  }
  protocol.print = [](const State& state) { return KeyValueModel::print(state); };
  protocol.describe = [this](std::uint64_t id) { return model_.describe(id); };
  crash::Options settings = check;
  settings.model = model;
  // A word that is updated in place may be read before it is durable (docs/kv_arguments.md).
  if (!options.patchable_words.empty()) settings.kept_once_shown = false;
  if (thorough()) settings.images_per_run *= 50;
  if (model.granularity == Granularity::kPage)
    settings.durable_at_acknowledge = false;  // Words that a later sync covers.
  return crash::check(protocol, settings);
}

bool thorough() { return std::getenv("HOLDFAST_THOROUGH") != nullptr; }

testing::AssertionResult holds(const Report& report) {
  if (report.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << report;
}

std::string medium_name(const testing::TestParamInfo<crash::Model>& info) {
  return crash::name(info.param);
}

}  // namespace holdfast::kv
