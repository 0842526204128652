#include <holdfast/olap/mart/scan_worker.hpp>

#include <algorithm>
#include <numeric>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/row_order.hpp>
#include <holdfast/olap/mart/word_text.hpp>

namespace holdfast::olap::mart {
namespace {

std::size_t words_of(const std::vector<GroupKey>& keys) {
  std::size_t words = 0;
  for (const auto& key : keys)
    words += key.words();
  return std::max<std::size_t>(words, 1);
}

// Rows that a worker must keep of a plan without groups. One at least, so that there is a bound.
std::uint64_t rows_kept(const StarPlan& plan) {
  return plan.order.empty() ? StarPlan::kAll : std::max<std::uint64_t>(plan.first_rows(), 1);
}

enum class Verdict : std::uint8_t { kNone, kSome, kAll };

// Whether rows of a block pass, by the bounds of the column.
Verdict judge(const SlotFilter& filter, const IndexView& view, const ColumnInfo& bounds) {
  if (bounds.only_null()) return filter.passes[0] != 0 ? Verdict::kAll : Verdict::kNone;
  // The least code of a value is 0, or 1 where 0 is NULL.
  const auto first = view.base + (view.null_is_zero ? 1 : 0);
  const auto last = first + static_cast<std::uint32_t>(static_cast<std::uint64_t>(bounds.max) -
                                                       static_cast<std::uint64_t>(bounds.min));
  auto all = last - first + 1, passing = filter.passing(first, last);
  if (view.null_is_zero) ++all, passing += filter.passes[0];
  if (passing == 0) return HF_MUTANT("O28", Verdict::kNone, Verdict::kAll);
  return passing == all ? Verdict::kAll : Verdict::kSome;
}

}  // namespace

ScanWorker::ScanWorker(const StarPlan& plan, const PreparedPlan& prepared,
                       const IndexKernels& kernels)
    : plan_(plan),
      prepared_(prepared),
      kernels_(kernels),
      dense_(prepared.dense),
      rows_buffer_(kChunkRows + 16),
      key_words_(words_of(prepared.keys)),
      table_(key_words_),
      texts_(prepared.keys.size()),
      rows_kept_(rows_kept(plan)) {
  for (std::size_t i = 0; i < plan.aggregates.size(); ++i) {
    const auto& argument = prepared.arguments[i];
    states_.emplace_back(plan.aggregates[i], argument ? argument->form() : Form::kNumbers);
  }
  if (plan.grouped) grow();
}

void ScanWorker::grow() {
  const auto count = groups();
  if (count <= members_.size() && !members_.empty()) return;
  // Twice as many at a time, so that it happens seldom.
  const auto room = dense_ ? count : std::max<std::size_t>(count * 2, 1024);
  members_.resize(room);
  for (auto& state : states_)
    state.grow(room);
}

Result<bool> ScanWorker::open_filters(std::size_t number) {
  open_.clear();
  const auto& columns = prepared_.columns;
  const auto& info = columns.version().catalogue().tables[columns.table()].blocks[number];
  for (const auto& filter : prepared_.slots) {
    const auto view = columns.view(filter.slot, number);
    const auto verdict = judge(filter, view, info.columns[filter.slot]);
    if (verdict == Verdict::kNone) return false;
    if (verdict == Verdict::kSome) open_.emplace_back(&filter, view);
  }
  for (const auto& [filter, view] : open_)
    HF_RETURN_IF_ERROR(columns.version().use(columns.table(), number, filter->slot));
  return true;
}

Result<std::span<const std::uint32_t>> ScanWorker::passing(const Input& input, std::uint32_t first,
                                                           std::uint32_t count) {
  auto* rows = rows_buffer_.data();
  if (open_.empty()) {
    std::iota(rows, rows + count, first);
  } else {
    const auto& [filter, view] = open_.front();
    count = kernels_.select(view, filter->passes.data(), first, count, rows);
    for (std::size_t i = 1; i < open_.size(); ++i)
      count = refine(open_[i].second, open_[i].first->passes.data(), rows, count);
  }
  Vector truth;
  for (const auto& program : prepared_.filters) {
    if (count == 0) break;
    HF_RETURN_IF_ERROR(program.run(input, {rows, count}, truth));
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      rows[kept] = rows[i];
      kept += !truth.is_null(i) && truth.numbers[i] != 0;
    }
    count = kept;
  }
  return std::span<const std::uint32_t>(rows, count);
}

