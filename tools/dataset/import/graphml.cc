// GraphML. Expat reads the XML: it needs no memory for what it has passed, and refuses entities that grow.
#include <expat.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/node_columns.h"

namespace blink {
namespace {

constexpr size_t kDataBytesMax = 16 << 20;      // of one <data>
constexpr size_t kDefaultBytesMax = 256;        // which every node without a value gets
constexpr uint64_t kFilledBytesMin = 16 << 20;  // of the defaults of all nodes; more in a larger file
constexpr int kDepthMax = 100;
constexpr size_t kPieceBytes = 1 << 20;

// "graphml:node" is a node too.
absl::string_view LocalName(absl::string_view name) { return name.substr(name.rfind(':') + 1); }

struct Key {
  std::string name, domain, default_value;
};

class GraphMlReader {
 public:
  GraphMlReader(const std::string& name, const ImportOptions& options) : name_(name), options_(options) {}

  absl::Status Parse(absl::string_view bytes) {
    const std::unique_ptr<std::remove_pointer_t<XML_Parser>, decltype(&XML_ParserFree)> parser(
        XML_ParserCreate(nullptr), &XML_ParserFree);
    if (parser == nullptr) return absl::ResourceExhaustedError("expat has no memory");
    parser_ = parser.get();
    file_bytes_ = bytes.size();
    XML_SetUserData(parser_, this);
    XML_SetElementHandler(
        parser_, [](void* self, const char* name, const char** attributes) { Self(self).Start(name, attributes); },
        [](void* self, const char*) { Self(self).End(); });
    XML_SetCharacterDataHandler(parser_, [](void* self, const char* text, int size) {
      Self(self).Text({text, static_cast<size_t>(size)});
    });
    XML_SetEntityDeclHandler(parser_, [](void* self, const char*, int, const char*, int, const char*, const char*,
                                         const char*, const char*) {
      Self(self).Fail("declares an entity, which GraphML does not need: remove the declaration");
    });
    while (true) {
      const size_t size = std::min(bytes.size(), kPieceBytes);
      const bool last = size == bytes.size();
      const XML_Status parsed = XML_Parse(parser_, bytes.data(), static_cast<int>(size), last);
      BLINK_RETURN_IF_ERROR(status_);
      if (parsed != XML_STATUS_OK) {
        return Error(absl::StrCat("is no valid XML (", XML_ErrorString(XML_GetErrorCode(parser_)),
                                  "); fetch or make the file again"));
      }
      if (last) return absl::OkStatus();
      bytes.remove_prefix(size);
    }
  }

  absl::StatusOr<ImportedGraph> Finish() {
    if (!graph_found_) return WrongFile(name_, "holds no graph");
    ImportedGraph graph;
    graph.format = "GraphML";
    graph.edges.table.name = name_;
    BLINK_ASSIGN_OR_RETURN(graph.edges.ids, NodesInOrder(ids_, name_));
    for (const Link& link : links_) {
      const auto a = index_.find(link.source), b = index_.find(link.target);
      if (a == index_.end() || b == index_.end()) {
        return WrongFile(
            absl::StrCat(name_, ", line ", link.line),
            absl::StrCat("the edge has the end \"", (a == index_.end() ? link.source : link.target).substr(0, 40),
                         "\", which is no node: add the node, or remove the edge"));
      }
      BLINK_RETURN_IF_ERROR(AddLink(a->second, b->second, graph.edges, name_));
    }
    BLINK_ASSIGN_OR_RETURN(std::vector<NodeColumn> columns, columns_.Finish(ids_.size(), file_bytes_, name_));
    BLINK_RETURN_IF_ERROR(FillDefaults(columns));
    ColumnRules rules{.label_names = {"label", "class", "y", "category", "target", "community", "club", "type", "gt"}};
    if (!absl::SimpleAtoi(feature_count_, &rules.features_min)) rules.features_min = 0;
    BLINK_RETURN_IF_ERROR(TakeColumns(std::move(columns), rules, options_, name_, graph));
    return graph;
  }

 private:
  struct Link {
    std::string source, target;
    uint64_t line;
  };

  static GraphMlReader& Self(void* self) { return *static_cast<GraphMlReader*>(self); }
  uint64_t line() const { return XML_GetCurrentLineNumber(parser_); }
  absl::Status Error(absl::string_view what) const { return WrongFile(absl::StrCat(name_, ", line ", line()), what); }
  void Fail(absl::string_view what) {
    if (!status_.ok()) return;
    status_ = Error(what);
    XML_StopParser(parser_, XML_FALSE);
  }

  // The value of an attribute, "" without it.
  static std::string Get(const char** attributes, absl::string_view name) {
    for (; *attributes != nullptr; attributes += 2) {
      if (name == *attributes) return attributes[1];
    }
    return "";
  }

