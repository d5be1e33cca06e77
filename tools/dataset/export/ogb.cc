#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "tools/dataset/export/export.h"

namespace blink {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

// Text that is compressed as it is written, without a name and a time: the same text gives the same file.
class GzipText {
 public:
  GzipText() { ok_ = deflateInit2(&stream_, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK; }
  ~GzipText() { deflateEnd(&stream_); }
  GzipText(const GzipText&) = delete;
  GzipText& operator=(const GzipText&) = delete;

  // What is added here is compressed by the next EndRow at the latest that finds a piece full.
  std::string& row() { return text_; }
  void EndRow() {
    text_.push_back('\n');
    if (text_.size() >= kPieceBytes) Deflate(Z_NO_FLUSH);
  }
  absl::Status Write(const std::string& path) {
    Deflate(Z_FINISH);
    if (!ok_) return absl::ResourceExhaustedError(absl::StrCat("zlib has no memory for ", path));
    return WriteFileAtomically(path, packed_, 0644);
  }

 private:
  void Deflate(int flush) {
    if (!ok_) return;
    stream_.next_in = reinterpret_cast<Bytef*>(text_.data());
    stream_.avail_in = static_cast<uInt>(text_.size());
    std::string buffer(kPieceBytes, '\0');
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      deflate(&stream_, flush);
      packed_.append(buffer.data(), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    text_.clear();
  }

  z_stream stream_ = {};
  bool ok_ = false;
  std::string text_, packed_;
};

absl::Status WriteOne(const std::string& path, uint64_t number) {
  GzipText text;
  absl::StrAppend(&text.row(), number);
  text.EndRow();
  return text.Write(path);
}

absl::Status WriteFeatures(const FeatureMatrix& features, const std::string& path) {
  GzipText text;
  std::vector<float> row(features.cols);
  for (uint32_t i = 0; i < features.rows; ++i) {
    if (features.sparse) {
      std::fill(row.begin(), row.end(), 0.0f);
      for (int64_t k = features.row_offsets[i]; k < features.row_offsets[i + 1]; ++k)
        row[features.columns[k]] = features.values[k];
    } else {
      row.assign(features.values.begin() + int64_t{i} * features.cols,
                 features.values.begin() + (int64_t{i} + 1) * features.cols);
    }
    for (uint32_t c = 0; c < features.cols; ++c) {
      if (c > 0) text.row().push_back(',');
      if (row[c] == 0) {
        text.row().push_back('0');
      } else {
        absl::StrAppendFormat(&text.row(), "%.9g", row[c]);
      }
    }
    text.EndRow();
  }
  return text.Write(path);
}

}  // namespace

absl::Status ExportOgb(const Dataset& dataset, const std::string& folder) {
  const CsrGraph& graph = dataset.graph;
  const NodeAttributes& attributes = dataset.attributes;
  BLINK_RETURN_IF_ERROR(CheckDenseFeatures(attributes.features));
  const std::string raw = folder + "/raw", split = folder + "/split/blink";
  BLINK_RETURN_IF_ERROR(MakeDirectories(raw, 0755));
  BLINK_RETURN_IF_ERROR(MakeDirectories(split, 0755));
  BLINK_RETURN_IF_ERROR(WriteOne(raw + "/num-node-list.csv.gz", graph.node_count()));
  BLINK_RETURN_IF_ERROR(WriteOne(raw + "/num-edge-list.csv.gz", graph.link_count()));
  GzipText edges;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      if (i > j) continue;
      absl::StrAppend(&edges.row(), i, ",", j);
      edges.EndRow();
    }
  }
  BLINK_RETURN_IF_ERROR(edges.Write(raw + "/edge.csv.gz"));
  if (attributes.features.cols > 0)
    BLINK_RETURN_IF_ERROR(WriteFeatures(attributes.features, raw + "/node-feat.csv.gz"));
  if (attributes.has_labels()) {
    GzipText labels;
    for (const int32_t label : attributes.labels) {
      absl::StrAppend(&labels.row(), label < 0 ? std::string("nan") : absl::StrCat(label));
      labels.EndRow();
    }
    BLINK_RETURN_IF_ERROR(labels.Write(raw + "/node-label.csv.gz"));
  }
  for (const auto& [name, part] :
       {std::pair("train", Split::kTrain), std::pair("valid", Split::kValidation), std::pair("test", Split::kTest)}) {
    GzipText nodes;
    for (size_t i = 0; i < attributes.split.size(); ++i) {
      if (attributes.split[i] != part) continue;
      absl::StrAppend(&nodes.row(), i);
      nodes.EndRow();
    }
    BLINK_RETURN_IF_ERROR(nodes.Write(absl::StrCat(split, "/", name, ".csv.gz")));
  }
  return absl::OkStatus();
}

}  // namespace blink