Status ScanWorker::add_block(std::size_t number, std::uint64_t most) {
  const auto& columns = prepared_.columns;
  const auto rows = columns.version().catalogue().tables[columns.table()].blocks[number].rows;
  counts_.rows += rows;
  ++counts_.blocks;
  HF_ASSIGN_OR_RETURN(const bool open, open_filters(number));
  if (!open) return {};
  ++counts_.read;
  const BlockInput input(columns, number);
  const auto before = collected();
  for (std::uint32_t first = 0; first < rows; first += kChunkRows) {
    HF_ASSIGN_OR_RETURN(const auto those,
                        passing(input, first, std::min(kChunkRows, rows - first)));
    counts_.passed += those.size();
    if (those.empty()) continue;
    if (!plan_.grouped) {
      HF_RETURN_IF_ERROR(collect(input, number, those));
      if (collected() - before >= HF_MUTANT("O43", most, 1)) return {};
      continue;
    }
    HF_RETURN_IF_ERROR(number_groups(input, those));
    HF_RETURN_IF_ERROR(add_aggregates(input, those));
  }
  return {};
}

// The words of the keys of these rows, row by row.
Status ScanWorker::add_words(const Input& input, std::span<const std::uint32_t> rows) {
  words_.assign(rows.size() * key_words_, 0);
  std::size_t at = 0;
  Vector values;
  for (std::size_t k = 0; k < prepared_.keys.size(); ++k) {
    const auto& key = prepared_.keys[k];
    const auto word = [&](std::size_t row, std::size_t i) -> std::int64_t& {
      return words_[row * key_words_ + at + i];
    };
    if (key.slot) {
      HF_RETURN_IF_ERROR(input.indexes(*key.slot, rows, indexes_));
      for (std::size_t row = 0; row < rows.size(); ++row)
        word(row, 0) = key.coded.codes[indexes_[row]];
      at += key.words();
      continue;
    }
    HF_RETURN_IF_ERROR(key.program->run(input, rows, values));
    const auto form = form_of(key.type);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const bool null = values.is_null(row);
      if (form == Form::kTexts) {
        word(row, 0) = null ? 0 : texts_[k].add(values.texts[row]);
        continue;
      }
      word(row, 0) = null ? 0 : 1;
      if (null) continue;
      if (form == Form::kNumbers) word(row, 1) = values.numbers[row];
      if (form == Form::kReals) word(row, 1) = word_of(values.reals[row]);
      if (form != Form::kWide) continue;
      word(row, 1) = static_cast<std::int64_t>(values.wide[row]);
      word(row, 2) = static_cast<std::int64_t>(values.wide[row] >> 64);
    }
    at += key.words();
  }
  return {};
}

Status ScanWorker::number_groups(const Input& input, std::span<const std::uint32_t> rows) {
  group_numbers_.assign(rows.size(), 0);
  if (dense_) {
    for (const auto& key : prepared_.keys) {
      HF_RETURN_IF_ERROR(input.indexes(*key.slot, rows, indexes_));
      for (std::size_t i = 0; i < rows.size(); ++i)
        group_numbers_[i] += key.coded.codes[indexes_[i]] * key.stride;
    }
  } else {
    HF_RETURN_IF_ERROR(add_words(input, rows));
    for (std::size_t i = 0; i < rows.size(); ++i)
      group_numbers_[i] = table_.find_or_add(words_.data() + i * key_words_);
    grow();
  }
  for (const auto group : group_numbers_)
    ++members_[group];
  return {};
}

Status ScanWorker::add_aggregates(const Input& input, std::span<const std::uint32_t> rows) {
  Vector values, truth;
  std::vector<std::uint32_t> those, those_groups;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    auto wanted = rows;
    std::span<const std::uint32_t> numbers = group_numbers_;
    if (const auto& condition = prepared_.conditions[i]) {
      HF_RETURN_IF_ERROR(condition->run(input, rows, truth));
      those.clear(), those_groups.clear();
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (truth.is_null(row) || truth.numbers[row] == 0) continue;
        those.push_back(rows[row]);
        those_groups.push_back(group_numbers_[row]);
      }
      wanted = those;
      numbers = those_groups;
    }
    const auto& argument = prepared_.arguments[i];
    if (argument) HF_RETURN_IF_ERROR(argument->run(input, wanted, values));
    states_[i].add(numbers, argument ? &values : nullptr);
  }
  return {};
}

bool ScanWorker::comes_before(const Placed& a, const Placed& b) const {
  const auto items = plan_.items.size();
  const int order = compare_rows(plan_.order, std::span(a.second).subspan(items),
                                 std::span(b.second).subspan(items));
  return order != 0 ? order < 0 : HF_MUTANT("O54", a.first < b.first, false);
}

