#include "aggregator_server/estimate/attributed/pair_features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "aggregator_server/estimate/received_rows.h"

namespace blink {
namespace {

constexpr size_t kStrip = size_t{kStripRows} * kTileNodes;
constexpr uint32_t kTileWords = kTileNodes / 64, kTileBytes = kTileNodes / 8;

std::vector<float> SquaresOf(const float* rows, uint32_t n, uint32_t width, uint32_t padded) {
  std::vector<float> squares(padded, 0.0f);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < width; ++k) squares[i] += rows[size_t{i} * width + k] * rows[size_t{i} * width + k];
  }
  return squares;
}

void WordToBytes(uint64_t word, uint8_t* to) {
  for (int k = 0; k < 8; ++k) to[k] = static_cast<uint8_t>(word >> (8 * k));
}

constexpr int MostHingesOfAQuantity() {
  int most = 0, hinges[kPairQuantityCount + 1] = {};
  for (const FeatureForm& form : kFeatureForms) {
    if (form.form == FeatureForm::kUpTo) most = std::max(most, ++hinges[form.of]);
  }
  return most;
}
static_assert(MostHingesOfAQuantity() <= Curve::kHingesMax, "a curve has no room for all features of its quantity");

std::array<Curve, kPairQuantityCount> CurvesOf(const PairTheta& theta) {
  std::array<Curve, kPairQuantityCount> curves;
  for (int feature = 0; feature < kPairFeatureCount; ++feature) {
    const FeatureForm& form = kFeatureForms[feature];
    if (form.form == FeatureForm::kOne) continue;
    Curve& curve = curves[form.of];
    const auto slope = static_cast<float>(theta[feature]);
    if (form.form == FeatureForm::kItself) curve.slope = slope;
    if (form.form == FeatureForm::kSquare) curve.square = slope;
    if (form.form != FeatureForm::kUpTo) continue;
    curve.hinge_slopes[curve.hinge_count] = slope;
    curve.hinges[curve.hinge_count++] = form.hinge;
  }
  return curves;
}

}  // namespace

bool IsSharp(const ReportSet& reports) {
  return reports.parameters().epsilon_list() >= kSharpEpsilon &&
         reports.report_count() >= kSharpReports * reports.node_count();
}

PairInputs::PairInputs(const ReportSet& reports, const NodeProfiles& profiles, const ClassProbabilities& probabilities,
                       const DegreePosterior& degrees, const Ingredients& ingredients)
    : reports(reports), n(reports.node_count()), sharp(IsSharp(reports)) {
  const bool bits = reports.parameters().sends_bits();
  bit_weight = static_cast<float>(reports.bit_log_odds());
  constexpr double kDegreeMin = 1e-3;
  log_degree.assign(padded(), kNever);
  reported.assign(padded(), 0.0f);
  influence.assign(padded(), 0.0f);
  std::copy(degrees.influence.begin(), degrees.influence.end(), influence.begin());
  const double contrast = std::tanh(reports.parameters().bit_log_odds() / 2);  // 1 - 2 p
  if (bits && contrast > 0) own_bit = static_cast<float>(1 / (2 * reports.bit_log_odds() * contrast));
  double total = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    const double degree = std::max(degrees.mean[i], kDegreeMin);
    total += degree;
    log_degree[i] = static_cast<float>(std::log(degree));
    reported[i] = bits && reports.has_evidence(i) ? 1.0f : 0.0f;
  }
  some_unobserved = bits && reports.mirrored() && reports.report_count() < n;
  log_total = static_cast<float>(std::log(total));
  const FeatureMatrix& scaled = profiles.scaled;
  if (ingredients.features && scaled.cols > 0 && scaled.sparse) {
    words = SparseRows(scaled);
  } else if (ingredients.features && scaled.cols > 0) {
    dense = scaled.values.data();
    dense_width = scaled.cols;
  }
  if (ingredients.latent && profiles.latent_width > 0) {
    latent = profiles.latent.data();
    latent_width = profiles.latent_width;
  }
  latent_square = SquaresOf(latent, n, latent_width, padded());
  if (ingredients.classes && probabilities.class_count > 1) {
    classes[kOfLinks] = probabilities.clamped.data();
    classes[kOfTraining] = probabilities.open.data();
    class_count = probabilities.class_count;
  }
  for (int kind = 0; kind < 2; ++kind) class_square[kind] = SquaresOf(classes[kind], n, class_count, padded());
}

