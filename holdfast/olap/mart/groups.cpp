#include <holdfast/olap/mart/groups.hpp>

#include <algorithm>
#include <new>
#include <numeric>

#include <holdfast/base/mutant.hpp>
#include <holdfast/olap/mart/star_scan.hpp>
#include <holdfast/olap/mart/word_text.hpp>

namespace holdfast::olap::mart {
namespace {

std::size_t words_of(const std::vector<GroupKey>& keys) {
  std::size_t words = 0;
  for (const auto& key : keys)
    words += key.words();
  return std::max<std::size_t>(words, 1);
}

}  // namespace

Groups::Groups(const StarPlan& plan, const PreparedPlan& prepared)
    : plan_(plan),
      prepared_(prepared),
      dense_(prepared.dense),
      key_words_(words_of(prepared.keys)),
      table_(key_words_),
      texts_(prepared.keys.size()),
      met_(dense_.value_or(0)) {
  for (std::size_t i = 0; i < plan.aggregates.size(); ++i) {
    const auto& argument = prepared.arguments[i];
    states_.emplace_back(plan.aggregates[i], argument ? argument->form() : Form::kNumbers);
  }
  grow();
}

void Groups::grow() {
  if (count() <= room_ && room_ != 0) return;
  if (dense_ || count() < kManyGroups) {
    // Twice as many at a time, so that it happens seldom.
    room_ = dense_ ? *dense_ : std::max<std::size_t>(count() * 2, 1024);
  } else {
    if (!reserved_) reserve();
    room_ = count() + count() / 8;
  }
  for (auto& state : states_)
    state.grow(room_);
}

// There are many: as many as rows, perhaps. What moves is copied, to pages that the kernel clears
// first, and addresses cost nothing.
void Groups::reserve() {
  reserved_ = true;
  try {
    table_.reserve(prepared_.rows);
    for (auto& state : states_)
      state.reserve(prepared_.rows);
  } catch (const std::bad_alloc&) {  // There is a limit on addresses; less may do.
  }
}

// The words of the keys of these rows, row by row.
Status Groups::add_words(const Input& input, std::span<const std::uint32_t> rows) {
  words_.resize(rows.size() * key_words_);
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
      if (form == Form::kNumbers) word(row, 1) = null ? 0 : values.numbers[row];
      if (form == Form::kReals) word(row, 1) = null ? 0 : word_of(values.reals[row]);
      if (form != Form::kWide) continue;
      word(row, 1) = null ? 0 : static_cast<std::int64_t>(values.wide[row]);
      word(row, 2) = null ? 0 : static_cast<std::int64_t>(values.wide[row] >> 64);
    }
    at += key.words();
  }
  return {};
}

Status Groups::number_rows(const Input& input, std::span<const std::uint32_t> rows) {
  numbers_.assign(rows.size(), 0);
  if (!dense_) {
    HF_RETURN_IF_ERROR(add_words(input, rows));
    table_.find_or_add(words_.data(), rows.size(), numbers_.data());
    grow();
    return {};
  }
  for (const auto& key : prepared_.keys) {
    HF_RETURN_IF_ERROR(input.indexes(*key.slot, rows, indexes_));
    for (std::size_t i = 0; i < rows.size(); ++i)
      numbers_[i] += key.coded.codes[indexes_[i]] * key.stride;
  }
  for (const auto number : numbers_)
    met_[number] = 1;
  return {};
}

Status Groups::add_aggregates(const Input& input, std::span<const std::uint32_t> rows) {
  Vector values, truth;
  std::vector<std::uint32_t> those, those_numbers;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    auto wanted = rows;
    std::span<const std::uint32_t> numbers = numbers_;
    if (const auto& condition = prepared_.conditions[i]) {
      HF_RETURN_IF_ERROR(condition->run(input, rows, truth));
      those.clear(), those_numbers.clear();
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (truth.is_null(row) || truth.numbers[row] == 0) continue;
        those.push_back(rows[row]);
        those_numbers.push_back(numbers_[row]);
      }
      wanted = those;
      numbers = those_numbers;
    }
    const auto& argument = prepared_.arguments[i];
    if (argument) HF_RETURN_IF_ERROR(argument->run(input, wanted, values));
    states_[i].add(numbers, argument ? &values : nullptr);
  }
  return {};
}

