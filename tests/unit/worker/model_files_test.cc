// The files of a result as users of PyTorch read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "aggregator_server/result/link_files.h"
#include "aggregator_server/result/result_folder.h"
#include "aggregator_server/worker/analyse.h"
#include "common/base/durable_file.h"
#include "common/graph/numpy_file.h"
#include "tests/testing/places.h"
#include "tests/unit/worker/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class ModelFiles : public testing::SmallRound {
 protected:
  // The result folder of one training, with the logits beside it.
  std::string Result(const v1::TrainingSpec& spec, const std::string& name) {
    const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
    const auto analysis = Analyse(round.reports, data_.attributes, spec, {});
    EXPECT_TRUE(analysis.ok()) << name << ": " << analysis.status();
    if (!analysis.ok()) return "";
    const std::string folder = absl::StrCat(folder_, "/", name);
    EXPECT_TRUE(WriteResultFolder(folder, parameters_, 180, *analysis, data_.attributes, ReportOrigin::kRound).ok());
    const std::vector<float>& logits = analysis->training.logits;
    EXPECT_TRUE(WriteFileAtomically(folder + "/logits.f32",
                                    {reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float)})
                    .ok());
    return folder;
  }
};

TEST_F(ModelFiles, GiveTheSameLogitsInPython) {
  std::string folders;
  for (const v1::Model model : {v1::MODEL_GCN, v1::MODEL_GRAPHSAGE, v1::MODEL_GAT, v1::MODEL_MLP}) {
    for (const v1::Variant variant : {v1::VARIANT_HARD, v1::VARIANT_HYBRID}) {
      if (model == v1::MODEL_MLP && variant != v1::VARIANT_HARD) continue;
      v1::TrainingSpec spec = testing::SmallSpec();
      spec.set_model(model);
      spec.set_variant(variant);
      if (variant == v1::VARIANT_HYBRID) spec.set_layers(3);
      absl::StrAppend(
          &folders, " ",
          Result(spec, absl::StrCat("model", static_cast<int>(model), "_variant", static_cast<int>(variant))));
    }
  }
  ASSERT_FALSE(HasFailure());
  const int ended = std::system(
      absl::StrCat(testing::InSources("tests/testing/python_with_torch"), " ", testing::TorchParent(), " ",
                   testing::InSources("tests/unit/worker/model_files.py"), " ", folder_, "/attributes", folders)
          .c_str());
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 77) GTEST_SKIP() << "python3 cannot import torch here";
  EXPECT_EQ(ended, 0);
}

// Soft's weights with few ones, as a table.
LinkWeights SoftWeights() {
  LinkWeights weights;
  weights.node_count = 4;
  weights.weighted = true;
  weights.class_count = 2;
  weights.class_of_node = {0, 0, 1, 1};
  weights.background = {0.25f, 0.0005f, 0.0005f, 0.125f};
  weights.links = CsrGraph::FromLinks(4, {{0, 2}}).value();
  weights.values = {0.5f, 0.5f};
  return weights;
}

TEST_F(ModelFiles, LinksOfHybridHaveTheirWeights) {
  LinkWeights weights = LinkWeights::Unweighted(CsrGraph::FromLinks(3, {{0, 1}, {1, 2}}).value());
  EXPECT_EQ(LinksCsv(weights, weights.links), "source,target\n0,1\n1,2\n");
  weights.weighted = true;
  weights.values = {0.75f, 0.75f, 0.1f, 0.1f};
  EXPECT_EQ(LinksCsv(weights, weights.links), "source,target,weight\n0,1,0.75\n1,2,0.100000001\n");
  const std::string path = folder_ + "/links.npz";
  ASSERT_TRUE(WriteLinksNpz(weights, 2, path).ok());
  const FeatureMatrix matrix = ReadSparseNpz(path).value();
  EXPECT_EQ(matrix.rows, 3u);
  EXPECT_EQ(matrix.cols, 3u);
  EXPECT_EQ(matrix.row_offsets, (std::vector<int64_t>{0, 1, 3, 4}));
  EXPECT_EQ(matrix.columns, (std::vector<int32_t>{1, 0, 2, 1}));
  EXPECT_EQ(matrix.values, weights.values);
}

