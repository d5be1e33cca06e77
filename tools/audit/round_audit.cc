#include "tools/audit/round_audit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"
#include "common/privacy/own_pairs.h"
#include "tools/audit/counts.h"
#include "tools/audit/families.h"
#include "tools/audit/statistics.h"

namespace blink {
namespace {

constexpr size_t kComparedReportsMax = 16384;
constexpr double kComparedWords = 1e9;  // of all pairs of reports together
constexpr double kMuchMore = 0.98;      // bits that spend less than this share of their budget get a note
constexpr double kMuchMoreNoise = 0.9;  // ... a degree

// The epsilon of a bit that is kept with this probability.
double EpsilonOf(double kept) { return std::log(kept / (1 - kept)); }

bool IsSet(absl::Span<const uint64_t> words, uint32_t bit) { return ((words[bit / 64] >> (bit % 64)) & 1) == 1; }

// The first `count` bits of a row, which has a bit for each node, in the order of the node's own report.
std::vector<uint64_t> BitsInOrder(Mechanism mechanism, NodeIndex node, absl::Span<const uint64_t> row, uint32_t count) {
  const size_t words = (size_t{count} + 63) / 64;
  if (mechanism == Mechanism::kBothEnds) return {row.begin(), row.begin() + static_cast<ptrdiff_t>(words)};
  std::vector<uint64_t> bits(words);
  for (uint32_t place = 0; place < count; ++place) {
    bits[place / 64] |= uint64_t{IsSet(row, OwnPairAt(node, place))} << (place % 64);
  }
  return bits;
}

// What is counted of the bits of all audited reports.
struct BitCounts {
  uint64_t bits = 0, kept = 0, ones = 0, kept_ones = 0;
  double least_rate = std::numeric_limits<double>::infinity();  // of flips of a node
  uint64_t flips = 0;                                           // ... of that node
  NodeIndex node = 0;                                           // that node
  std::vector<uint64_t> flips_at;                               // [64 * words] by position
};

class RoundJudge {
 public:
  RoundJudge(const ReportSet& reports, const KnownLists& lists, RoundAudit& audit)
      : reports_(reports), lists_(lists), audit_(audit), parameters_(reports.parameters()), n_(reports.node_count()) {
    for (NodeIndex node = 0; node < n_; ++node) {
      if (!lists_.Has(node)) continue;
      if (reports_.reported(node)) {
        nodes_.push_back(node);
      } else {
        ++audit_.without_report;
      }
    }
    audit_.audited = static_cast<uint32_t>(nodes_.size());
  }

  bool empty() const { return nodes_.empty(); }

  void JudgeAll() {
    if (parameters_.sends_bits()) JudgeBits();
    if (parameters_.sends_degree()) JudgeDegrees();
    if (parameters_.sends_bits() && parameters_.sends_degree()) {
      AddBound("a report: bits and degree", bits_lower_ + degree_lower_, parameters_.epsilon());
    }
  }

 private:
  void AddBound(std::string of, double lower, double promised) {
    audit_.bounds.push_back({std::move(of), std::max(lower, 0.0), promised, lower > promised});
  }

  // Whether the node's report is about the entry.
  bool IsReported(NodeIndex node, NodeIndex entry) const {
    return node != entry && (parameters_.mechanism() == Mechanism::kBothEnds || OwnsPair(node, entry));
  }
  // The links of the node that its report is about.
  std::vector<NodeIndex> LinksOf(NodeIndex node) const {
    std::vector<NodeIndex> links = lists_.Of(node);
    std::erase_if(links, [&](NodeIndex j) { return !IsReported(node, j); });
    return links;
  }

  std::vector<uint64_t> FlipsOf(NodeIndex node, const std::vector<NodeIndex>& links) const {
    std::vector<uint64_t> flips(reports_.words_per_row());
    reports_.FillRow(node, 0, absl::MakeSpan(flips));
    for (const NodeIndex j : links) flips[j / 64] ^= uint64_t{1} << (j % 64);
    return flips;
  }

