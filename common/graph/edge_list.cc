#include "common/graph/edge_list.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr uint64_t kLinksMax = 1'000'000'000;

using Links = std::vector<std::pair<NodeIndex, NodeIndex>>;
using FirstRow = EdgeListOptions::FirstRow;

TableForm Form() {
  TableForm form;
  form.row = "two ids";
  form.flag = "--columns";
  form.columns = {
      {.is_id = true,
       .names = {"source", "src",   "from",        "fromnodeid", "from_node", "from_id", "source_id", "node_1",
                 "node1",  "id_1",  "id1",         "node_a",     "u",         "citing",  "paper",     "head",
                 "user1",  "start", "source_node", "row",        "i",         "to",      "target",    "v"}},
      {.is_id = true,
       .names = {"target",      "dst", "to",     "tonodeid", "to_node", "to_id",  "target_id", "node_2", "node2",
                 "id_2",        "id2", "node_b", "v",        "cited",   "paper",  "tail",      "user2",  "end",
                 "target_node", "col", "column", "j",        "from",    "source", "u"}}};
  form.may_begin_with_sizes = true;
  form.first_row_flag = "--first-row link";
  return form;
}

class EdgeListReader {
 public:
  EdgeListReader(TextTable& table, FirstRow first_row) : table_(table), first_row_(first_row) {}

  absl::StatusOr<EdgeList> Read() {
    list_.ids = NodeIds(table_.layout().has_integers);
    BLINK_RETURN_IF_ERROR(list_.ids.are_integers() ? ReadIntegers() : ReadNames());
    list_.table = table_.report();
    return std::move(list_);
  }

 private:
  absl::Status ReadIntegers() {
    int64_t a = 0, b = 0;
    std::optional<std::pair<int64_t, int64_t>> first;  // is looked at when all others are known
    uint64_t first_line = 0;
    const bool may_be_sizes = table_.layout().header_line == 0 && table_.layout().sizes.empty();
    while (table_.Next()) {
      const absl::Span<const absl::string_view> ids = table_.fields();
      if (!ParseIntegerId(ids[0], &a) || !ParseIntegerId(ids[1], &b)) {
        return table_.Error(absl::StrCat("the id \"", ParseIntegerId(ids[0], &a) ? ids[1] : ids[0],
                                         "\" is no integer, while the ids of the lines before are; mend the line, or "
                                         "say that the ids are names (--names)"));
      }
      if (may_be_sizes && first_line == 0) {
        first_line = table_.line();
        first.emplace(a, b);
        continue;
      }
      const NodeIndex from = list_.ids.AddInteger(a), to = list_.ids.AddInteger(b);
      BLINK_RETURN_IF_ERROR(AddLink(from, to));
    }
    BLINK_RETURN_IF_ERROR(table_.status());
    if (!table_.layout().sizes.empty()) return TakeOddFirstRow();
    if (!first) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(const bool sizes, AreSizes(*first, first_line));
    if (sizes) return absl::OkStatus();
    return AddLink(list_.ids.AddInteger(first->first), list_.ids.AddInteger(first->second));
  }

  absl::Status ReadNames() {
    NodeIndex named_first = 0;
    while (table_.Next()) {
      const absl::Span<const absl::string_view> ids = table_.fields();
      for (const absl::string_view id : ids) {
        if (const char* why = WhyNoName(id); why != nullptr) return table_.Error(absl::StrCat("an id ", why));
      }
      const NodeIndex from = list_.ids.AddName(ids[0]), to = list_.ids.AddName(ids[1]);  // in this order
      BLINK_RETURN_IF_ERROR(AddLink(from, to));
      if (named_first == 0) named_first = static_cast<NodeIndex>(list_.ids.size());
    }
    BLINK_RETURN_IF_ERROR(table_.status());
    if (!table_.layout().sizes.empty()) return TakeOddFirstRow();
    const auto touches = [&](const auto& link) { return std::min(link.first, link.second) < 2; };
    list_.maybe_header = named_first == 2 && table_.layout().header_line == 0 && list_.ids.size() > 2 &&
                         std::count_if(list_.links.begin(), list_.links.end(), touches) == 1;
    return absl::OkStatus();
  }

  absl::Status AddLink(NodeIndex a, NodeIndex b) {
    ++rows_;
    if (list_.ids.size() > kNodesMax) return table_.Error(absl::StrCat("more than ", kNodesMax, " distinct ids"));
    if (a == b) {
      ++list_.self_loops_dropped;
      return absl::OkStatus();
    }
    if (list_.links.size() >= kLinksMax) return table_.Error(absl::StrCat("more than ", kLinksMax, " links"));
    list_.links.emplace_back(a, b);
    return absl::OkStatus();
  }

  // A first row of one integer, or of three, before rows of two.
  absl::Status TakeOddFirstRow() {
    const std::vector<int64_t>& sizes = table_.layout().sizes;
    const bool square = sizes.size() != 3 || sizes[0] == sizes[1];
    const bool told = first_row_ == FirstRow::kSizes;
    if (first_row_ == FirstRow::kLink || (!told && !(square && Fit(sizes.front(), sizes.back(), sizes.size() == 1)))) {
      return table_.ErrorAt(table_.layout().sizes_line,
                            absl::StrCat("expected two ids a line, found ", sizes.size(),
                                         " integers that are no counts of the nodes and links that follow; mend or "
                                         "remove the line, or say --first-row sizes"));
    }
    TakeSizes(absl::StrJoin(sizes, " "), sizes.front());
    return absl::OkStatus();
  }