bool PairInputs::Has(int feature, bool network) const {
  switch (kFeatureForms[feature].of) {
    case kPairQuantityCount:
      return true;
    case kOfCosine:
      return dense_width > 0 || !words.empty();
    case kOfLatent:
      return latent_width > 0;
    case kOfClasses:
    case kOfLogClasses:
      return class_count > 0;
    case kOfNeighboursLatent:
      return network && latent_width > 0;
    case kOfNeighboursClasses:
      return network && class_count > 0;
    case kOfCommonNeighbours:
      return network;
    case kOfOverlap:
      return network && sharp;
  }
  return false;
}

TileFeatures::TileFeatures(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round,
                           unsigned kinds)
    : inputs_(inputs),
      rounds_(rounds),
      round_(round),
      own_bits_(kTileNodes * kTileBytes, 0),
      other_bits_(kTileNodes * kTileBytes, 0) {
  dense_ = {.source = inputs.dense, .width = inputs.dense_width};
  z_ = {.source = inputs.latent, .width = inputs.latent_width};
  if (!inputs.words.empty()) words_ = std::make_unique<SparseProduct>(inputs.words);
  for (int kind = 0; kind < 2; ++kind) {
    if ((kinds >> kind & 1) == 0) continue;
    q_[kind] = {.source = inputs.classes[kind], .width = inputs.class_count};
    for (size_t r = 0; r < round; ++r) {
      const PosteriorNetwork& network = rounds[r].network[kind];
      Earlier& earlier = earlier_[kind].emplace_back();
      earlier.latent = {.source = network.latent.data(), .width = inputs.latent_width};
      earlier.classes = {.source = network.classes.data(), .width = inputs.class_count};
      if (!network.kept.empty()) earlier.kept = std::make_unique<SparseProduct>(network.kept);
    }
  }
  for (AlignedFloats* matrix : {&base_, &evidence_, &forth_, &back_, &log_odds_, &probability_}) matrix->Resize(kStrip);
  for (AlignedFloats& matrix : quantities_) matrix.Resize(kStrip);
}

uint32_t TileFeatures::strip_count() const {
  return (std::min(kTileNodes, inputs_.n - tile_.first_row()) + kStripRows - 1) / kStripRows;
}

uint32_t TileFeatures::begin(uint32_t r) const { return tile_.a == tile_.b ? first_ + r + 1 : 0; }
uint32_t TileFeatures::end() const { return std::min(kTileNodes, inputs_.n - tile_.first_column()); }

void TileFeatures::Load(const Tile& tile) {
  tile_ = tile;
  dense_.Load(tile, inputs_.n);
  z_.Load(tile, inputs_.n);
  if (words_) words_->Load(tile.b);
  for (int kind = 0; kind < 2; ++kind) {
    q_[kind].Load(tile, inputs_.n);
    for (Earlier& earlier : earlier_[kind]) {
      earlier.latent.Load(tile, inputs_.n);
      earlier.classes.Load(tile, inputs_.n);
      if (earlier.kept) earlier.kept->Load(tile.b);
    }
  }
  if (inputs_.reports.parameters().sends_bits()) LoadBits();
}

