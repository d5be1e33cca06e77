#include "aggregator_server/reports/report_set.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/privacy/own_pairs.h"

namespace blink {
namespace {

constexpr double kPackedMin = 16 << 20;                       // bytes: below it packed bits are small enough
constexpr double kGapsInMemoryMax = 1 << 30;                  // bytes of rows and columns
constexpr double kRecordBytes = 16, kRowsAtATime = 64 << 20;  // of rows in a file: where each is, those in memory
constexpr uint64_t kTransposeBytes = uint64_t{512} << 20;     // beside the rows

// Rows and columns; the links add little to what noise makes. Of one end half of them, and then the mirrored ones.
double GapBytes(const PrivacyParameters& parameters) {
  const double n = parameters.node_count();
  const double sets = parameters.mechanism() == Mechanism::kOneEnd ? 3 : 2;
  return sets * GapRows::ExpectedBytes(n, n, parameters.flip_probability());
}

double PackedBytes(const PrivacyParameters& parameters) {
  const double n = parameters.node_count();
  return 8 * n * std::ceil(n / 64);
}

bool LiesInFile(const PrivacyParameters& parameters, RowStorage storage, bool has_folder) {
  return storage == RowStorage::kGaps && has_folder && GapBytes(parameters) > kGapsInMemoryMax;
}

}  // namespace

RowStorage FittingStorage(const PrivacyParameters& parameters) {
  if (!parameters.sends_bits()) return RowStorage::kPacked;
  const double packed = PackedBytes(parameters);
  return packed >= kPackedMin && GapBytes(parameters) <= packed / 4 ? RowStorage::kGaps : RowStorage::kPacked;
}

double ExpectedRowBytes(const PrivacyParameters& parameters, RowStorage storage) {
  if (!parameters.sends_bits()) return 0;
  return storage == RowStorage::kGaps ? GapBytes(parameters) : PackedBytes(parameters);
}

double ExpectedMemoryBytes(const PrivacyParameters& parameters, bool on_disk) {
  const RowStorage storage = FittingStorage(parameters);
  if (storage == RowStorage::kPacked) return ExpectedRowBytes(parameters, storage);
  const double n = parameters.node_count(), ones = n * n * parameters.flip_probability();
  const double transposing = std::min<double>(kTransposeBytes, 4 * ones) + 16 * n;
  const bool in_file = LiesInFile(parameters, storage, on_disk);
  return transposing + (in_file ? 2 * n * kRecordBytes + kRowsAtATime : GapBytes(parameters));
}

absl::Status CheckRoom(const PrivacyParameters& parameters, const RowPlace& place) {
  const RowStorage storage = FittingStorage(parameters);
  if (!LiesInFile(parameters, storage, !place.scratch_folder.empty())) return absl::OkStatus();
  std::error_code error;
  const auto room = std::filesystem::space(place.scratch_folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(place.scratch_folder, ": the room for the reports cannot be found out: ", error.message()));
  }
  const double needed = ExpectedRowBytes(parameters, storage);
  if (needed <= static_cast<double>(room.available)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the rows of the reports need about ", FormatBytes(needed),
                                                   " of disk while they are analysed, and ", place.scratch_folder,
                                                   " has ", FormatBytes(static_cast<double>(room.available)),
                                                   ": make room there, or take a folder on another disk"));
}

ReportSet::ReportSet(const PrivacyParameters& parameters, RowStorage storage, const RowPlace& place)
    : parameters_(parameters),
      storage_(parameters.sends_bits() ? storage : RowStorage::kPacked),
      scratch_folder_(LiesInFile(parameters, storage_, !place.scratch_folder.empty()) ? place.scratch_folder : ""),
      words_per_row_(parameters.sends_bits() ? (parameters.node_count() + 63) / 64 : 0),
      reported_(parameters.node_count()),
      noisy_degrees_(parameters.node_count()),
      bits_(words_per_row_, 0) {}

