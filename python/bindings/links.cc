// The weights of pairs that an estimate gives: lists, rows, and products, without n^2 numbers.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "aggregator_server/links/link_weights.h"
#include "common/base/run_on_threads.h"
#include "python/bindings/arguments.h"

namespace blink::python {
namespace {

using CsrArrays =
    std::tuple<nb::ndarray<nb::numpy, int64_t>, nb::ndarray<nb::numpy, int32_t>, nb::ndarray<nb::numpy, float>>;

CsrArrays ToArrays(std::vector<int64_t> offsets, std::vector<int32_t> columns, std::vector<float> values) {
  const size_t rows = offsets.size(), entries = columns.size();
  return {OwnedArray(std::move(offsets), {rows}), OwnedArray(std::move(columns), {entries}),
          OwnedArray(std::move(values), {entries})};
}

// The list, as it is stored.
CsrArrays List(const LinkWeights& weights) {
  const auto offsets = weights.links.offsets();
  const auto neighbours = weights.links.neighbours();
  std::vector<int64_t> rows(offsets.begin(), offsets.end());
  if (rows.empty()) rows.assign(weights.node_count + 1, 0);
  return ToArrays(std::move(rows), {neighbours.begin(), neighbours.end()},
                  weights.values.empty() ? std::vector<float>(neighbours.size(), 1.0f) : weights.values);
}

// Pairs of at least `threshold`, row by row. Fails where they are more than `entries_max`.
absl::StatusOr<std::tuple<std::vector<int64_t>, std::vector<int32_t>, std::vector<float>>> FindFrom(
    const LinkWeights& weights, float threshold, uint64_t entries_max, int threads) {
  const uint32_t n = weights.node_count;
  std::vector<std::vector<int32_t>> columns(n);
  std::vector<std::vector<float>> values(n);
  std::atomic<NodeIndex> next{0};
  std::atomic<uint64_t> found{0};
  RunOnThreads(ThreadsOrCores(threads), [&](int) {
    std::vector<float> row(n);
    for (NodeIndex i; (i = next.fetch_add(1)) < n && found <= entries_max;) {
      FillRow(weights, i, row.data());
      for (NodeIndex j = 0; j < n; ++j) {
        if (j == i || row[j] < threshold || row[j] <= 0) continue;
        columns[i].push_back(static_cast<int32_t>(j));
        values[i].push_back(row[j]);
      }
      found += columns[i].size();
    }
  });
  if (found > entries_max) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", entries_max, " entries of P are at least ",
                                                     threshold, ": give a larger threshold, or take rows or products"));
  }
  std::vector<int64_t> offsets(1, 0);
  std::vector<int32_t> all_columns;
  std::vector<float> all_values;
  for (uint32_t i = 0; i < n; ++i) {
    all_columns.insert(all_columns.end(), columns[i].begin(), columns[i].end());
    all_values.insert(all_values.end(), values[i].begin(), values[i].end());
    offsets.push_back(static_cast<int64_t>(all_columns.size()));
  }
  return std::tuple(std::move(offsets), std::move(all_columns), std::move(all_values));
}

auto Row(const LinkWeights& weights, uint32_t node) {
  if (node >= weights.node_count) throw nb::index_error("node");
  std::vector<float> row(weights.node_count);
  FillRow(weights, node, row.data());
  return OwnedArray(std::move(row), {weights.node_count});
}

auto Product(const LinkWeights& weights, const Matrix<float>& x, int threads) {
  if (x.shape(0) != weights.node_count) throw nb::value_error("x has another number of rows than P");
  const size_t width = x.shape(1);
  std::vector<float> y(weights.node_count * width);
  {
    nb::gil_scoped_release release;
    Multiply(weights, x.data(), static_cast<int64_t>(width), ThreadsOrCores(threads), y.data());
  }
  return OwnedArray(std::move(y), {weights.node_count, width});
}

}  // namespace

void BindLinks(nb::module_& module) {
  nb::class_<LinkWeights>(module, "LinkWeights")
      .def_ro("node_count", &LinkWeights::node_count)
      .def_prop_ro("has_background", &LinkWeights::has_background)
      .def_prop_ro(
          "class_of_node",
          [](const LinkWeights& w) {
            return OwnedArray(std::vector<uint32_t>(w.class_of_node), {w.class_of_node.size()});
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "background",
          [](const LinkWeights& w) {
            return OwnedArray(std::vector<float>(w.background), {w.class_count, w.class_count});
          },
          nb::rv_policy::automatic)
      .def("to_list", &List)
      .def(
          "pairs_from",
          [](const LinkWeights& w, float threshold, uint64_t entries_max, int threads) {
            auto [offsets, columns, values] = Run([&] { return FindFrom(w, threshold, entries_max, threads); });
            return ToArrays(std::move(offsets), std::move(columns), std::move(values));
          },
          nb::arg("threshold"), nb::arg("entries_max"), nb::arg("threads"))
      .def("row", &Row, nb::arg("node"))
      .def("product", &Product, nb::arg("x"), nb::arg("threads"))
      .def(
          "row_sums",
          [](const LinkWeights& w, int threads) {
            return OwnedArray(RowSums(w, ThreadsOrCores(threads)), {w.node_count});
          },
          nb::arg("threads"));
}

}  // namespace blink::python
