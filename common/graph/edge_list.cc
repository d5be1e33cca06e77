// ReadEdgeList: links as people have them, in one pass over a stream, plain or gzip.
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

constexpr size_t kLineBytesMax = 64 << 10;
constexpr uint64_t kLinksMax = 1'000'000'000;

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose_r(file); }
};

// Calls line(number, text) for each line, without its end. zlib reads plain files as they are.
template <typename F>
absl::Status ForEachLine(const std::string& path, F line) {
  BLINK_RETURN_IF_ERROR([&]() -> absl::Status {  // gzopen tells a missing file from a forbidden one by errno alone
    const absl::StatusOr<std::string> probe = ReadFile(path, 0);
    return probe.ok() || absl::IsOutOfRange(probe.status()) ? absl::OkStatus() : probe.status();
  }());
  std::unique_ptr<gzFile_s, GzClose> file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) return FileError(errno != 0 ? errno : ENOMEM, "open", path);
  std::string buffer(1 << 18, '\0'), carry;
  uint64_t number = 0;
  while (true) {
    const int got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    int error = Z_OK;
    const char* text = gzerror(file.get(), &error);
    if (got < 0 || error == Z_BUF_ERROR) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ", after line ", number, ": the gzip stream is damaged or cut off (", text, "); fetch the file again"));
    }
    if (got == 0) break;
    absl::string_view rest(buffer.data(), got);
    for (size_t end; (end = rest.find('\n')) != absl::string_view::npos; rest.remove_prefix(end + 1)) {
      carry.append(rest.data(), end);
      BLINK_RETURN_IF_ERROR(line(++number, absl::string_view(carry)));
      carry.clear();
    }
    carry.append(rest.data(), rest.size());
    if (carry.size() > kLineBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number + 1, ": longer than ", kLineBytesMax, " bytes: not an edge list"));
    }
  }
  return carry.empty() ? absl::OkStatus() : line(++number, absl::string_view(carry));
}

// An integer in its one canonical spelling ("07" and "+7" are names, since "7" would be another one).
bool IsInteger(absl::string_view text, int64_t* value) {
  return absl::SimpleAtoi(text, value) && absl::StrCat(*value) == text;
}

bool IsHeaderName(absl::string_view text) {
  static constexpr absl::string_view kNames[] = {
      "source",     "target",   "src",       "dst",     "from",      "to",        "u",      "v",      "id_1",
      "id_2",       "id1",      "id2",       "node_1",  "node_2",    "node1",     "node2",  "node_a", "node_b",
      "fromnodeid", "tonodeid", "from_node", "to_node", "source_id", "target_id", "citing", "cited",  "paper",
      "head",       "tail",     "user1",     "user2",   "from_id",   "to_id"};
  return std::find(std::begin(kNames), std::end(kNames), absl::AsciiStrToLower(text)) != std::end(kNames);
}

class EdgeListParser {
 public:
  EdgeListParser(const std::string& path, EdgeListIds ids) : path_(path), all_integers_(ids != EdgeListIds::kNames) {}

