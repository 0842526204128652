#include "messages.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::stream::foreign {
namespace {

constexpr std::size_t kMaxRequestBytes = 8 << 20;
// A source expects those of each partition; what it then leaves out stays until there is more.
constexpr std::size_t kMaxBytesAhead = 64 << 20;

}  // namespace

MessageReader::MessageReader(std::string format, const sql::Table& table,
                             std::vector<std::size_t> columns)
    : format_(std::move(format)), table_(table), columns_(std::move(columns)) {}

Status MessageReader::start() {
  HF_ASSIGN_OR_RETURN(host_, Host::start());
  std::string answer;
  const auto asked = host_->ask(
      'S',
      R"({"format":")" + format_ + R"(","columns":)" + columns_text(table_.columns, columns_) + "}",
      answer);
  return asked ? Status() : asked.error();
}

Status MessageReader::ask(const std::string& request, std::string& answer) {
  if (host_->is_lost()) HF_RETURN_IF_ERROR(start());
  auto asked = host_->ask('M', request, answer);
  if (!asked && host_->is_lost()) {
    HF_RETURN_IF_ERROR(start());
    asked = host_->ask('M', request, answer);
  }
  return asked ? Status() : asked.error();
}

bool MessageReader::take(Ahead& ahead, std::span<const std::string_view> records) {
  ByteWriter bytes;
  bytes.number(records.size());
  for (const auto record : records)
    bytes.text(record);
  ahead.request = bytes.take();
  ByteReader sent(ahead.request);
  sent.number();
  while (ahead.records.size() < records.size())
    ahead.records.push_back(sent.text());
  status_ = ask(ahead.request, ahead.batch.answer());
  if (!status_) return false;
  if (ahead.batch.take() && ahead.batch.rows() == records.size()) return true;
  status_ = Error{Errc::kIo, "the process of Python gave rows that are none"};
  return false;
}

std::size_t MessageReader::bytes_ahead() const {
  std::size_t bytes = 0;
  for (const auto& ahead : ahead_)
    bytes += ahead.request.size();
  return bytes;
}

std::size_t MessageReader::expect(std::span<const std::string_view> records) {
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < records.size(); ++count) {
    bytes += records[count].size();
    if (bytes > kMaxRequestBytes) break;
  }
  if (count < 2) return 0;
  while (bytes_ahead() > kMaxBytesAhead)
    ahead_.pop_back();
  ahead_.emplace_front(table_, columns_);
  if (take(ahead_.front(), records.first(count))) return count;
  ahead_.pop_front();  // The failure is met again by read().
  return 0;
}

std::list<MessageReader::Ahead>::iterator MessageReader::find(std::string_view record) {
  const auto at = std::find_if(ahead_.begin(), ahead_.end(), [&](const Ahead& ahead) {
    return ahead.records[ahead.next] == record;
  });
  if (at != ahead_.end()) return at;
  // A source that left some out.
  return std::find_if(ahead_.begin(), ahead_.end(), [&](Ahead& ahead) {
    const auto begin = ahead.records.begin();
    const auto found =
        std::find(begin + static_cast<std::ptrdiff_t>(ahead.next), ahead.records.end(), record);
    if (found == ahead.records.end()) return false;
    ahead.next = static_cast<std::size_t>(found - begin);
    return true;
  });
}

bool MessageReader::read(std::string_view record, sql::Row& row, std::string& wrong) {
  status_ = {};
  auto at = find(record);
  if (at == ahead_.end()) {
    ahead_.emplace_front(table_, columns_);
    at = ahead_.begin();
    if (!take(*at, {&record, 1})) {
      ahead_.erase(at);
      wrong = status_.error().detail;
      return false;
    }
  }
  ahead_.splice(ahead_.begin(), ahead_, at);
  const bool made = at->batch.read(at->next, row, wrong);
  if (++at->next == at->records.size()) ahead_.erase(at);
  return made;
}

}  // namespace holdfast::stream::foreign
