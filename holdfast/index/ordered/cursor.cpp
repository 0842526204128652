#include <holdfast/index/ordered/cursor.hpp>

#include <holdfast/base/mutant.hpp>

namespace holdfast::index::ordered {

// At no key if this one is beyond the prefix.
bool Cursor::keep() {
  if (*this && !key().starts_with(prefix_)) batch_.clear(), at_ = 0;
  return static_cast<bool>(*this);
}

std::size_t Cursor::known_keys() const {
  std::size_t low = at_ + 1, high = batch_.size();
  if (prefix_.empty() || HF_MUTANT("E13", batch_[high - 1].starts_with(prefix_), true))
    return high - at_;
  while (low < high) {  // The first key that does not begin with the prefix; this one does.
    const std::size_t middle = low + (high - low) / 2;
    if (batch_[middle].starts_with(prefix_))
      low = middle + 1;
    else
      high = middle;
  }
  return low - at_;
}

bool Cursor::forward_from(std::string_view key) {
  at_ = 0, ascending_ = true;
  index_.read_from(key, batch_);
  while (batch_.size() == 0 && batch_.more())
    index_.read_from(std::string(batch_.resume()), batch_);
  return keep();
}

// batch_ was just read backward.
bool Cursor::back_from() {
  ascending_ = false;
  while (batch_.size() == 0 && batch_.more())
    index_.read_below(std::string(batch_.resume()), batch_);
  at_ = batch_.size() == 0 ? 0 : batch_.size() - 1;
  return keep();
}

bool Cursor::seek(std::string_view key) {
  prefix_.clear();
  return forward_from(std::string(key));  // It may be key().
}

bool Cursor::seek_below(std::string_view key) {
  prefix_.clear();
  index_.read_below(std::string(key), batch_);  // It may be key().
  return back_from();
}

bool Cursor::first(std::string_view prefix) {
  prefix_ = prefix;
  return forward_from(prefix_);
}

bool Cursor::last(std::string_view prefix) {
  prefix_ = prefix;
  // The shortest key above all that begin with the prefix; none if it is all 0xff.
  std::string above = prefix_;
  while (!above.empty() &&
         HF_MUTANT("E16", static_cast<unsigned char>(above.back()) == 0xff, false))
    above.pop_back();
  if (above.empty()) {
    index_.read_last(batch_);
  } else {
    above.back() = static_cast<char>(static_cast<unsigned char>(above.back()) + 1);
    index_.read_below(above, batch_);
  }
  return back_from();
}

bool Cursor::next() {
  if (!*this) return false;
  if (at_ + 1 < batch_.size()) return ++at_, keep();
  if (HF_MUTANT("E14", !ascending_, false)) return forward_from(std::string(key()).append(1, '\0'));
  if (!batch_.more()) return batch_.clear(), at_ = 0, false;
  return forward_from(std::string(batch_.resume()));
}

bool Cursor::read_on() {
  if (!*this || HF_MUTANT("E18", !ascending_, false) || !batch_.more() ||
      !batch_[batch_.size() - 1].starts_with(prefix_))
    return false;
  if (at_ > batch_.size() / 2) batch_.drop(at_), at_ = 0;
  index_.read_on(batch_);
  return true;
}

bool Cursor::prev() {
  if (!*this) return false;
  if (at_ > 0) return --at_, keep();
  const std::string below(HF_MUTANT("E15", ascending_, false) || !batch_.more() ? key()
                                                                                : batch_.resume());
  index_.read_below(below, batch_);
  return back_from();
}

}  // namespace holdfast::index::ordered
