#include "files.hpp"

#include <algorithm>
#include <utility>

#include <holdfast/sql/json_tree.hpp>

namespace holdfast::stream::foreign {

ForeignRows::ForeignRows(std::shared_ptr<SharedHost> host, std::string format, std::string path,
                         const sql::Table& table, std::vector<std::size_t> columns)
    : host_(std::move(host)),
      format_(std::move(format)),
      path_(std::move(path)),
      table_(table),
      columns_(std::move(columns)),
      batch_(table, columns_) {}

Status ForeignRows::open(Position position) {
  std::string request = R"({"format":")" + format_ + R"(","path":)", answer;
  sql::append_json_text(path_, request);
  request += R"(,"block":)" + std::to_string(position.offset) + R"(,"columns":)" +
             columns_text(table_.columns, columns_) + "}";
  batch_.clear();
  at_ = given_ = 0;
  ended_ = made_ = false;
  block_ = position.offset;
  skip_ = position.records;
  const auto asked = host_->ask('O', request, answer);
  return asked ? Status() : about(asked.error());
}

Result<bool> ForeignRows::next(sql::Row& row, Misread& misread) {
  misread = {};
  while (at_ == batch_.rows()) {
    if (ended_) return false;
    HF_RETURN_IF_ERROR(next_batch());
  }
  misread.made = made_ = batch_.read(at_, row, misread.wrong);
  ++at_;
  ++given_;
  return true;
}

Status ForeignRows::next_batch() {
  batch_.clear();
  at_ = 0;
  const auto asked = host_->ask('N', {}, batch_.answer());
  if (!asked) return about(asked.error());
  ended_ = *asked == 'Z';
  if (!ended_ && !batch_.take())
    return about({Errc::kIo, "the process of Python gave rows that are none"});
  if (ended_ || batch_.block() != block_) {
    if (skip_ > 0) {
      return about({Errc::kInvalidOption, "there are " + std::to_string(skip_) +
                                              " rows less than were read before; it is not the "
                                              "file it was"});
    }
    if (ended_) return {};
    block_ = batch_.block();
    given_ = 0;
  }
  at_ = std::min(skip_, batch_.rows());
  skip_ -= at_;
  given_ += at_;
  return {};
}

std::string ForeignRows::where() const {
  const std::string block(given_ == 0 ? "the beginning" : batch_.place());
  return made_ ? block + ", record " + std::to_string(given_) : block;
}

}  // namespace holdfast::stream::foreign