TEST_F(ModelFiles, LinksOfSoftAreThoseAboveTheThresholdAndABackground) {
  const LinkWeights weights = SoftWeights();
  const CsrGraph hard = CsrGraph::FromLinks(4, {{0, 2}}).value();
  EXPECT_EQ(LinksCsv(weights, hard), "source,target,weight\n0,2,0.500500023\n");
  const std::string path = folder_ + "/links.npz";
  ASSERT_TRUE(WriteLinksNpz(weights, 3, path).ok());
  FeatureMatrix matrix = ReadSparseNpz(path).value();
  EXPECT_EQ(matrix.row_offsets, (std::vector<int64_t>{0, 2, 3, 5, 6}));
  EXPECT_EQ(matrix.columns, (std::vector<int32_t>{1, 2, 0, 0, 3, 2}));
  EXPECT_EQ(matrix.values, (std::vector<float>{0.25f, 0.5005f, 0.25f, 0.5005f, 0.125f, 0.125f}));
  const std::string bytes = ReadFile(path, 1 << 20).value();
  for (const char* member : {"threshold.npy", "class_of_node.npy", "background.npy"})
    EXPECT_THAT(bytes, HasSubstr(member));
}

TEST_F(ModelFiles, TooManyPairsOfSoftRaiseTheThreshold) {
  const std::string path = folder_ + "/links.npz";
  ASSERT_TRUE(WriteLinksNpz(SoftWeights(), 2, path, /*soft_pairs_max=*/4).ok());
  EXPECT_EQ(ReadSparseNpz(path)->values, (std::vector<float>{0.25f, 0.5005f, 0.25f, 0.5005f}));
  ASSERT_TRUE(WriteLinksNpz(SoftWeights(), 2, path, /*soft_pairs_max=*/3).ok());
  EXPECT_EQ(ReadSparseNpz(path)->values, (std::vector<float>{0.5005f, 0.5005f}));
}

// Of the attributed prior: a list, of the pairs that are not small.
TEST_F(ModelFiles, LinksOfASoftThatIsAListAreLikewiseThoseAboveOneHalf) {
  LinkWeights weights = LinkWeights::Unweighted(CsrGraph::FromLinks(4, {{0, 1}, {1, 2}, {2, 3}}).value());
  weights.weighted = true;
  weights.values = {0.75f, 0.75f, 0.03125f, 0.03125f, 0.25f, 0.25f};
  const CsrGraph hard = CsrGraph::FromLinks(4, {{0, 1}}).value();
  EXPECT_EQ(LinksCsv(weights, hard, /*soft=*/true), "source,target,weight\n0,1,0.75\n");
  const std::string path = folder_ + "/links.npz";
  ASSERT_TRUE(WriteLinksNpz(weights, 1, path, kSoftPairsMax, /*soft_from=*/0.02f).ok());
  EXPECT_EQ(ReadSparseNpz(path)->values, weights.values);
  EXPECT_THAT(ReadFile(path, 1 << 20).value(), HasSubstr("threshold.npy"));
  ASSERT_TRUE(WriteLinksNpz(weights, 1, path, /*soft_pairs_max=*/4, /*soft_from=*/0.02f).ok());
  EXPECT_EQ(ReadSparseNpz(path)->values, (std::vector<float>{0.75f, 0.75f, 0.25f, 0.25f}));
}

TEST_F(ModelFiles, RefuseAFolderThatCannotBeMade) {
  EXPECT_FALSE(WriteLinksNpz(SoftWeights(), 1, folder_ + "/nowhere/links.npz").ok());
}

}  // namespace
}  // namespace blink
