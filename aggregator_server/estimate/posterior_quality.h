// How good a posterior is as a statement about links: against the true graph, in a simulation, or as it expects itself.
//
//   QualityCounter counter;                       // one a thread
//   counter.Add(log_odds, truth.HasLink(i, j));   // every unordered pair
//   total.Join(counter);
//   ... total.Quality() ...
//
// Without a truth the same pairs are counted, none as a link, and Expected() says what the figures would be on average
// if each pair were a link with its P.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_QUALITY_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_QUALITY_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace blink {

struct PosteriorQuality {
  // Of the true graph: ln P over links and ln(1 - P) over the others, a sum over unordered pairs. To about 1e-5 of
  // itself.
  double log_likelihood = 0;
  // That a true link has a larger P than a pair without one, ties half: the area under the ROC curve. Pairs of one cell
  // of log-odds (1/64 wide) count as ties. 1/2 where there is no link, or no pair without one.
  double auc = 0.5;
  // Of a reliability diagram: pairs with from <= P < to. The limits lie at cells of log-odds, next to 1e-4, 1e-3, 0.01,
  // 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95 and 0.99: closer where most pairs are.
  struct Bin {
    double from = 0, to = 0;
    uint64_t pairs = 0, links = 0;
    double mean_p = 0;  // of its pairs; 0 where there are none
  };
  std::vector<Bin> bins;
};

// The means over graphs drawn from the posterior. They are as right as the prior is.
struct ExpectedQuality {
  double log_likelihood = 0, auc = 0.5;  // as PosteriorQuality
  double error = 0;                      // sum of |P - A| over unordered pairs
  // Of the pairs with P > 1/2: the share of them that are links, and of the links the share that is among them. NaN
  // where nothing is divided by.
  double precision = 0, recall = 0;
};

// A histogram of log-odds from -64 to 64 in 8,192 cells (256 KiB); larger ones count in the outermost. Of each cell the
// number of its pairs and links and the sum of their log-odds are kept, as integers: parts that were counted apart, in
// any order, join to the same result. Of log-odds within a cell only the mean counts, so that what follows from it errs
// by their variance, 2e-5, and not by their width.
class QualityCounter {
 public:
  QualityCounter() : cells_(kCells) {}

  void Add(double log_odds, bool is_link) { AddMany(log_odds, 1, is_link ? 1 : 0); }  // one unordered pair
  // So many pairs of one value, of which `links` are links. Either may be negative, for what was counted too much
  // elsewhere, and links may be counted apart from their pairs: only the sum over all calls must be that of a graph.
  void AddMany(double log_odds, int64_t pairs, int64_t links) {
    const double x =
        log_odds > -kLogOddsMax ? std::min(log_odds, kLogOddsMax) : -kLogOddsMax;  // NaN: an error, the lowest
    const auto place = static_cast<size_t>(std::clamp((x + kReach) * kCellsPerUnit, 0.0, kCells - 1.0));
    const auto units = static_cast<int64_t>((x - LowerEnd(place)) * kUnits);
    Cell& cell = cells_[place];
    cell.pairs += pairs;
    cell.links += links;
    cell.sum += pairs * units;
    cell.sum_of_links += links * units;
  }
  void Join(const QualityCounter& other);
  PosteriorQuality Quality() const;
  ExpectedQuality Expected() const;  // looks at no link

 private:
  static constexpr int kReach = 64, kCellsPerUnit = 64, kCells = 2 * kReach * kCellsPerUnit;
  static constexpr double kLogOddsMax = 1024;
  static constexpr double kUnits = 1 << 24;  // of a log-odds: 10^13 pairs of a cell fit into 63 bits
  struct Cell {
    int64_t pairs = 0, links = 0;
    int64_t sum = 0, sum_of_links = 0;  // of log-odds beyond the cell's lower end, in 1 / kUnits
  };
  static double LowerEnd(size_t cell) { return static_cast<double>(cell) / kCellsPerUnit - kReach; }

  std::vector<Cell> cells_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_QUALITY_H_