void ScanWorker::drop_behind_limit() {
  const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(rows_kept_ - 1);
  std::nth_element(rows_.begin(), last, rows_.end(),
                   [this](const auto& a, const auto& b) { return comes_before(a, b); });
  bound_ = *last;
  rows_.erase(last + 1, rows_.end());
}

// All outputs of all rows are computed, so that an error does not hang on which rows came before.
Status ScanWorker::collect(const Input& input, std::size_t block,
                           std::span<const std::uint32_t> rows) {
  outputs_.resize(prepared_.outputs.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    HF_RETURN_IF_ERROR(prepared_.outputs[i].run(input, rows, outputs_[i]));
  const auto items = plan_.items.size();
  Placed one;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    one.first = std::uint64_t{block} * kBlockRows + rows[i];
    one.second.resize(outputs_.size());
    const auto make = [&](std::size_t from, std::size_t to) {
      for (auto at = from; at < to; ++at)
        one.second[at] = outputs_[at].value(prepared_.outputs[at].type(), i);
    };
    make(items, outputs_.size());
    if (bound_ && HF_MUTANT("O55", !comes_before(one, *bound_), true)) continue;
    make(0, items);
    rows_.push_back(std::move(one));
  }
  // Seldom, so that a row costs a few comparisons.
  if (rows_.size() / 2 >= std::max<std::uint64_t>(rows_kept_, kChunkRows)) drop_behind_limit();
  return {};
}

void ScanWorker::merge(ScanWorker& other) {
  counts_.rows += other.counts_.rows;
  counts_.passed += other.counts_.passed;
  counts_.blocks += other.counts_.blocks;
  counts_.read += other.counts_.read;
  std::move(other.rows_.begin(), other.rows_.end(), std::back_inserter(rows_));
  other.rows_.clear();
  if (!plan_.grouped) return;
  std::vector<std::uint32_t> to(other.groups());
  if (dense_) {
    std::iota(to.begin(), to.end(), 0u);
  } else {
    std::vector<std::int64_t> key;
    for (std::size_t group = 0; group < to.size(); ++group) {
      const auto theirs = other.table_.key(group);
      key.assign(theirs.begin(), theirs.end());
      std::size_t at = 0;
      for (std::size_t k = 0; k < prepared_.keys.size(); at += prepared_.keys[k++].words()) {
        const bool made =
            !prepared_.keys[k].slot && form_of(prepared_.keys[k].type) == Form::kTexts;
        if (HF_MUTANT("O34", made, false) && key[at] != 0)
          key[at] = texts_[k].add(other.texts_[k].text(key[at]));
      }
      to[group] = table_.find_or_add(key.data());
    }
    grow();
  }
  for (std::size_t group = 0; group < to.size(); ++group)
    members_[HF_MUTANT("O33", to[group], group)] += other.members_[group];
  for (std::size_t i = 0; i < states_.size(); ++i)
    states_[i].merge(other.states_[i], to);
}

sql::Row ScanWorker::keys_of(std::size_t group) const {
  sql::Row row;
  row.reserve(prepared_.keys.size() + states_.size());  // What rows() puts behind them, too.
  std::size_t at = 0;
  for (std::size_t k = 0; k < prepared_.keys.size(); ++k) {
    const auto& key = prepared_.keys[k];
    if (dense_) {
      row.push_back(key.coded.values[group / key.stride % key.coded.values.size()]);
      continue;
    }
    const auto words = table_.key(group).subspan(at, key.words());
    at += key.words();
    const auto form = form_of(key.type);
    if (key.slot)
      row.push_back(key.coded.values[static_cast<std::size_t>(words[0])]);
    else if (words[0] == 0)
      row.emplace_back();
    else if (form == Form::kTexts)
      row.push_back(sql::Value::of_text(std::string(texts_[k].text(words[0]))));
    else if (form == Form::kWide)
      row.push_back(sql::Value::of(static_cast<sql::Int128>(words[2]) << 64 |
                                   static_cast<std::uint64_t>(words[1])));
    else
      row.push_back(value_of_word(words[1], key.type));
  }
  return row;
}

Result<std::vector<sql::Row>> ScanWorker::rows() {
  std::vector<sql::Row> rows;
  if (!plan_.grouped) {
    std::sort(rows_.begin(), rows_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [place, row] : rows_)
      rows.push_back(std::move(row));
    return rows;
  }
  for (std::size_t group = 0; group < groups(); ++group) {
    if (members_[group] == 0 && !plan_.keys.empty()) continue;
    auto row = keys_of(group);
    for (const auto& state : states_) {
      HF_ASSIGN_OR_RETURN(auto value, state.result(group));
      row.push_back(std::move(value));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace holdfast::olap::mart