// What the nodes of block a said about those of block b, and the reverse, transposed.
void TileFeatures::LoadBits() {
  const ReportSet& reports = inputs_.reports;
  const uint32_t rows_from = tile_.first_row(), columns_from = tile_.first_column();
  // What the node said about the nodes of a block, from that node on.
  const auto said = [&](NodeIndex node, uint32_t from) {
    std::array<uint64_t, kTileWords> words{};
    if (node < inputs_.n) reports.FillRow(node, from / 64, absl::MakeSpan(words));
    return words;
  };
  for (uint32_t r = 0; r < kTileNodes; ++r) {
    const std::array<uint64_t, kTileWords> words = said(rows_from + r, columns_from);
    for (uint32_t w = 0; w < kTileWords; ++w) WordToBytes(words[w], &own_bits_[r * kTileBytes + 8 * w]);
  }
  uint64_t block[kTileWords][64];
  for (uint32_t w = 0; w < kTileWords; ++w) {  // of the nodes of block b
    for (uint32_t k = 0; k < 64; ++k) {
      const std::array<uint64_t, kTileWords> words = said(columns_from + 64 * w + k, rows_from);
      for (uint32_t v = 0; v < kTileWords; ++v) block[v][k] = words[v];
    }
    for (uint32_t v = 0; v < kTileWords; ++v) {  // of what they said
      Transpose64(block[v]);
      for (uint32_t k = 0; k < 64; ++k) WordToBytes(block[v][k], &other_bits_[(64 * v + k) * kTileBytes + 8 * w]);
    }
  }
}

void TileFeatures::Multiply(const TileOperand& left, const TileOperand& right, AlignedFloats& out) const {
  MultiplyStrip(left, right, first_, out.data());
}

void TileFeatures::Strip(uint32_t strip) {
  first_ = strip * kStripRows;
  const bool bits = inputs_.reports.parameters().sends_bits();
  const float* log_degree = inputs_.log_degree.data() + tile_.first_column();
  for (uint32_t r = 0; r < kStripRows; ++r) {
    const NodeIndex i = node(r);
    float* base = Row(base_, r);
    const float own = inputs_.log_degree[i];
    for (uint32_t j = 0; j < kTileNodes; ++j) base[j] = (own + log_degree[j]) - inputs_.log_total;
    std::fill_n(base, std::min(begin(r), kTileNodes), kNever);
    if (bits) {
      EvidenceRow(&own_bits_[(first_ + r) * kTileBytes], &other_bits_[(first_ + r) * kTileBytes], inputs_.reported[i],
                  inputs_.reported.data() + tile_.first_column(), inputs_.bit_weight, Row(evidence_, r));
      WithoutOwnBitsRow(Row(evidence_, r), inputs_.own_bit, inputs_.reported[i],
                        inputs_.reported.data() + tile_.first_column(), inputs_.influence[i],
                        inputs_.influence.data() + tile_.first_column(), base);
      if (inputs_.some_unobserved) RestoreUnobserved(r);
    }
  }
  AlignedFloats& cosine = quantities_[kOfCosine];
  if (dense_.width > 0) Multiply(dense_, dense_, cosine);
  if (words_) {
    for (uint32_t r = 0; r < kStripRows && node(r) < inputs_.n; ++r) words_->Row(node(r), Row(cosine, r));
  }
  if (z_.width > 0) Multiply(z_, z_, quantities_[kOfLatent]);
}

// Takes back what WithoutOwnBitsRow took for the two halves of an observation that was not made.
void TileFeatures::RestoreUnobserved(uint32_t r) {
  const float* evidence = Row(evidence_, r);
  const float* influence = inputs_.influence.data() + tile_.first_column();
  const float own = inputs_.influence[node(r)];
  float* base = Row(base_, r);
  for (uint32_t j = 0; j < kTileNodes; ++j) base[j] += evidence[j] == 0 ? 0.5f * (own + influence[j]) : 0;
}

