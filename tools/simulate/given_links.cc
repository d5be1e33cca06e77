#include "tools/simulate/given_links.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/graph/numpy_file.h"

namespace blink {
namespace {

// Rows without their zeros.
struct Rows {
  std::vector<uint64_t> offsets = {0};
  std::vector<NodeIndex> columns;
  std::vector<float> values;
};

Rows WithoutZeros(const FeatureMatrix& matrix) {
  Rows rows;
  for (uint32_t i = 0; i < matrix.rows; ++i) {
    const int64_t begin = matrix.sparse ? matrix.row_offsets[i] : int64_t{i} * matrix.cols;
    const int64_t end = matrix.sparse ? matrix.row_offsets[i + 1] : begin + matrix.cols;
    for (int64_t k = begin; k < end; ++k) {
      if (matrix.values[k] == 0) continue;
      rows.columns.push_back(static_cast<NodeIndex>(matrix.sparse ? matrix.columns[k] : k - begin));
      rows.values.push_back(matrix.values[k]);
    }
    rows.offsets.push_back(rows.columns.size());
  }
  return rows;
}

float ValueAt(const Rows& rows, NodeIndex i, NodeIndex j) {
  const auto begin = rows.columns.begin() + static_cast<int64_t>(rows.offsets[i]);
  const auto end = rows.columns.begin() + static_cast<int64_t>(rows.offsets[i + 1]);
  const auto found = std::lower_bound(begin, end, j);
  return found != end && *found == j ? rows.values[found - rows.columns.begin()] : 0;
}

absl::Status CheckEntry(const Rows& rows, NodeIndex i, NodeIndex j, float value, const std::string& name) {
  if (i == j) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": node ", i,
                                                   " has a link to itself: call m.setdiag(0) and "
                                                   "m.eliminate_zeros() before saving"));
  }
  if (value < 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: the weight of the pair (%d, %d) is %g: a weight must not be negative", name, i, j, value));
  }
  if (const float back = ValueAt(rows, j, i); back != value) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: entry (%d, %d) is %g and entry (%d, %d) is %g, but a link has no direction: save "
                        "m.maximum(m.T), or what else makes both equal",
                        name, i, j, value, j, i, back));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GivenLinks> GivenLinksOf(FeatureMatrix matrix, const std::string& name, const CsrGraph& truth) {
  const uint32_t n = truth.node_count();
  if (matrix.rows != n || matrix.cols != n) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is a matrix of ", matrix.rows, " x ", matrix.cols,
                                                   ", but the data set has ", n, " nodes: the links must be ", n, " x ",
                                                   n));
  }
  Rows rows = WithoutZeros(matrix);
  matrix = {};
  GivenLinks given;
  Sha256 hash;
  hash.Update("given links");
  uint64_t true_entries = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    for (uint64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
      const NodeIndex j = rows.columns[k];
      BLINK_RETURN_IF_ERROR(CheckEntry(rows, i, j, rows.values[k], name));
      given.figures.weighted |= rows.values[k] != 1;
      true_entries += truth.HasLink(i, j) ? 1 : 0;
      hash.UpdateUint64((uint64_t{i} << 32) | j).UpdateUint64(std::bit_cast<uint32_t>(rows.values[k]));
    }
  }
  given.digest = hash.Finish();
  BLINK_ASSIGN_OR_RETURN(CsrGraph links, CsrGraph::FromRows(std::move(rows.offsets), std::move(rows.columns)));
  given.figures.links = links.link_count();
  given.figures.true_positives = true_entries / 2;
  given.weights = LinkWeights::Unweighted(std::move(links));
  if (given.figures.weighted) {
    given.weights.weighted = true;
    given.weights.values = std::move(rows.values);
  }
  return given;
}

absl::StatusOr<GivenLinks> ReadGivenLinks(const std::string& path, const CsrGraph& truth) {
  absl::StatusOr<FeatureMatrix> matrix = absl::EndsWith(path, ".npy") ? ReadDenseNpy(path) : ReadSparseNpz(path);
  if (!matrix.ok()) {  // the reader of features names another file in its remedy
    return absl::Status(matrix.status().code(),
                        absl::StrReplaceAll(matrix.status().message(), {{"'features.npy'", "'links.npy'"}}));
  }
  return GivenLinksOf(*std::move(matrix), path, truth);
}

}  // namespace blink