  absl::StatusOr<bool> AreSizes(std::pair<int64_t, int64_t> first, uint64_t line) {
    const auto [a, b] = first;
    if (first_row_ == FirstRow::kLink) return false;
    const bool nodes_first = Fit(a, b, false), nodes_last = !nodes_first && Fit(b, a, false);
    if (first_row_ != FirstRow::kSizes && !nodes_first && !nodes_last) return false;
    if (first_row_ != FirstRow::kSizes && MayBeLink(a, b)) {
      return table_.ErrorAt(line,
                            absl::StrCat("\"", a, " ", b,
                                         "\" may be a link, or the numbers of nodes and links, which it fits: say "
                                         "--first-row link or --first-row sizes"));
    }
    TakeSizes(absl::StrCat(a, " ", b), nodes_last ? b : a);
    return true;
  }

  void TakeSizes(std::string text, int64_t nodes) {
    list_.sizes = std::move(text);
    if (nodes >= static_cast<int64_t>(list_.ids.size()) && nodes <= kNodesMax) {
      list_.nodes_by_sizes = static_cast<uint32_t>(nodes);
    }
  }

  // Whether the other rows have `nodes` nodes, or ids that leave room for so many, and `links` rows or links.
  bool Fit(int64_t nodes, int64_t links, bool nodes_alone) const {
    const auto ids = static_cast<int64_t>(list_.ids.size());
    if (ids == 0 || nodes < ids || nodes < kNodesMin || nodes > kNodesMax) return false;
    if (nodes > ids) {
      if (!list_.ids.are_integers()) return false;
      const auto [low, high] = std::minmax_element(list_.ids.integers().begin(), list_.ids.integers().end());
      if (*low < 0 || (*high >= nodes && !(*low >= 1 && *high == nodes))) return false;
    }
    if (nodes_alone) return true;
    const auto rows = static_cast<int64_t>(rows_);
    return links == rows || links == 2 * rows || 2 * links == rows || links == CountDistinct(false) ||
           links == CountDistinct(true);
  }

  int64_t CountDistinct(bool directed) const {
    Links links = list_.links;
    for (auto& [a, b] : links) {
      if (!directed && a > b) std::swap(a, b);
    }
    std::sort(links.begin(), links.end());
    return std::unique(links.begin(), links.end()) - links.begin();
  }

  // Whether something would be lost if the row were taken for counts: both are nodes, and no other row links them.
  bool MayBeLink(int64_t a, int64_t b) const {
    const std::optional<NodeIndex> from = list_.ids.Find(absl::StrCat(a)), to = list_.ids.Find(absl::StrCat(b));
    if (!from || !to || *from == *to) return false;
    return std::none_of(list_.links.begin(), list_.links.end(), [&](const auto& link) {
      return std::minmax(link.first, link.second) == std::minmax(*from, *to);
    });
  }

  TextTable& table_;
  const FirstRow first_row_;
  uint64_t rows_ = 0;
  EdgeList list_;
};

}  // namespace

absl::StatusOr<EdgeList> ReadEdgeList(const std::string& path, const EdgeListOptions& options) {
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(path));
  return ReadEdgeList(std::move(input), options);
}

absl::StatusOr<EdgeList> ReadEdgeList(std::unique_ptr<Input> input, const EdgeListOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<TextTable> table,
                         TextTable::Begin(std::move(input), options.table, WantedContent::kLinks));
  TableForm form = Form();
  form.first_row_is_row = options.first_row == FirstRow::kLink;
  BLINK_RETURN_IF_ERROR(table->Choose(std::move(form)));
  return EdgeListReader(*table, options.first_row).Read();
}

absl::Status AddNodesUpTo(uint32_t nodes, NodeIds& ids) {
  if (ids.size() > nodes) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", ids.size(), " nodes, more than ", nodes));
  }
  if (ids.size() == nodes) return absl::OkStatus();
  if (!ids.are_integers()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", ids.size(), " nodes, not ", nodes,
                     ", and the others have no names: list them in the labels, with the label -1"));
  }
  int64_t low = 0, high = -1;
  if (ids.size() > 0) {
    const auto [least, most] = std::minmax_element(ids.integers().begin(), ids.integers().end());
    low = *least;
    high = *most;
  }
  const int64_t first = low >= 1 && high == nodes ? 1 : 0;
  if (low < 0 || high >= first + nodes) {
    return absl::InvalidArgumentError(absl::StrCat("the ids go from ", low, " to ", high, ": ", nodes,
                                                   " nodes have the ids 0 to ", nodes - 1, ", or 1 to ", nodes));
  }
  for (int64_t id = first; id < first + nodes; ++id) ids.AddInteger(id);
  return absl::OkStatus();
}

}  // namespace blink