  void Start(absl::string_view qualified, const char** attributes) {
    if (!status_.ok()) return;
    const absl::string_view name = LocalName(qualified);
    path_.emplace_back(name);
    if (path_.size() > kDepthMax) return Fail("elements within elements, too deep");
    if (path_.size() == 1 && name != "graphml") {
      return Fail(absl::StrCat("is XML with the root <", name.substr(0, 40),
                               ">, not GraphML; python3 -c \"import "
                               "networkx; networkx.write_graphml(networkx.read_gexf('",
                               name_, "'), 'graph.graphml')\" converts GEXF"));
    }
    if (name == "graph") return StartGraph();
    if (name == "node") return StartNode(attributes);
    if (name == "edge") return StartEdge(attributes);
    if (name == "hyperedge") return Fail("a hyperedge links more than two nodes, which blink does not know");
    if (name == "key") {
      key_id_ = Get(attributes, "id");
      Key& key = keys_[key_id_];
      key.name = Get(attributes, "attr.name");
      if (key.name.empty()) key.name = key_id_;
      key.domain = Get(attributes, "for");
    }
    if (name == "data") key_id_ = Get(attributes, "key");
    if (name == "data" || name == "default") text_.clear();
  }

  void StartGraph() {
    if (path_.size() > 2) return Fail("a graph within a node: flatten the graph first");
    if (graph_found_) return Fail("a second graph: put each graph into a file of its own");
    graph_found_ = true;
  }

  void StartNode(const char** attributes) {
    std::string id = Get(attributes, "id");
    if (id.empty()) return Fail("a node has no id");
    if (ids_.size() >= kNodesMax) return Fail(absl::StrCat("more than ", kNodesMax, " nodes"));
    if (!index_.try_emplace(id, static_cast<NodeIndex>(ids_.size())).second)
      return Fail(absl::StrCat("the node \"", id.substr(0, 40), "\" stands twice: remove one of them"));
    ids_.push_back(std::move(id));
  }

  void StartEdge(const char** attributes) {
    Link link{Get(attributes, "source"), Get(attributes, "target"), line()};
    if (link.source.empty() || link.target.empty()) return Fail("an edge lacks its source or its target");
    if (links_.size() >= kImportedLinksMax) return Fail(absl::StrCat("more than ", kImportedLinksMax, " links"));
    links_.push_back(std::move(link));
  }

  void Text(absl::string_view text) {
    if (!status_.ok() || path_.empty() || (path_.back() != "data" && path_.back() != "default")) return;
    if (text_.size() + text.size() > kDataBytesMax)
      return Fail(absl::StrCat("an attribute has more than ", kDataBytesMax, " bytes"));
    text_.append(text.data(), text.size());
  }

  void End() {
    if (!status_.ok()) return;
    const std::string ended = path_.back();
    path_.pop_back();
    if (ended != "data" && ended != "default") return;
    const std::string text(absl::StripAsciiWhitespace(text_));
    if (ended == "default") {
      if (text.size() > kDefaultBytesMax)
        return Fail(absl::StrCat("a default has more than ", kDefaultBytesMax, " bytes"));
      keys_[key_id_].default_value = text;
    }
    if (ended != "data" || path_.empty()) return;
    const auto key = keys_.find(key_id_);
    if (key == keys_.end()) return Fail(absl::StrCat("the key \"", key_id_.substr(0, 40), "\" is not declared"));
    if (path_.back() == "node") columns_.Set(key->second.name, ids_.size() - 1, text);
    if (path_.back() == "graph" && key->second.name == "feature_count") feature_count_ = text;
  }

  absl::Status FillDefaults(std::vector<NodeColumn>& columns) const {
    absl::flat_hash_map<absl::string_view, absl::string_view> default_of;  // an attribute, by its name
    for (const auto& [id, key] : keys_) {
      if (!key.default_value.empty() && (key.domain.empty() || key.domain == "node" || key.domain == "all"))
        default_of[key.name] = key.default_value;
    }
    uint64_t filled = 0;
    for (NodeColumn& column : columns) {
      const auto found = default_of.find(column.name);
      if (found == default_of.end()) continue;
      for (std::string& value : column.values) {
        if (!value.empty()) continue;
        value = std::string(found->second);
        filled += value.size();
        if (filled > std::max(file_bytes_, kFilledBytesMin))
          return WrongFile(name_, absl::StrCat("its defaults, such as that of ", column.name.substr(0, 40),
                                               ", are longer than the file where nodes take them: write the values"));
      }
    }
    return absl::OkStatus();
  }

  const std::string& name_;
  const ImportOptions& options_;
  XML_Parser parser_ = nullptr;
  uint64_t file_bytes_ = 0;
  absl::Status status_;
  std::vector<std::string> path_;  // the open elements
  std::string key_id_, text_, feature_count_;
  absl::flat_hash_map<std::string, Key> keys_;
  bool graph_found_ = false;
  std::vector<std::string> ids_;
  absl::flat_hash_map<std::string, NodeIndex> index_;
  std::vector<Link> links_;
  NodeColumns columns_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ReadGraphMl(absl::string_view bytes, const std::string& name,
                                          const ImportOptions& options) {
  GraphMlReader reader(name, options);
  BLINK_RETURN_IF_ERROR(reader.Parse(bytes));
  return reader.Finish();
}

}  // namespace blink
