#include "common/graph/text_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/graph/table_comments.h"

namespace blink {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr size_t kLineBytesMax = 1 << 24;  // a row of features
constexpr size_t kSampleLinesMax = 2000;
constexpr size_t kCommentBytesShown = 60;
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBlank(absl::string_view text) {
  for (const char c : text) {
    if (!absl::ascii_isspace(c)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TextTable>> TextTable::Open(const std::string& path, const TableOptions& options,
                                                           WantedContent wanted) {
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(path));
  return Begin(std::move(input), options, wanted);
}

absl::StatusOr<std::unique_ptr<TextTable>> TextTable::Begin(std::unique_ptr<Input> input, const TableOptions& options,
                                                            WantedContent wanted) {
  BLINK_RETURN_IF_ERROR(CheckComment(options.comment));
  std::unique_ptr<TextTable> table(new TextTable(std::move(input), options));
  BLINK_RETURN_IF_ERROR(table->ReadSample(wanted));
  return table;
}

TextTable::TextTable(std::unique_ptr<Input> input, TableOptions options)
    : input_(std::move(input)), options_(std::move(options)), buffer_(kBufferBytes, '\0') {
  report_.name = input_->name();
}

absl::Status TextTable::ErrorAt(uint64_t line, absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(report_.name, ", line ", line, ": ", what));
}

absl::Status TextTable::Fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kLineBytesMax) {
      return ErrorAt(report_.lines + 1,
                     absl::StrCat("longer than ", kLineBytesMax, " bytes: not ", form_.row, " a line"));
    }
    buffer_.resize(2 * buffer_.size());
  }
  BLINK_ASSIGN_OR_RETURN(const size_t got, input_->Read(buffer_.data() + end_, buffer_.size() - end_));
  end_ += got;
  at_end_ = got == 0;
  return absl::OkStatus();
}

absl::Status TextTable::ReadSample(WantedContent wanted) {
  BLINK_RETURN_IF_ERROR(Fill());
  const absl::string_view all(buffer_.data(), end_);
  BLINK_RETURN_IF_ERROR(CheckIsText(all.substr(0, Input::kPeekBytes), report_.name, wanted));
  if (absl::StartsWith(all, kByteOrderMark)) begin_ = kByteOrderMark.size();
  absl::string_view rest = all.substr(begin_);
  if (rest.find('\n') == absl::string_view::npos && rest.substr(0, rest.size() - 1).find('\r') != rest.npos) {
    return ErrorAt(1, "the lines end with CR alone: put LF there (tr '\\r' '\\n' < FILE > OTHER)");
  }
  const bool whole = end_ < buffer_.size();
  for (uint64_t number = 1; !rest.empty() && sample_.size() < kSampleLinesMax; ++number) {
    size_t end = rest.find('\n');
    if (end == absl::string_view::npos) {
      if (!whole && !sample_.empty()) break;  // the line may go on
      end = rest.size();
    }
    if (!IsBlank(rest.substr(0, end))) sample_.push_back({number, rest.substr(0, end)});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return absl::OkStatus();
}

absl::Status TextTable::Choose(TableForm form) {
  form_ = std::move(form);
  BLINK_ASSIGN_OR_RETURN(layout_, FindLayout(report_.name, sample_, form_, options_));
  report_.header = layout_.header;
  report_.header_line = layout_.header_line;
  report_.unused = layout_.unused;
  comments_left_ = layout_.comments.size();
  chosen_.resize(layout_.columns.size());
  sample_.clear();
  return absl::OkStatus();
}

bool TextTable::NextLine(absl::string_view* text) {
  for (size_t searched = begin_;;) {
    const void* found = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (found != nullptr || at_end_) {
      const size_t end = found != nullptr ? static_cast<const char*>(found) - buffer_.data() : end_;
      if (found == nullptr && begin_ == end_) return false;
      *text = absl::string_view(buffer_.data() + begin_, end - begin_);
      begin_ = found != nullptr ? end + 1 : end_;
      ++report_.lines;
      return true;
    }
    const size_t seen = end_ - begin_;
    status_ = Fill();
    if (!status_.ok()) return false;
    searched = begin_ + seen;
  }
}

absl::StatusOr<bool> TextTable::IsSkipped(absl::string_view text) {
  if (IsBlank(text)) {
    ++report_.blank;
    return true;
  }
  if (line() == layout_.header_line || line() == layout_.sizes_line) return true;
  bool comment = false;
  if (line() <= layout_.first_row_line) {
    comment = comments_left_ > 0 && layout_.comments[layout_.comments.size() - comments_left_] == line();
    comments_left_ -= comment;
  } else {
    BLINK_ASSIGN_OR_RETURN(comment, IsComment({line(), text}, report_.name, form_, options_, layout_, splitter_));
  }
  if (comment && report_.comments++ == 0) {
    report_.first_comment_line = line();
    report_.first_comment = std::string(absl::StripAsciiWhitespace(text).substr(0, kCommentBytesShown));
  }
  return comment;
}

absl::Status TextTable::Pick(absl::string_view text) {
  if (chosen_.empty()) return Error("the first rows come after more comments than are looked at; remove these");
  if (const char* wrong = splitter_.Split(text, layout_.separator, &fields_); wrong != nullptr) return Error(wrong);
  if (fields_.size() < layout_.fields || (layout_.exact && fields_.size() > layout_.fields)) {
    return Error(absl::StrCat("expected ", form_.row, " a line, in ", layout_.fields, " fields, found ", fields_.size(),
                              "; mend the line, or, if it is a comment, say what comments begin with (--comment)"));
  }
  for (size_t k = 0; k < chosen_.size(); ++k) {
    chosen_[k] = fields_[layout_.columns[k]];
    if (k >= form_.columns.size() || !form_.columns[k].is_id) continue;
    if (chosen_[k].empty()) return Error("an id is empty; give one, or remove the line");
  }
  return absl::OkStatus();
}

bool TextTable::Next() {
  absl::string_view text;
  while (status_.ok() && NextLine(&text)) {
    // Few lines begin with anything but a letter or a digit, so the others are looked at more closely.
    const bool plain = !text.empty() && absl::ascii_isalnum(text[0]);
    if (!plain || line() <= layout_.first_row_line || options_.comment.size() == 1) {
      const absl::StatusOr<bool> skipped = IsSkipped(text);
      if (!skipped.ok()) {
        status_ = skipped.status();
        return false;
      }
      if (*skipped) continue;
    }
    status_ = Pick(text);
    return status_.ok();
  }
  return false;
}

}  // namespace blink