  BitCounts CountBits() {
    BitCounts counts;
    LaneCounter lanes(reports_.words_per_row());
    const double pairs = std::min<double>(nodes_.size(), kComparedReportsMax);
    const uint32_t row = parameters_.mechanism() == Mechanism::kBothEnds ? n_ : (n_ - 1) / 2;
    compared_words_ =
        std::min<size_t>((row + 63) / 64, static_cast<size_t>(kComparedWords / std::max(1.0, pairs * pairs / 2)) + 1);
    compared_bits_ = std::min<uint32_t>(row, static_cast<uint32_t>(64 * compared_words_));
    for (const NodeIndex node : nodes_) {
      const std::vector<NodeIndex> links = LinksOf(node);
      const std::vector<uint64_t> flips = FlipsOf(node, links);
      const uint32_t entries = parameters_.pairs_of_report(node);
      lanes.Add(flips);
      uint64_t flipped = 0, flipped_ones = 0;
      for (const uint64_t word : flips) flipped += std::popcount(word);
      for (const NodeIndex j : links) flipped_ones += (flips[j / 64] >> (j % 64)) & 1;
      counts.bits += entries;
      counts.kept += entries - flipped;
      counts.ones += links.size();
      counts.kept_ones += links.size() - flipped_ones;
      const double rate = static_cast<double>(flipped) / std::max(1u, entries);
      if (rate < counts.least_rate) {
        counts.least_rate = rate;
        counts.flips = flipped;
        counts.node = node;
      }
      // The probability that honest noise flips so many bits of a report, or more.
      const double tail = BinomialAtLeast(flipped, entries, parameters_.flip_probability());
      if (tail < kFalseAlarmMax / n_) ++flipping_too_much_;
      if (compared_.size() < kComparedReportsMax) KeepForComparison(node, flips);
    }
    counts.flips_at = lanes.Counts();
    return counts;
  }

  // The audited reports that are about entry j.
  uint64_t TrialsAt(NodeIndex j) const {
    if (parameters_.mechanism() == Mechanism::kBothEnds)
      return nodes_.size() - (lists_.Has(j) && reports_.reported(j) ? 1 : 0);
    return static_cast<uint64_t>(
        std::count_if(nodes_.begin(), nodes_.end(), [&](NodeIndex node) { return IsReported(node, j); }));
  }

  void JudgeBits() {
    const BitCounts counts = CountBits();
    const double promised = parameters_.epsilon_list();
    audit_.bits = counts.bits;
    audit_.ones = counts.ones;
    bits_lower_ = std::max(0.0, EpsilonOf(LowerLimit(counts.kept, counts.bits, kFamilyAlpha)));
    AddBound("an entry, over all bits", bits_lower_, promised);
    AddBound("an entry that is 1", EpsilonOf(LowerLimit(counts.kept_ones, counts.ones, kFamilyAlpha)), promised);
    const uint64_t zeros = counts.bits - counts.ones, kept_zeros = counts.kept - counts.kept_ones;
    AddBound("an entry that is 0", EpsilonOf(LowerLimit(kept_zeros, zeros, kFamilyAlpha)), promised);
    RatioBound ratio(2);
    if (counts.ones > 0 && zeros > 0) {
      ratio.Add(counts.kept_ones, counts.ones, zeros - kept_zeros, zeros);
      ratio.Add(kept_zeros, zeros, counts.ones - counts.kept_ones, counts.ones);
    }
    AddBound("an entry, 1 against 0", ratio.lower(), promised);

    const double alpha_node = kFamilyAlpha / static_cast<double>(nodes_.size());
    AddBound(absl::StrCat("the node that flips least: ", counts.node),
             EpsilonOf(LowerLimit(parameters_.pairs_of_report(counts.node) - counts.flips,
                                  parameters_.pairs_of_report(counts.node), alpha_node)),
             promised);
    double worst = -std::numeric_limits<double>::infinity();
    NodeIndex position = 0;
    const double alpha_position = kFamilyAlpha / n_;
    double least = std::numeric_limits<double>::infinity();
    uint64_t most_trials = 0;
    for (NodeIndex j = 0; j < n_; ++j) {
      const uint64_t flips = counts.flips_at[j], trials = TrialsAt(j);
      if (trials == 0) continue;
      const double rate = static_cast<double>(flips) / static_cast<double>(trials);
      if (rate > least || (rate == least && trials <= most_trials)) continue;
      least = rate;
      most_trials = trials;
      const double lower = EpsilonOf(LowerLimit(trials - flips, trials, alpha_position));
      if (lower <= worst) continue;
      worst = lower;
      position = j;
    }
    AddBound(absl::StrCat("the bit that is flipped least: ", position), worst, promised);
    CheckSharedFlips();
    ComputeBitPower(counts.bits);

    if (flipping_too_much_ > 0) {
      audit_.notes.push_back(absl::StrFormat(
          "%d of %d reports differ from their lists more than noise does: their nodes reported on other lists, or have "
          "more noise than promised",
          flipping_too_much_, nodes_.size()));
    }
    const double most = EpsilonOf(UpperLimit(counts.kept, counts.bits, kFamilyAlpha));
    if (most < kMuchMore * parameters_.bit_log_odds()) {
      audit_.notes.push_back(absl::StrFormat(
          "the bits spend %.4g at most, and %.4g is promised: accuracy is lost, or these are not the lists that were "
          "reported (another epoch's, perhaps)",
          std::max(most, 0.0), promised));
    }
  }