  absl::Status Line(uint64_t number, absl::string_view line) {
    report_.lines = number;
    if (number == 1) absl::ConsumePrefix(&line, "\xEF\xBB\xBF");
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == '%') return absl::OkStatus();
    if (separator_ == 0) separator_ = SeparatorOf(line);
    absl::string_view source, target;
    BLINK_RETURN_IF_ERROR(Split(number, line, source, target));
    int64_t ignored;
    const bool integers = IsInteger(source, &ignored) && IsInteger(target, &ignored);
    if (!seen_data_) {
      seen_data_ = true;
      if (IsHeaderName(source) && IsHeaderName(target)) return absl::OkStatus();
      if (!IsInteger(source, &ignored) && !IsInteger(target, &ignored)) {  // a header, if all that follows are integers
        BLINK_RETURN_IF_ERROR(AddLink(number, source, target));
        first_line_names_ = static_cast<NodeIndex>(names_.size());
        return absl::OkStatus();
      }
    }
    if (links_.empty() && names_.empty()) began_with_integers_ = all_integers_ && integers;
    if (began_with_integers_ && !integers) {
      return Error(number,
                   absl::StrCat("the id \"", IsInteger(source, &ignored) ? target : source,
                                "\" is no integer, while the ids of the "
                                "lines before are; mend the line, or say that the ids are names (blink dataset convert "
                                "--names)"));
    }
    all_integers_ = all_integers_ && integers;
    return AddLink(number, source, target);
  }

  absl::StatusOr<std::pair<CsrGraph, EdgeListReport>> Finish(const std::vector<std::string>& further_nodes) {
    if (first_line_names_ > 0) {
      if (all_integers_ && names_.size() > first_line_names_) {
        DropFirstLine();
      } else {
        all_integers_ = false;
        maybe_header_ = first_line_names_ == 2;
      }
    }
    BLINK_RETURN_IF_ERROR(AddNodes(further_nodes));
    index_.clear();
    if (names_.size() < kNodesMin) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": an edge list of ", names_.size(), " nodes; at least ", kNodesMin, " are needed"));
    }
    if (all_integers_) SortByNumber();
    const uint32_t n = static_cast<uint32_t>(names_.size());
    const uint64_t given = links_.size();
    BLINK_ASSIGN_OR_RETURN(CsrGraph graph, CsrGraph::FromLinks(n, std::move(links_)));
    report_.duplicates_dropped = given - graph.link_count();
    report_.maybe_header = maybe_header_ && graph.DegreeOf(0) == 1 && graph.DegreeOf(1) == 1 && graph.HasLink(0, 1);
    report_.mapped = !(all_integers_ && names_.front() == "0" && names_.back() == absl::StrCat(n - 1));
    if (report_.mapped) report_.names = std::move(names_);
    return std::make_pair(std::move(graph), std::move(report_));
  }

 private:
  static char SeparatorOf(absl::string_view line) {
    for (const char c : {',', ';', '\t'}) {
      if (line.find(c) != absl::string_view::npos) return c;
    }
    return ' ';
  }

  absl::Status Error(uint64_t number, absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ", line ", number, ": ", what));
  }

  absl::Status Split(uint64_t number, absl::string_view line, absl::string_view& source,
                     absl::string_view& target) const {
    std::vector<absl::string_view> fields =
        separator_ == ' ' || separator_ == '\t'
            ? std::vector<absl::string_view>(
                  absl::StrSplit(line, absl::ByAnyChar(separator_ == ' ' ? " \t" : "\t"), absl::SkipEmpty()))
            : std::vector<absl::string_view>(absl::StrSplit(line, separator_));
    if (fields.size() != 2) {
      return Error(number, absl::StrCat("expected two ids a line, found ", fields.size(),
                                        " fields; keep only the two columns of ids, with one separator"));
    }
    for (absl::string_view& field : fields) {
      field = absl::StripAsciiWhitespace(field);
      if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
      if (field.empty()) return Error(number, "an id is empty; give both ends of the link");
      if (field.find_first_of(absl::string_view("\0\r\"", 3)) != absl::string_view::npos) {
        return Error(number, "an id holds a control character or a quotation mark; is this a text file of links?");
      }
    }
    source = fields[0];
    target = fields[1];
    return absl::OkStatus();
  }

  absl::StatusOr<NodeIndex> IndexOf(uint64_t number, absl::string_view name) {
    const auto [entry, inserted] = index_.try_emplace(name, static_cast<NodeIndex>(names_.size()));
    if (inserted) {
      if (names_.size() >= kNodesMax) return Error(number, absl::StrCat("more than ", kNodesMax, " distinct ids"));
      names_.emplace_back(name);
    }
    return entry->second;
  }

  absl::Status AddLink(uint64_t number, absl::string_view source, absl::string_view target) {
    BLINK_ASSIGN_OR_RETURN(const NodeIndex a, IndexOf(number, source));
    BLINK_ASSIGN_OR_RETURN(const NodeIndex b, IndexOf(number, target));
    if (a == b) {
      ++report_.self_loops_dropped;
      return absl::OkStatus();
    }
    if (links_.size() >= kLinksMax) return Error(number, absl::StrCat("more than ", kLinksMax, " links"));
    links_.emplace_back(a, b);
    return absl::OkStatus();
  }

  absl::Status AddNodes(const std::vector<std::string>& further_nodes) {
    for (const std::string& name : further_nodes) {
      if (!index_.try_emplace(name, 0).second) continue;
      int64_t ignored;
      if (all_integers_ && !IsInteger(name, &ignored)) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": its ids are integers, but there is a label of a node \"", name,
                         "\"; mend the labels, or say that the ids are names (blink dataset "
                         "convert --names)"));
      }
      names_.push_back(name);
      ++report_.nodes_added;
    }
    if (names_.size() <= kNodesMax) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": more than ", kNodesMax, " nodes with those of the labels"));
  }

  // The first line was a header: its names came first, and no other line holds them, since they are no integers.
  void DropFirstLine() {
    if (first_line_names_ == 1) {
      --report_.self_loops_dropped;
    } else {
      links_.erase(links_.begin());
    }
    for (NodeIndex i = 0; i < first_line_names_; ++i) index_.erase(names_[i]);
    names_.erase(names_.begin(), names_.begin() + first_line_names_);
    for (auto& [a, b] : links_) a -= first_line_names_, b -= first_line_names_;
  }

  // Integer ids keep their order, so that 0 .. n-1 stays what it is.
  void SortByNumber() {
    std::vector<std::pair<int64_t, NodeIndex>> order;
    for (NodeIndex i = 0; i < names_.size(); ++i) {
      int64_t value = 0;
      IsInteger(names_[i], &value);
      order.emplace_back(value, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<NodeIndex> rank(names_.size());
    for (NodeIndex r = 0; r < order.size(); ++r) rank[order[r].second] = r;
    for (auto& [a, b] : links_) a = rank[a], b = rank[b];
    for (NodeIndex r = 0; r < order.size(); ++r) names_[r] = absl::StrCat(order[r].first);
  }

  const std::string path_;
  char separator_ = 0;
  bool seen_data_ = false;
  bool all_integers_;
  bool began_with_integers_ = false;  // then a stray name is an error, not a reason to renumber everything
  bool maybe_header_ = false;
  NodeIndex first_line_names_ = 0;  // distinct names on the first line, when it may be a header
  absl::flat_hash_map<std::string, NodeIndex> index_;
  std::vector<std::string> names_;
  std::vector<std::pair<NodeIndex, NodeIndex>> links_;
  EdgeListReport report_;
};

}  // namespace

absl::StatusOr<std::pair<CsrGraph, EdgeListReport>> ReadEdgeList(const std::string& path,
                                                                 const std::vector<std::string>& further_nodes,
                                                                 EdgeListIds ids) {
  EdgeListParser parser(path, ids);
  BLINK_RETURN_IF_ERROR(
      ForEachLine(path, [&](uint64_t number, absl::string_view line) { return parser.Line(number, line); }));
  return parser.Finish(further_nodes);
}

}  // namespace blink
