// Whether the reports of a round can be those of honest nodes. Every report is tested by itself (report_tests.h) and
// against the other reports.
//
//   ReportSet ->  ones, degree  ->  suspects leave the witnesses  ->  pairs with witnesses: unconfirmed, omitted
//                                        ^______ the worst leave, again ______|          |
//                                                                                        '-> every report once more,
//                                                                                        against the witnesses
//
// Pairs. Let r = p (1 - p). Lists are symmetric, so the bits that i and j sent about their link are two independent
// noisy copies of the same value. Whatever that value is, they differ in a given direction with probability r. The m
// pairs of i with witnesses are independent. So for every symmetric graph, exactly,
//
//   unconfirmed  U_i = #{j: i sent 1, j sent 0} = Binomial(m, r)   too many: i claims links that it does not have
//   omitted      O_i = #{j: i sent 0, j sent 1} = Binomial(m, r)   too many: i hides links that it has
//
// Too few of either means that the list was sent without noise.
//
// Why these two. A lie about x links moves one of them by x ((1-p)^2 - r). An alternative is the difference of row and
// column sum, U - O: it has mean 0 and variance 2 m r, and the lie moves it by x (1 - 2 p). The two counts have more
// power where 2 (1-p)^2 > 1 - r, which is epsilon_list > 0.48; for large epsilon they see lies that are smaller by a
// factor of 1.4. Another alternative is the number of all disagreements, Binomial(m, 2 r): it always has less power.
//
// Witnesses. A liar spoils the statistics of those it lies about: a node that claims a link to everybody adds one
// omission to each of them. So suspects cease to be witnesses, until no witness is suspect. The first suspects are
// those of the single-report tests. Then, pass by pass, come the nodes beyond the threshold whose deviation is at least
// half of the worst one's. In the end everybody, suspects too, is tested once against the remaining witnesses. That
// last test alone decides.
// - When all nodes are honest, somebody is flagged only if the first pass found somebody: the stated probability holds.
// - When the liars have left, an honest node's statistics are of honest pairs again.
// - A disagreement between two suspects blames neither.
//
// Lists that are not symmetric (a directed data set) disagree by themselves, and their tests of pairs mean nothing.
// Then nobody is flagged by pairs, and the result says so once (`symmetric` is false, with a `note`). Lists count as
// not symmetric in two cases:
// - More than a tenth of the reports would have to leave.
// - The remaining witnesses disagree among each other too often for Binomial(pairs, 2 r), and at least half as often as
//   those that left explain.
//
// Under Mechanism::kOneEnd one end alone reports a pair. There is nothing to compare it with, so the tests of pairs are
// not made, and `note` says so.
//
// What no such test can see:
// - lies within the noise (detection_power.h says how many links that is);
// - a node that drew its noise honestly for a list that is wrong in few places;
// - a link between two nodes that both claim it;
// - which of two nodes to believe when one pair disagrees.
// Many nodes that together claim a link to one honest node make it look as if that node hid them: the majority is
// believed.
//
// Everything here is computed from reports that were received. That is post-processing, at no cost to privacy. No node
// learns of it: a liar that saw its flags would tune its lie until they ended.
#ifndef BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_PLAUSIBILITY_H_
#define BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_PLAUSIBILITY_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/plausibility/report_tests.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// z-scores of one report; NaN: not tested (no report, no bits, no degree, no witness).
struct ReportScores {
  double ones = std::numeric_limits<double>::quiet_NaN();
  double degree = std::numeric_limits<double>::quiet_NaN();
  double unconfirmed = std::numeric_limits<double>::quiet_NaN();
  double omitted = std::numeric_limits<double>::quiet_NaN();
};

struct ImplausibleReport {
  NodeIndex node = 0;
  const char* test = "";  // the worst: "ones", "degree", "unconfirmed" or "omitted"
  double z = 0;
};

struct Plausibility {
  double threshold_z = 0;
  uint32_t tested = 0;                     // reports
  std::vector<ReportScores> scores;        // [n]
  std::vector<ImplausibleReport> flagged;  // worst |z| first, then ascending nodes
  bool symmetric = true;                   // false: the tests of pairs flag nobody
  std::string note;                        // for a person, or empty
  double seconds = 0;
};

// INVALID_ARGUMENT as ReportTests::Create. The set is complete. The result does not depend on `threads` (0: all cores).
absl::StatusOr<Plausibility> TestPlausibility(const ReportSet& reports, const TestOptions& options, int threads);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_PLAUSIBILITY_H_
