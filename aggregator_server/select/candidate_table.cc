#include "aggregator_server/select/candidate_table.h"

namespace blink {
namespace {

// In the order of a search (experiments/choices.md): the bound without links, then pairs whose variants and models all
// differ, the strongest first, then the others.
constexpr CandidatePair kBetaPairs[] = {
    {Prior::kBeta, Model::kMlp, Variant::kHard},   {Prior::kBeta, Model::kGraphSage, Variant::kSoft},
    {Prior::kBeta, Model::kGcn, Variant::kHybrid}, {Prior::kBeta, Model::kGat, Variant::kHard},
    {Prior::kBeta, Model::kGcn, Variant::kSoft},   {Prior::kBeta, Model::kGraphSage, Variant::kHybrid},
    {Prior::kBeta, Model::kGcn, Variant::kHard},   {Prior::kBeta, Model::kGraphSage, Variant::kHard},
    {Prior::kBeta, Model::kGat, Variant::kHybrid}, {Prior::kBeta, Model::kGat, Variant::kSoft}};

// Likewise: what is there already or costs next to nothing, the strong ones of this prior, then the pairs of the beta
// prior among the others of this one. Without the beta prior's GAT over all pairs, which costs as much as half of the
// others together.
constexpr CandidatePair kAttributedPairs[] = {{Prior::kBeta, Model::kMlp, Variant::kHard},
                                              {Prior::kAttributed, Model::kStacked, Variant::kSoft},
                                              {Prior::kAttributed, Model::kFeatureClassifier, Variant::kSoft},
                                              {Prior::kBeta, Model::kStacked, Variant::kSoft},
                                              {Prior::kAttributed, Model::kGcn, Variant::kSoft},
                                              {Prior::kAttributed, Model::kGraphSage, Variant::kSoft},
                                              {Prior::kBeta, Model::kGraphSage, Variant::kSoft},
                                              {Prior::kBeta, Model::kGcn, Variant::kHybrid},
                                              {Prior::kAttributed, Model::kGcn, Variant::kHybrid},
                                              {Prior::kAttributed, Model::kGraphSage, Variant::kHybrid},
                                              {Prior::kBeta, Model::kGat, Variant::kHard},
                                              {Prior::kBeta, Model::kGcn, Variant::kSoft},
                                              {Prior::kBeta, Model::kGraphSage, Variant::kHybrid},
                                              {Prior::kBeta, Model::kGcn, Variant::kHard},
                                              {Prior::kBeta, Model::kGraphSage, Variant::kHard},
                                              {Prior::kAttributed, Model::kGcn, Variant::kHard},
                                              {Prior::kAttributed, Model::kGraphSage, Variant::kHard},
                                              {Prior::kAttributed, Model::kGat, Variant::kHybrid},
                                              {Prior::kAttributed, Model::kGat, Variant::kSoft},
                                              {Prior::kBeta, Model::kGat, Variant::kHybrid},
                                              {Prior::kAttributed, Model::kGat, Variant::kHard}};

// The published learning rates and weight decays, but for their dropouts, which hardly differ, a strong one too. In
// the order in which they were the best so far on citation graphs; the second and the third differ from the first in
// all.
constexpr CandidateSetting kBetaSettings[] = {
    {0.01, 1e-4, 0.1}, {0.1, 1e-3, 0.1},   {0.01, 1e-4, 0.5}, {0.01, 1e-3, 0.1},  {0.1, 1e-4, 0.1},  {0.01, 1e-4, 0.01},
    {0.1, 1e-3, 0.01}, {0.01, 1e-3, 0.01}, {0.1, 1e-4, 0.5},  {0.01, 1e-5, 0.5},  {0.1, 1e-4, 0.01}, {0.1, 1e-3, 0.5},
    {0.01, 1e-3, 0.5}, {0.01, 1e-5, 0.1},  {0.1, 1e-5, 0.1},  {0.01, 1e-5, 0.01}, {0.1, 1e-5, 0.01}, {0.1, 1e-5, 0.5}};
// Wide and well regularised, the published one, and what lies around them.
constexpr CandidateSetting kAttributedSettings[] = {{0.01, 5e-4, 0.5, 64}, {0.01, 1e-4, 0.1, 16},
                                                    {0.01, 2e-3, 0.5, 64}, {0.01, 1e-4, 0.5, 64},
                                                    {0.01, 5e-4, 0.5, 16}, {0.01, 5e-4, 0.8, 64}};

// Where few nodes have a label there are few steps to learn from, and the features are small numbers: a large rate.
constexpr CandidateSetting kBetaFewSettings[] = {
    {0.1, 1e-4, 0.1},   {0.1, 1e-3, 0.1},  {0.1, 1e-4, 0.5},  {0.01, 1e-4, 0.1}, {0.1, 1e-3, 0.5},   {0.1, 1e-5, 0.5},
    {0.1, 1e-5, 0.1},   {0.01, 1e-4, 0.5}, {0.01, 1e-3, 0.1}, {0.1, 1e-3, 0.01}, {0.1, 1e-4, 0.01},  {0.01, 1e-4, 0.01},
    {0.01, 1e-3, 0.01}, {0.01, 1e-5, 0.5}, {0.01, 1e-3, 0.5}, {0.01, 1e-5, 0.1}, {0.01, 1e-5, 0.01}, {0.1, 1e-5, 0.01}};
constexpr CandidateSetting kAttributedFewSettings[] = {
    {0.1, 1e-3, 0.1, 16},  {0.01, 5e-4, 0.5, 64}, {0.1, 1e-4, 0.5, 16},  {0.01, 2e-3, 0.5, 64},
    {0.01, 1e-4, 0.1, 16}, {0.01, 1e-4, 0.5, 64}, {0.01, 5e-4, 0.5, 16}, {0.01, 5e-4, 0.8, 64}};

}  // namespace

absl::Span<const CandidatePair> CandidatePairs(Prior prior) {
  if (prior == Prior::kAttributed) return kAttributedPairs;
  return kBetaPairs;
}

absl::Span<const CandidateSetting> CandidateSettings(Prior prior, bool few_labels) {
  if (few_labels && prior == Prior::kAttributed) return kAttributedFewSettings;
  if (few_labels) return kBetaFewSettings;
  if (prior == Prior::kAttributed) return kAttributedSettings;
  return kBetaSettings;
}

}  // namespace blink