absl::Status ReportSet::Add(NodeIndex node, PrivateReport report) {
  if (node >= node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " is not below n = ", node_count()));
  }
  if (reported_.Test(node)) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " has reported twice"));
  }
  const uint32_t bits_expected = parameters_.sends_bits() ? parameters_.row_bits(node) : 0;
  if (report.bits.size() != bits_expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report of node ", node, " has ", report.bits.size(), " bits instead of ", bits_expected));
  }
  if (report.noisy_degree.has_value() != parameters_.sends_degree()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report of node ", node,
                     parameters_.sends_degree() ? " lacks its noisy degree" : " has a degree that nobody asked for"));
  }
  if (storage_ == RowStorage::kGaps) {
    BLINK_RETURN_IF_ERROR(AddGaps(node, report.bits));
  } else {
    AddPacked(node, report.bits);
  }
  noisy_degrees_[node] = report.noisy_degree;
  reported_.Set(node);
  ++report_count_;
  return absl::OkStatus();
}

absl::Status ReportSet::AddGaps(NodeIndex node, const BitRow& bits) {
  if (columns_ != nullptr) return absl::FailedPreconditionError("the set of reports is complete: no more are added");
  if (rows_ == nullptr) rows_ = std::make_shared<GapRows>(node_count(), node_count(), scratch_folder_);
  if (rows_.use_count() > 1) return absl::FailedPreconditionError("a copy of this set has the same rows: add no more");
  const bool one_end = parameters_.mechanism() == Mechanism::kOneEnd;
  std::vector<uint32_t> places;
  bits.ForEachOne([&](uint32_t place) { places.push_back(one_end ? OwnPairAt(node, place) : place); });
  const uint64_t offsets[] = {0, places.size()};
  return rows_->Set(node, offsets, places);
}

void ReportSet::AddPacked(NodeIndex node, const BitRow& bits) {
  if (!HasRows()) bits_.resize(uint64_t{words_per_row_} * node_count(), 0);
  if (parameters_.mechanism() == Mechanism::kOneEnd) {
    bits.ForEachOne([&](uint32_t place) { SetBit(node, OwnPairAt(node, place)); });
  } else {
    const absl::Span<const uint64_t> words = bits.words();
    std::copy(words.begin(), words.end(), bits_.begin() + uint64_t{node} * words_per_row_);
  }
}

absl::Status ReportSet::Complete(int threads, const std::function<void(double)>& progress) {
  if (is_complete()) return absl::OkStatus();
  if (rows_ == nullptr) rows_ = std::make_shared<GapRows>(node_count(), node_count(), scratch_folder_);
  BLINK_ASSIGN_OR_RETURN(columns_, Transpose(*rows_, scratch_folder_, threads, kTransposeBytes, progress));
  return absl::OkStatus();
}

uint32_t ReportSet::CountOnes(NodeIndex node) const {
  if (storage_ == RowStorage::kGaps) return has_evidence(node) ? rows_->Count(node) : 0;
  uint32_t ones = 0;
  for (const uint64_t word : row(node)) ones += std::popcount(word);
  return ones;
}

uint32_t ReportSet::CountOnesAmong(NodeIndex node, const BitRow& nodes) const {
  uint32_t ones = 0;
  if (storage_ == RowStorage::kGaps) {
    ForEachOne(node, [&](NodeIndex j) { ones += nodes.Test(j) ? 1 : 0; });
    return ones;
  }
  const absl::Span<const uint64_t> words = row(node);
  for (size_t w = 0; w < words.size(); ++w) ones += std::popcount(words[w] & nodes.words()[w]);
  return ones;
}

