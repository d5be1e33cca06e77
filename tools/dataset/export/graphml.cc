#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/graph/table_fields.h"
#include "tools/dataset/export/export.h"

namespace blink {
namespace {

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

// "3:1 17:0.5": exact, since nine digits tell a float.
std::string FeatureText(const FeatureMatrix& features, NodeIndex node) {
  std::string text;
  const auto add = [&](int64_t column, float value) {
    if (value != 0) absl::StrAppendFormat(&text, "%s%d:%.9g", text.empty() ? "" : " ", column, value);
  };
  if (features.sparse) {
    for (int64_t k = features.row_offsets[node]; k < features.row_offsets[node + 1]; ++k)
      add(features.columns[k], features.values[k]);
  } else {
    for (uint32_t c = 0; c < features.cols; ++c) add(c, features.values[size_t{node} * features.cols + c]);
  }
  return text;
}

// XML has no place for such texts. A class may be called so where somebody wrote classes.txt by hand.
absl::Status CheckTexts(const std::vector<std::string>& texts, absl::string_view file) {
  for (size_t k = 0; k < texts.size(); ++k) {
    if (const char* why = WhyNoName(texts[k]); why != nullptr)
      return absl::InvalidArgumentError(absl::StrCat("name ", k, " (from 0) of ", file, " ", why));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportGraphMl(const Dataset& dataset, const std::string& path) {
  const NodeAttributes& attributes = dataset.attributes;
  BLINK_RETURN_IF_ERROR(CheckTexts(attributes.class_names, "classes.txt"));
  BLINK_RETURN_IF_ERROR(CheckTexts(attributes.ids, "nodes.csv"));
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
      "  <key id=\"label\" for=\"node\" attr.name=\"label\" attr.type=\"string\"/>\n"
      "  <key id=\"split\" for=\"node\" attr.name=\"split\" attr.type=\"string\"/>\n"
      "  <key id=\"features\" for=\"node\" attr.name=\"features\" attr.type=\"string\"/>\n"
      "  <key id=\"feature_count\" for=\"graph\" attr.name=\"feature_count\" attr.type=\"int\"/>\n"
      "  <graph edgedefault=\"undirected\">\n";
  if (attributes.features.cols > 0)
    absl::StrAppend(&text, "    <data key=\"feature_count\">", attributes.features.cols, "</data>\n");
  const auto id_of = [&](NodeIndex i) { return attributes.ids.empty() ? absl::StrCat(i) : Escaped(attributes.ids[i]); };
  for (NodeIndex i = 0; i < dataset.graph.node_count(); ++i) {
    absl::StrAppend(&text, "    <node id=\"", id_of(i), "\">");
    if (const int32_t label = attributes.labels[i]; label >= 0) {
      absl::StrAppend(&text, "<data key=\"label\">",
                      attributes.class_names.empty() ? absl::StrCat(label) : Escaped(attributes.class_names[label]),
                      "</data>");
    }
    if (attributes.split[i] != Split::kNone)
      absl::StrAppend(&text, "<data key=\"split\">", SplitName(attributes.split[i]), "</data>");
    if (attributes.features.cols > 0)
      absl::StrAppend(&text, "<data key=\"features\">", FeatureText(attributes.features, i), "</data>");
    absl::StrAppend(&text, "</node>\n");
  }
  for (NodeIndex i = 0; i < dataset.graph.node_count(); ++i) {
    for (const NodeIndex j : dataset.graph.NeighboursOf(i)) {
      if (i < j) absl::StrAppend(&text, "    <edge source=\"", id_of(i), "\" target=\"", id_of(j), "\"/>\n");
    }
  }
  absl::StrAppend(&text, "  </graph>\n</graphml>\n");
  return WriteFileAtomically(path, text);
}

}  // namespace blink
