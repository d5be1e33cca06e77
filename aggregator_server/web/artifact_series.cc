#include "aggregator_server/web/artifact_series.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <tuple>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/artifact_digests.h"

namespace blink {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kLineBytesMax = 4096;

absl::Status OtherForm(const std::string& artifact) {
  return absl::DataLossError(absl::StrCat(artifact,
                                          " has not the form of such a file: bring it back from a backup, or ",
                                          "make the result again with blink-worker"));
}

// Gives every line but the first to `take`, which refuses by returning false. Nothing that was taken may be used unless
// this returns OK: only then is the file the one that was written.
absl::Status ReadLines(const std::string& folder, const std::string& artifact, const std::string& head,
                       const std::function<bool(absl::string_view line)>& take) {
  BLINK_ASSIGN_OR_RETURN(ArtifactCheck check, ArtifactCheck::Begin(folder, artifact));
  const std::string path = absl::StrCat(folder, "/", artifact);
  BLINK_RETURN_IF_ERROR(CheckRegularFile(path));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) return FileError(errno, "open", path);
  std::string rest, piece(kPieceBytes, '\0');
  bool is_first = true;
  while (true) {
    const size_t got = std::fread(piece.data(), 1, piece.size(), file.get());
    if (std::ferror(file.get())) return FileError(errno, "read", path);
    if (got == 0) break;
    check.Update(absl::string_view(piece.data(), got));
    rest.append(piece.data(), got);
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      const absl::string_view line(rest.data() + begin, end - begin);
      begin = end + 1;
      if (is_first ? line.substr(0, head.size()) != head : !take(line)) return OtherForm(artifact);
      is_first = false;
    }
    rest.erase(0, begin);
    if (rest.size() > kLineBytesMax) return OtherForm(artifact);
  }
  BLINK_RETURN_IF_ERROR(check.Finish());
  return is_first || !rest.empty() ? OtherForm(artifact) : absl::OkStatus();
}

// NaN and infinite losses are shown as gaps.
Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

float Quantile(std::vector<float>& values, double share) {
  const auto at = values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Json CountsJson(const std::optional<std::vector<float>>& values, double from, double width, size_t bins) {
  if (!values) return nullptr;
  std::vector<uint64_t> counts(bins);
  uint64_t below = 0, above = 0;
  for (const float value : *values) {
    const double bin = std::floor((static_cast<double>(value) - from) / width);
    if (bin < 0) {
      ++below;
    } else if (bin >= static_cast<double>(bins)) {
      ++above;
    } else {
      ++counts[static_cast<size_t>(bin)];
    }
  }
  return {{"counts", counts}, {"below", below}, {"above", above}, {"total", values->size()}};
}

// 1, 2, 5, 10, 20, ..: the smallest that is at least `least`.
double RoundWidth(double least) {
  double ten = 1;
  while (true) {
    for (const double step : {1, 2, 5}) {
      if (step * ten >= least) return step * ten;
    }
    ten *= 10;
  }
}

}  // namespace

absl::StatusOr<Json> CurvesJson(const std::string& result_folder) {
  struct Point {
    double epoch, values[3];
  };
  std::vector<Point> points;  // at most 100,000: the limit of epochs
  BLINK_RETURN_IF_ERROR(ReadLines(result_folder, "curves.csv", "epoch,train_loss,validation_loss,validation_accuracy",
                                  [&](absl::string_view line) {
                                    const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
                                    Point point{};
                                    if (fields.size() != 4 || points.size() > 1'000'000) return false;
                                    if (!absl::SimpleAtod(fields[0], &point.epoch)) return false;
                                    for (int k = 0; k < 3; ++k) {
                                      if (!absl::SimpleAtod(fields[k + 1], &point.values[k])) return false;
                                    }
                                    points.push_back(point);
                                    return true;
                                  }));
  Json json = {{"epochs", points.size()}, {"points", Json::array()}};
  const size_t shown = std::min(points.size(), kCurvePointsMax);
  for (size_t k = 0; k < shown; ++k) {
    const Point& point = points[shown == 1 ? 0 : k * (points.size() - 1) / (shown - 1)];
    json["points"].push_back({static_cast<uint64_t>(point.epoch), Finite(point.values[0]), Finite(point.values[1]),
                              Finite(point.values[2])});
  }
  return json;
}

absl::StatusOr<std::vector<float>> ReadEstimatedDegrees(const std::string& result_folder) {
  std::vector<float> degrees;
  BLINK_RETURN_IF_ERROR(ReadLines(result_folder, "degrees.csv", "node,degree,deviation", [&](absl::string_view line) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(',', 3));
    double degree = 0;
    if (fields.size() < 3 || degrees.size() >= kNodesMax || !absl::SimpleAtod(fields[1], &degree)) return false;
    degrees.push_back(static_cast<float>(degree));
    return std::isfinite(degree);
  }));
  return degrees;
}

Json DegreesJson(const std::optional<std::vector<float>>& noisy, const std::optional<std::vector<float>>& estimated) {
  double from = 0, to = 1;
  for (const auto& [values, low, high] : {std::tuple(&noisy, 0.025, 0.975), std::tuple(&estimated, 0.0, 0.995)}) {
    if (!*values || (*values)->empty()) continue;
    std::vector<float> copy = **values;
    from = std::min(from, static_cast<double>(Quantile(copy, low)));
    to = std::max(to, static_cast<double>(Quantile(copy, high)));
  }
  const double width = RoundWidth((to - from + 1) / (kDegreeBinsMax - 1));
  from = std::floor(from / width) * width;
  const auto bins = static_cast<size_t>(std::floor((to - from) / width)) + 1;
  Json json = {{"from", from}, {"width", width}, {"bins", bins}};
  json["noisy"] = CountsJson(noisy, from, width, bins);
  json["estimated"] = CountsJson(estimated, from, width, bins);
  return json;
}

}  // namespace blink
