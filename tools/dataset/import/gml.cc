// GML: key and value, where a value is a number, a text in quotation marks, or a list of such in brackets.
//
// Own code and no library: the grammar has five tokens, and igraph's parser would bring twelve libraries along
// (docs/DATASETS.md).
#include <algorithm>
#include <map>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/node_columns.h"
#include "tools/dataset/import/utf8.h"

namespace blink {
namespace {

constexpr int kListDepthMax = 64;
constexpr absl::string_view kListStart = "_networkx_list_start";  // before a list with one item

// "&#233;" and "&quot;", as GML's writers have them. What is no such thing stays as it is.
std::string Decoded(absl::string_view text) {
  static constexpr std::pair<absl::string_view, char> kNamed[] = {
      {"quot", '"'}, {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"apos", '\''}};
  std::string decoded;
  while (!text.empty()) {
    const size_t end = text[0] == '&' ? text.substr(0, 12).find(';') : absl::string_view::npos;
    if (end == absl::string_view::npos) {
      decoded.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    absl::string_view name = text.substr(1, end - 1);
    uint32_t code = 0;
    for (const auto& [known, character] : kNamed) {
      if (name == known) code = static_cast<uint8_t>(character);
    }
    if (code == 0 && absl::ConsumePrefix(&name, "#") && (!absl::SimpleAtoi(name, &code) || code > 0x10ffff)) code = 0;
    if (code == 0) {
      decoded.push_back('&');
      text.remove_prefix(1);
      continue;
    }
    AppendUtf8(code, decoded);
    text.remove_prefix(end + 1);
  }
  return decoded;
}

struct Token {
  enum class Kind { kEnd, kKey, kNumber, kText, kOpen, kClose } kind = Kind::kEnd;
  std::string text;
};

class Tokens {
 public:
  Tokens(absl::string_view text, const std::string& name) : rest_(text), name_(name) {
    absl::ConsumePrefix(&rest_, "\xEF\xBB\xBF");
  }

  absl::StatusOr<Token> Next() {
    SkipBlanksAndComments();
    if (rest_.empty()) return Token{};
    const char first = rest_[0];
    if (first == '[' || first == ']') {
      rest_.remove_prefix(1);
      return Token{first == '[' ? Token::Kind::kOpen : Token::Kind::kClose, std::string(1, first)};
    }
    if (first == '"') return Text();
    size_t end = 1;
    while (end < rest_.size() && !absl::ascii_isspace(rest_[end]) && rest_[end] != '[' && rest_[end] != ']' &&
           rest_[end] != '"')
      ++end;
    const std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    if (absl::ascii_isalpha(first) || first == '_') return Token{Token::Kind::kKey, word};
    double ignored;
    if (!absl::SimpleAtod(word, &ignored))
      return Error(absl::StrCat("\"", word.substr(0, 40), "\" is neither a key, a number nor a text"));
    return Token{Token::Kind::kNumber, word};
  }
  absl::Status Error(absl::string_view what) const { return WrongFile(absl::StrCat(name_, ", line ", line_), what); }

 private:
  void SkipBlanksAndComments() {
    bool comment = false;
    while (!rest_.empty() && (comment || absl::ascii_isspace(rest_[0]) || rest_[0] == '#')) {
      comment = comment || rest_[0] == '#';
      if (rest_[0] == '\n') {
        ++line_;
        comment = false;
      }
      rest_.remove_prefix(1);
    }
  }
  absl::StatusOr<Token> Text() {
    const size_t end = rest_.find('"', 1);
    if (end == absl::string_view::npos) return Error("a text has no closing quotation mark");
    const absl::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    line_ += std::count(text.begin(), text.end(), '\n');
    return Token{Token::Kind::kText, Decoded(text)};
  }

  absl::string_view rest_;
  const std::string& name_;
  uint64_t line_ = 1;
};

class GmlReader {
 public:
  GmlReader(absl::string_view bytes, const std::string& name, const ImportOptions& options)
      : tokens_(bytes, name), file_bytes_(bytes.size()), name_(name), options_(options) {}

  absl::StatusOr<ImportedGraph> Read() {
    bool found = false;
    while (true) {
      BLINK_ASSIGN_OR_RETURN(const Token key, tokens_.Next());
      if (key.kind == Token::Kind::kEnd) break;
      if (key.kind != Token::Kind::kKey) return tokens_.Error(absl::StrCat("expected a key, found ", key.text));
      BLINK_ASSIGN_OR_RETURN(const Token value, tokens_.Next());
      if (value.kind != Token::Kind::kOpen) continue;  // Creator ".."
      if (!absl::EqualsIgnoreCase(key.text, "graph")) {
        BLINK_RETURN_IF_ERROR(SkipList(1));
        continue;
      }
      if (found) return tokens_.Error("a second graph: put each graph into a file of its own");
      found = true;
      BLINK_RETURN_IF_ERROR(ReadGraph());
    }
    if (!found) return WrongFile(name_, "holds no \"graph [ .. ]\"; is it GML?");
    return Finish();
  }

 private:
  // After "[": the scalars of a list by their keys; lists within it are left out.
  absl::Status ReadScalars(std::vector<std::pair<std::string, std::string>>& out) {
    out.clear();
    while (true) {
      BLINK_ASSIGN_OR_RETURN(const Token key, tokens_.Next());
      if (key.kind == Token::Kind::kClose) return absl::OkStatus();
      if (key.kind != Token::Kind::kKey) return tokens_.Error(MissingKey(key));
      BLINK_ASSIGN_OR_RETURN(Token value, tokens_.Next());
      if (value.kind == Token::Kind::kOpen) {
        BLINK_RETURN_IF_ERROR(SkipList(1));
      } else if (value.kind == Token::Kind::kNumber || value.kind == Token::Kind::kText) {
        out.emplace_back(key.text, std::move(value.text));
      } else {
        return tokens_.Error(absl::StrCat("the key ", key.text, " has no value"));
      }
    }
  }
  static std::string MissingKey(const Token& found) {
    return found.kind == Token::Kind::kEnd ? "a \"]\" is missing: the file is cut off"
                                           : absl::StrCat("expected a key, found ", found.text);
  }

  absl::Status SkipList(int depth) {
    while (depth > 0) {
      BLINK_ASSIGN_OR_RETURN(const Token token, tokens_.Next());
      if (token.kind == Token::Kind::kEnd) return tokens_.Error(MissingKey(token));
      depth += token.kind == Token::Kind::kOpen ? 1 : token.kind == Token::Kind::kClose ? -1 : 0;
      if (depth > kListDepthMax) return tokens_.Error("lists within lists, too deep");
    }
    return absl::OkStatus();
  }

  absl::Status ReadGraph() {
    std::vector<std::pair<std::string, std::string>> scalars;
    while (true) {
      BLINK_ASSIGN_OR_RETURN(const Token key, tokens_.Next());
      if (key.kind == Token::Kind::kClose) return absl::OkStatus();
      if (key.kind != Token::Kind::kKey) return tokens_.Error(MissingKey(key));
      BLINK_ASSIGN_OR_RETURN(const Token value, tokens_.Next());
      if (value.kind == Token::Kind::kEnd || value.kind == Token::Kind::kClose || value.kind == Token::Kind::kKey)
        return tokens_.Error(absl::StrCat("the key ", key.text, " has no value"));
      if (value.kind != Token::Kind::kOpen) continue;  // directed 0
      if (absl::EqualsIgnoreCase(key.text, "node")) {
        BLINK_RETURN_IF_ERROR(ReadScalars(scalars));
        BLINK_RETURN_IF_ERROR(TakeNode(scalars));
      } else if (absl::EqualsIgnoreCase(key.text, "edge")) {
        BLINK_RETURN_IF_ERROR(ReadScalars(scalars));
        BLINK_RETURN_IF_ERROR(TakeEdge(scalars));
      } else {
        BLINK_RETURN_IF_ERROR(SkipList(1));
      }
    }
  }

  absl::Status TakeNode(std::vector<std::pair<std::string, std::string>>& scalars) {
    const size_t node = ids_.size();
    if (node >= kNodesMax) return tokens_.Error(absl::StrCat("more than ", kNodesMax, " nodes"));
    std::optional<std::string> id;
    std::map<std::string, std::string> lists;
    for (auto& [key, value] : scalars) {
      if (absl::EqualsIgnoreCase(key, "id")) {
        id = value;
      } else if (absl::EqualsIgnoreCase(key, "label")) {
        labels_.resize(node);
        labels_.push_back(value);
      } else if (value != kListStart) {
        std::string& joined = lists[key];  // NetworkX writes a list as one key again and again
        absl::StrAppend(&joined, joined.empty() ? "" : " ", value);
      }
    }
    for (auto& [key, value] : lists) columns_.Set(key, node, std::move(value));
    if (!id) return tokens_.Error("a node has no id");
    if (!index_.try_emplace(*id, static_cast<NodeIndex>(node)).second)
      return tokens_.Error(absl::StrCat("the node ", id->substr(0, 40), " stands twice: remove one of them"));
    ids_.push_back(*std::move(id));
    return absl::OkStatus();
  }

  absl::Status TakeEdge(const std::vector<std::pair<std::string, std::string>>& scalars) {
    std::string source, target;
    for (const auto& [key, value] : scalars) {
      if (absl::EqualsIgnoreCase(key, "source")) source = value;
      if (absl::EqualsIgnoreCase(key, "target")) target = value;
    }
    if (source.empty() || target.empty()) return tokens_.Error("an edge lacks its source or its target");
    links_.emplace_back(std::move(source), std::move(target));
    return absl::OkStatus();
  }

  // The labels are the nodes' names where each node has another one, as NetworkX reads them.
  bool LabelsAreNames() {
    labels_.resize(ids_.size());
    absl::flat_hash_set<absl::string_view> distinct(labels_.begin(), labels_.end());
    return distinct.size() == ids_.size() && !distinct.contains("");
  }

  absl::StatusOr<ImportedGraph> Finish() {
    ImportedGraph graph;
    graph.format = "GML";
    graph.edges.table.name = name_;
    const bool named = options_.label_attribute != "label" && LabelsAreNames();
    BLINK_ASSIGN_OR_RETURN(graph.edges.ids, NodesOf(named ? labels_ : ids_, name_));
    for (const auto& [source, target] : links_) {
      const auto a = index_.find(source), b = index_.find(target);
      if (a == index_.end() || b == index_.end()) {
        return WrongFile(name_,
                         absl::StrCat("an edge has the end ", (a == index_.end() ? source : target).substr(0, 40),
                                      ", which is no node's id: add the node, or remove the edge"));
      }
      BLINK_RETURN_IF_ERROR(AddLink(a->second, b->second, graph.edges, name_));
    }
    BLINK_ASSIGN_OR_RETURN(std::vector<NodeColumn> columns, columns_.Finish(ids_.size(), file_bytes_, name_));
    const bool labelled = std::any_of(labels_.begin(), labels_.end(), [](const auto& label) { return !label.empty(); });
    if (!named && labelled) columns.insert(columns.begin(), {"label", labels_});
    const ColumnRules rules{
        .label_names = {"class", "value", "category", "target", "y", "community", "club", "gt", "label"}};
    BLINK_RETURN_IF_ERROR(TakeColumns(std::move(columns), rules, options_, name_, graph));
    return graph;
  }

  Tokens tokens_;
  const uint64_t file_bytes_;
  const std::string& name_;
  const ImportOptions& options_;
  std::vector<std::string> ids_, labels_;
  absl::flat_hash_map<std::string, NodeIndex> index_;
  std::vector<std::pair<std::string, std::string>> links_;
  NodeColumns columns_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ReadGml(absl::string_view bytes, const std::string& name, const ImportOptions& options) {
  return GmlReader(bytes, name, options).Read();
}

}  // namespace blink