  // The beginning of what a report seems to flip, in the order of its own bits: noise that is used again is at the same
  // places. Of one end the own pairs, of which every node has w or w + 1; the last of w + 1 is left out.
  void KeepForComparison(NodeIndex node, const std::vector<uint64_t>& flips) {
    compared_.push_back(node);
    const std::vector<uint64_t> kept = BitsInOrder(parameters_.mechanism(), node, flips, compared_bits_);
    compared_flips_.insert(compared_flips_.end(), kept.begin(), kept.end());
  }
  bool IsFlipped(size_t compared, NodeIndex bit) const {
    return bit < compared_bits_ && ((compared_flips_[compared * compared_words_ + bit / 64] >> (bit % 64)) & 1) == 1;
  }

  // Two reports with the same noise, or noise that was used again in part, seem to flip the same bits. If the noise of
  // both is independent, what they seem to flip differs at a bit with probability 2 p' (1 - p') or more, whatever their
  // lists are: exactly that where both lists are right or both are wrong, and one minus that where one of them is.
  // So the number of differences is at least Binomial(bits, 2 p' (1 - p')), and stale lists accuse nobody.
  void CheckSharedFlips() {
    if (compared_.size() < 2) return;
    const double p = parameters_.flip_probability(), differ = 2 * p * (1 - p);
    AuditCheck check{.claim = "no two reports share their flips",
                     .tests = uint64_t{compared_.size()} * (compared_.size() - 1) / 2,
                     .smallest_p = 2};
    double most = -std::numeric_limits<double>::infinity();
    for (size_t a = 0; a < compared_.size(); ++a) {
      const uint64_t* const of_a = compared_flips_.data() + a * compared_words_;
      for (size_t b = a + 1; b < compared_.size(); ++b) {
        const uint64_t* const of_b = compared_flips_.data() + b * compared_words_;
        uint64_t differences = 0;
        for (size_t w = 0; w < compared_words_; ++w) differences += std::popcount(of_a[w] ^ of_b[w]);
        uint64_t bits = compared_bits_;
        if (parameters_.mechanism() == Mechanism::kBothEnds) {  // nobody flips the bit of a node itself
          bits -= (compared_[a] < compared_bits_ ? 1 : 0) + (compared_[b] < compared_bits_ ? 1 : 0);
          differences -= (IsFlipped(a, compared_[b]) ? 1 : 0) + (IsFlipped(b, compared_[a]) ? 1 : 0);
        }
        const double lacking = differ * static_cast<double>(bits) - static_cast<double>(differences);
        if (lacking <= most) continue;
        most = lacking;
        check.smallest_p = BinomialAtMost(differences, bits, differ);
        check.worst = absl::StrFormat(
            "reports of nodes %d and %d: %d of %d bits seem flipped in one alone, "
            "%.6g expected",
            compared_[a], compared_[b], differences, bits, differ * static_cast<double>(bits));
      }
    }
    check.threshold = kFamilyAlpha / static_cast<double>(check.tests);
    check.violated = check.smallest_p < check.threshold;
    audit_.checks.push_back(std::move(check));
  }

  void ComputeBitPower(uint64_t bits) {
    const double p = parameters_.flip_probability();
    const double change = NoticedDeviations(kFamilyAlpha) * std::sqrt((1 - p) / (p * static_cast<double>(bits)));
    if (change < 1) audit_.power.flip_rate_change = change;
  }

  // Deviations of a shift that a one-sided test at `alpha` notices with probability 0.99.
  static double NoticedDeviations(double alpha) { return TwoSidedDeviations(2 * alpha) + 2.33; }