void ReportSet::FillRow(NodeIndex node, uint32_t first_word, absl::Span<uint64_t> words) const {
  std::fill(words.begin(), words.end(), 0);
  if (first_word >= words_per_row_) return;
  if (storage_ == RowStorage::kPacked) {
    const absl::Span<const uint64_t> from = row(node).subspan(first_word, words.size());  // no more than there are
    std::copy(from.begin(), from.end(), words.begin());
  } else if (has_evidence(node)) {
    const uint32_t from = first_word * 64;
    rows_->ForEachOne(node, from, from + uint64_t{64} * words.size(),
                      [&](uint32_t j) { words[(j - from) / 64] |= uint64_t{1} << (j % 64); });
  }
}

void ReportSet::Drop(NodeIndex node) {
  if (!reported_.Test(node)) return;
  reported_.Clear(node);
  --report_count_;
  noisy_degrees_[node].reset();
  has_dropped_ = true;
  if (storage_ == RowStorage::kGaps) return;
  const auto row = bits_.begin() + static_cast<int64_t>(uint64_t{node} * words_per_row_);
  std::fill(row, row + words_per_row_, 0);
}

void ReportSet::SetBit(NodeIndex node, NodeIndex about) {
  bits_[uint64_t{node} * words_per_row_ + about / 64] |= uint64_t{1} << (about % 64);
}

absl::Status ReportSet::Mirror(int threads) {
  for (std::optional<int64_t>& degree : noisy_degrees_) {
    constexpr int64_t kHalf = std::numeric_limits<int64_t>::max() / 2;
    if (degree) degree = 2 * std::clamp(*degree, -kHalf, kHalf);
  }
  if (storage_ == RowStorage::kGaps) {
    BLINK_RETURN_IF_ERROR(MirrorGaps(threads));
  } else if (HasRows()) {
    MirrorPacked();
  }
  mirrored_ = true;
  return absl::OkStatus();
}

absl::Status ReportSet::MirrorGaps(int threads) {
  BLINK_RETURN_IF_ERROR(Complete(threads));
  const uint32_t n = node_count();
  auto mirrored = std::make_shared<GapRows>(n, n, scratch_folder_);
  constexpr NodeIndex kRowsAtOnce = 512;
  for (NodeIndex first = 0; first < n; first += kRowsAtOnce) {
    const NodeIndex end = std::min(first + kRowsAtOnce, n);
    std::vector<uint64_t> offsets = {0};
    std::vector<uint32_t> places;
    for (NodeIndex i = first; i < end; ++i) {
      const auto add = [&](NodeIndex j) { places.push_back(j); };
      columns_->ForEachOne(i, [&](NodeIndex j) {
        if (reported(j)) add(j);
      });
      if (reported(i)) {
        rows_->ForEachOne(i, add);
      } else {
        for (uint32_t place = 0; place < OwnPairCount(i, n); ++place) add(OwnPairAt(i, place));
      }
      std::sort(places.begin() + static_cast<int64_t>(offsets.back()), places.end());
      offsets.push_back(places.size());
    }
    BLINK_RETURN_IF_ERROR(mirrored->Set(first, offsets, places));
    rows_->Rest(first, end);
    columns_->Rest(first, end);
  }
  rows_ = std::move(mirrored);
  columns_ = nullptr;
  return Complete(threads);
}

void ReportSet::MirrorPacked() {
  // A bit that was copied already is copied back to where it came from.
  for (NodeIndex i = 0; i < node_count(); ++i) {
    for (uint32_t w = 0; w < words_per_row_; ++w) {
      for (uint64_t bits = bits_[uint64_t{i} * words_per_row_ + w]; bits != 0; bits &= bits - 1) {
        SetBit(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)), i);
      }
    }
  }
  for (NodeIndex i = 0; i < node_count(); ++i) {
    if (reported(i)) continue;
    for (uint32_t place = 0; place < OwnPairCount(i, node_count()); ++place) SetBit(i, OwnPairAt(i, place));
  }
}

absl::Span<const uint64_t> ReportSet::row(NodeIndex node) const {
  return absl::MakeConstSpan(bits_).subspan(HasRows() ? uint64_t{node} * words_per_row_ : 0, words_per_row_);
}

}  // namespace blink