void TileFeatures::Features(PosteriorKind kind) {
  if (q_[kind].width > 0) {
    Multiply(q_[kind], q_[kind], quantities_[kOfClasses]);
    for (uint32_t r = 0; r < kStripRows; ++r) {
      LogRow(Row(quantities_[kOfClasses], r), 1.0f, 0.05f, Row(quantities_[kOfLogClasses], r));
    }
  }
  for (size_t earlier = 0; earlier < round_; ++earlier) {
    LogOdds(rounds_[earlier].theta);
    NetworkFeatures(kind, earlier);
  }
}

// From the posterior of the round `earlier`, whose P of the strip's pairs was computed last.
void TileFeatures::NetworkFeatures(PosteriorKind kind, size_t round) {
  Earlier& earlier = earlier_[kind][round];
  const PosteriorNetwork& network = rounds_[round].network[kind];
  const size_t column = tile_.first_column();
  const float* const sums = network.sums.data() + column;
  if (!earlier.kept) {  // where no pair is kept none has common neighbours; what stands here is of another posterior
    std::fill_n(quantities_[kOfCommonNeighbours].data(), kStrip, 0.0f);
    std::fill_n(quantities_[kOfOverlap].data(), kStrip, 0.0f);
  } else {
    for (uint32_t r = 0; r < kStripRows && node(r) < inputs_.n; ++r) {
      earlier.kept->Row(node(r), Row(forth_, r));
      LogRow(Row(forth_, r), 10.0f, 1.0f, Row(quantities_[kOfCommonNeighbours], r));
      if (!inputs_.sharp) continue;
      OverlapRow(Row(forth_, r), Row(probability_, r), network.sums[node(r)], sums, Row(quantities_[kOfOverlap], r));
    }
  }
  const auto of_neighbours = [&](const TileOperand& of_sums, const TileOperand& own, const std::vector<float>& squares,
                                 AlignedFloats& out) {
    Multiply(of_sums, own, forth_);
    Multiply(own, of_sums, back_);
    for (uint32_t r = 0; r < kStripRows; ++r) {
      NeighboursRow(Row(forth_, r), Row(back_, r), Row(probability_, r), squares[node(r)], squares.data() + column,
                    network.sums[node(r)], sums, Row(out, r));
    }
  };
  if (z_.width > 0) of_neighbours(earlier.latent, z_, inputs_.latent_square, quantities_[kOfNeighboursLatent]);
  if (q_[kind].width > 0) {
    of_neighbours(earlier.classes, q_[kind], inputs_.class_square[kind], quantities_[kOfNeighboursClasses]);
  }
}

void TileFeatures::LogOdds(const PairTheta& theta) {
  const std::array<Curve, kPairQuantityCount> curves = CurvesOf(theta);
  const auto constant = static_cast<float>(theta[kConstant]);
  for (uint32_t r = 0; r < kStripRows; ++r) {
    const float* base = Row(base_, r);
    float* log_odds = Row(log_odds_, r);
    for (uint32_t j = 0; j < kTileNodes; ++j) log_odds[j] = base[j] + constant;
    for (int quantity = 0; quantity < kPairQuantityCount; ++quantity) {
      if (!curves[quantity].IsZero()) AddCurveRow(curves[quantity], Row(quantities_[quantity], r), log_odds);
    }
    row_sums_[r] = ProbabilityRow(Row(evidence_, r), log_odds, Row(probability_, r));
  }
}

void ForEachTileOfFeatures(const PairInputs& inputs, const std::vector<PriorRound>& rounds, size_t round,
                           unsigned kinds, int threads, absl::FunctionRef<void(TileFeatures&, int)> visit,
                           const std::function<void(double)>& progress) {
  std::vector<std::unique_ptr<TileFeatures>> tiles(threads);  // each made by its thread, when that has a tile
  ForEachTile(
      inputs.n, threads,
      [&](const Tile& at, int thread) {
        std::unique_ptr<TileFeatures>& tile = tiles[thread];
        if (!tile) tile = std::make_unique<TileFeatures>(inputs, rounds, round, kinds);
        tile->Load(at);
        visit(*tile, thread);
      },
      progress);
}

}  // namespace blink