  // For any noise whose probabilities differ by a factor of at most e^epsilon from one value to the next,
  // Pr[Y >= t + k] >= e^(-k epsilon) Pr[Y >= t]. So among the values from t on, those from t + k on are at least
  // Binomial(.., e^(-k epsilon)). The same holds of -Y, of |Y| from t = 1 on, and of |Y| >= k among all. And
  // Pr[Y = 0] <= tanh(epsilon / 2).
  void JudgeDegrees() {
    const double epsilon = parameters_.epsilon_degree();
    std::vector<int64_t> noise;
    for (const NodeIndex node : nodes_) {
      const uint64_t degree = LinksOf(node).size();
      noise.push_back(static_cast<int64_t>(static_cast<uint64_t>(*reports_.noisy_degree(node)) - degree));
    }
    std::vector<int64_t> steps;
    for (const double share : {0.25, 0.5, 1.0, 1.5, 2.0, 3.0}) {
      const double step = std::ceil(share / epsilon);
      if (step < 1e15) steps.push_back(static_cast<int64_t>(step));
    }
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    const auto count = [&](int side, int64_t from) {  // side 0: |Y|
      return static_cast<uint64_t>(std::count_if(noise.begin(), noise.end(), [&](int64_t y) {
        return (side >= 0 && y >= from) || (side <= 0 && y <= -from);
      }));
    };
    const double alpha = kFamilyAlpha / (6.0 * static_cast<double>(steps.size()) + 1);
    for (const int side : {-1, 0, 1}) {
      for (const int64_t from : {0, 1}) {
        const uint64_t all = count(side, from);
        for (const int64_t step : steps) {
          const uint64_t beyond = count(side, from + step);
          const double lower = -std::log(UpperLimit(beyond, all, alpha)) / static_cast<double>(step);
          degree_lower_ = std::max(degree_lower_, lower);
          if (all == 0 || side != 0 || from != 1) continue;
          const double r = std::exp(-epsilon * static_cast<double>(step));
          const double change = NoticedDeviations(alpha) * std::sqrt((1 - r) / (r * static_cast<double>(all))) /
                                (epsilon * static_cast<double>(step));
          if (change < audit_.power.noise_scale_change.value_or(1)) audit_.power.noise_scale_change = change;
          const double most = -std::log(LowerLimit(beyond, all, alpha)) / static_cast<double>(step);
          degree_upper_ = std::min(degree_upper_, most);
        }
      }
    }
    const auto zeros = static_cast<uint64_t>(std::count(noise.begin(), noise.end(), 0));
    degree_lower_ = std::max(degree_lower_, 2 * std::atanh(LowerLimit(zeros, noise.size(), alpha)));
    AddBound("a degree", degree_lower_, epsilon);
    if (degree_upper_ < kMuchMoreNoise * epsilon) {
      audit_.notes.push_back(absl::StrFormat(
          "the degrees spend %.4g at most, and %.4g is promised: accuracy is lost, or these are not the lists that "
          "were reported",
          degree_upper_, epsilon));
    }
  }

