#include <holdfast/kv/cursor.hpp>

#include <optional>
#include <utility>

#include <holdfast/kv/cursor_state.hpp>

namespace holdfast::kv {

Cursor::Cursor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

bool Cursor::seek(std::string_view key) {
  return state_->move_to(true, [&](auto& keys) { return keys.seek(key); });
}
bool Cursor::seek_below(std::string_view key) {
  return state_->move_to(false, [&](auto& keys) { return keys.seek_below(key); });
}
bool Cursor::first(std::string_view prefix) {
  return state_->move_to(true, [&](auto& keys) { return keys.first(prefix); });
}
bool Cursor::last(std::string_view prefix) {
  return state_->move_to(false, [&](auto& keys) { return keys.last(prefix); });
}
bool Cursor::next() { return state_->step(true); }
bool Cursor::prev() { return state_->step(false); }

Cursor::operator bool() const { return state_->there; }
std::string_view Cursor::key() const { return state_->keys->key(); }
std::string_view Cursor::value() const { return state_->record.value; }
Version Cursor::version() const { return state_->record.version; }
const Status& Cursor::status() const { return state_->status; }

Result<Cursor> StoreBase::cursor() const {
  if (!core()) return closed();
  if (core_->rooms.index.order() == nullptr) return no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, std::nullopt));
}
Result<Cursor> StoreBase::key_cursor() const {
  if (!core()) return closed();
  if (core_->rooms.index.order() == nullptr) return no_order();
  return Cursor(std::make_unique<Cursor::State>(core_->alive, std::nullopt, /*with_values=*/false));
}

Error StoreBase::no_order() {
  return {Errc::kInvalidOption,
          "order=false: the keys of this store are in no order; open it with order=true"};
}

}  // namespace holdfast::kv