Status Groups::add(const Input& input, std::span<const std::uint32_t> rows) {
  HF_RETURN_IF_ERROR(number_rows(input, rows));
  return add_aggregates(input, rows);
}

bool Groups::has_parts() const {
  return !dense_ && std::none_of(prepared_.keys.begin(), prepared_.keys.end(),
                                 [&](const GroupKey& key) { return is_made(key); });
}

void Groups::find_groups(const Groups& other, std::uint32_t part, std::uint32_t parts,
                         std::vector<std::uint32_t>& to) {
  constexpr std::size_t kAtOnce = 4096;
  std::vector<std::uint32_t> theirs;
  for (std::size_t first = 0; first < to.size(); first += kAtOnce) {
    theirs.clear(), words_.clear();
    for (auto group = first; group < std::min(first + kAtOnce, to.size()); ++group) {
      const auto key = other.table_.key(group);
      if (parts > 1 && other.table_.hash(key.data()) % parts != part) continue;
      theirs.push_back(static_cast<std::uint32_t>(group));
      words_.insert(words_.end(), key.begin(), key.end());
      std::size_t at = words_.size() - key_words_;
      for (std::size_t k = 0; k < prepared_.keys.size(); at += prepared_.keys[k++].words()) {
        if (HF_MUTANT("O34", is_made(prepared_.keys[k]), false) && words_[at] != 0)
          words_[at] = texts_[k].add(other.texts_[k].text(words_[at]));
      }
    }
    numbers_.resize(theirs.size());
    table_.find_or_add(words_.data(), theirs.size(), numbers_.data());
    for (std::size_t i = 0; i < theirs.size(); ++i)
      to[theirs[i]] = HF_MUTANT("O33", numbers_[i], theirs[i]);
  }
}

void Groups::merge(const Groups& other, std::uint32_t part, std::uint32_t parts) {
  std::vector<std::uint32_t> to(other.count(), AggregateState::kNoGroup);
  if (dense_) {
    std::iota(to.begin(), to.end(), 0u);
    for (std::size_t group = 0; group < met_.size(); ++group)
      met_[group] |= other.met_[group];
  } else {
    find_groups(other, part, parts, to);
    grow();
  }
  for (std::size_t i = 0; i < states_.size(); ++i)
    states_[i].merge(other.states_[i], to);
}

std::vector<std::uint32_t> Groups::met() const {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < count(); ++group) {
    // Without keys there is one group, also of no row.
    if (!dense_ || met_[group] != 0 || plan_.keys.empty()) groups.push_back(group);
  }
  return groups;
}

void Groups::key_column(std::size_t number, std::span<const std::uint32_t> groups, Vector& to,
                        std::size_t at) const {
  std::size_t first_word = 0;
  for (std::size_t i = 0; i < number; ++i)
    first_word += prepared_.keys[i].words();
  const auto& key = prepared_.keys[number];
  const auto form = form_of(key.type);
  if (key.slot) {
    std::vector<std::uint32_t> codes;
    codes.reserve(groups.size());
    for (const auto group : groups)
      codes.push_back(
          dense_ ? static_cast<std::uint32_t>(group / key.stride % key.coded.values->size())
                 : static_cast<std::uint32_t>(table_.key(group)[first_word]));
    return to.take(form, at, *key.coded.values, codes);
  }
  for (const auto group : groups) {
    const auto row = at++;
    const auto words = table_.key(group).subspan(first_word, key.words());
    if (words[0] == 0) {
      to.set_null(row);
      continue;
    }
    switch (form) {
      case Form::kNumbers: to.numbers[row] = words[1]; break;
      case Form::kReals: to.reals[row] = double_of(words[1]); break;
      case Form::kTexts: to.texts[row] = texts_[number].text(words[0]); break;
      case Form::kWide:
        to.wide[row] =
            static_cast<sql::Int128>(words[2]) << 64 | static_cast<std::uint64_t>(words[1]);
        break;
    }
  }
}

Status Groups::check(std::span<const std::uint32_t> groups) const {
  for (const auto& state : states_)
    HF_RETURN_IF_ERROR(state.check(groups));
  return {};
}

Status Groups::column(std::size_t number, std::span<const std::uint32_t> groups, Vector& to,
                      std::size_t at) const {
  const auto keys = prepared_.keys.size();
  if (number >= keys) return states_[number - keys].results(groups, to, at);
  key_column(number, groups, to, at);
  return {};
}

}  // namespace holdfast::olap::mart