  const ReportSet& reports_;
  const KnownLists& lists_;
  RoundAudit& audit_;
  const PrivacyParameters& parameters_;
  const uint32_t n_;
  std::vector<NodeIndex> nodes_;  // audited
  size_t compared_words_ = 0;
  uint32_t compared_bits_ = 0;
  std::vector<NodeIndex> compared_;       // whose reports are compared in pairs
  std::vector<uint64_t> compared_flips_;  // [compared_, compared_words_]
  uint64_t flipping_too_much_ = 0;        // audited nodes
  double bits_lower_ = 0, degree_lower_ = 0;
  double degree_upper_ = std::numeric_limits<double>::infinity();
};

void JudgeCanaries(const ReportSet& reports, const Canaries& canaries, RoundAudit& audit) {
  if (!reports.parameters().sends_bits()) {
    audit.notes.push_back("the reports have no bits (degree share 1), so the canaries' coins cannot be guessed");
    return;
  }
  // Each coin is guessed from its own bit, and from the one before and after it.
  std::array<uint64_t, 3> equal{};
  for (const NodeRange& range : canaries.nodes) {
    for (uint64_t id = range.first; id <= range.last; ++id) {
      const auto node = static_cast<NodeIndex>(id);
      if (!reports.reported(node)) continue;
      ++audit.canaries;
      const uint32_t size = reports.parameters().row_bits(node);
      std::vector<uint64_t> row(reports.words_per_row());
      reports.FillRow(node, 0, absl::MakeSpan(row));
      const std::vector<uint64_t> bits = BitsInOrder(reports.parameters().mechanism(), node, row, size);
      const std::vector<bool> coins = canaries.CoinsOf(node);
      const bool both_ends = reports.parameters().mechanism() == Mechanism::kBothEnds;
      for (uint32_t t = 0; t < canaries.entries; ++t) {
        const NodeIndex entry = canaries.EntryOf(node, t);
        if (!both_ends && !OwnsPair(node, entry)) continue;
        ++audit.coins;
        const uint32_t place = both_ends ? entry : OwnPairPlace(node, entry);
        equal[0] += IsSet(bits, place) == coins[t] ? 1 : 0;
        equal[1] += (place > 0 && IsSet(bits, place - 1)) == coins[t] ? 1 : 0;
        equal[2] += (place + 1 < size && IsSet(bits, place + 1)) == coins[t] ? 1 : 0;
      }
    }
  }
  audit.coins_guessed = equal[0];
  if (audit.canaries == 0) audit.notes.push_back("no canary node has reported, so no coin is guessed");
  double lower = 0;
  for (const uint64_t right : equal) {  // or that it is the other side
    for (const uint64_t guessed : {right, audit.coins - right})
      lower = std::max(lower, EpsilonOf(LowerLimit(guessed, audit.coins, kFamilyAlpha / 6)));
  }
  const double promised = reports.parameters().epsilon();
  audit.bounds.push_back({"a coin in a canary's list", std::max(lower, 0.0), promised, lower > promised});
}

}  // namespace

absl::Status KnownLists::Add(NodeIndex node, absl::Span<const NodeIndex> list) {
  if (known_.Test(node)) {
    if (absl::MakeConstSpan(lists_[node]) == list) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node, " has two different lists among those given: give the one that it reported on"));
  }
  known_.Set(node);
  lists_[node].assign(list.begin(), list.end());
  return absl::OkStatus();
}

bool RoundAudit::passed() const {
  return std::none_of(bounds.begin(), bounds.end(), [](const EpsilonBound& bound) { return bound.violated; }) &&
         std::none_of(checks.begin(), checks.end(), [](const AuditCheck& check) { return check.violated; });
}

double RoundAuditBytes(const PrivacyParameters& parameters, uint64_t entries) {
  constexpr double kPrograms = 3e7, kOfNode = 250;
  const double n = parameters.node_count();
  return kPrograms + ExpectedMemoryBytes(parameters, /*on_disk=*/false) + n * kOfNode +
         8.0 * static_cast<double>(entries) + std::min(n * n / 8, 1.5e8);  // what is compared of pairs
}

absl::StatusOr<RoundAudit> AuditRound(const ReportSet& reports, KnownLists lists, const Canaries* canaries) {
  const uint32_t n = reports.node_count();
  if (lists.node_count() != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("the lists are those of ", lists.node_count(), " nodes, and the round has ", n));
  }
  if (canaries != nullptr) {
    if (canaries->node_count != n) {
      return absl::InvalidArgumentError(
          absl::StrCat("the canaries are those of ", canaries->node_count, " nodes, and the round has ", n));
    }
    for (const NodeRange& range : canaries->nodes) {
      for (uint64_t id = range.first; id <= range.last; ++id) {
        const auto node = static_cast<NodeIndex>(id);
        BLINK_RETURN_IF_ERROR(lists.Add(node, canaries->ListOf(node)));
      }
    }
  }
  RoundAudit audit{.parameters = reports.parameters(), .reports = reports.report_count()};
  RoundJudge judge(reports, lists, audit);
  if (judge.empty() && lists.count() == 0)
    return absl::InvalidArgumentError("no list is known of the nodes that are named: look at the ranges of the kits");
  if (judge.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("none of the ", lists.count(),
                                                   " nodes whose list is known has a report in this round: give the "
                                                   "lists of nodes that reported"));
  }
  judge.JudgeAll();
  if (canaries != nullptr) JudgeCanaries(reports, *canaries, audit);
  return audit;
}

}  // namespace blink
