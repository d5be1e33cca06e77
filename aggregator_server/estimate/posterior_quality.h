// How good a posterior is as a statement about links, against the true graph: for simulation only.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_QUALITY_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_QUALITY_H_

#include <cstdint>
#include <vector>

namespace blink {

struct PosteriorQuality {
  // Of the log-likelihood of the true graph, natural logarithm, a sum over unordered pairs.
  double log_likelihood = 0;
  // That a true link has a larger P than a pair without one, ties half: the area under the ROC curve. From a histogram of
  // log-odds, so that pairs within 1/64 of log-odds count as ties.
  double auc = 0;
  struct Bin {  // of a reliability diagram
    double from = 0, to = 0;  // P
    uint64_t pairs = 0, links = 0;
    double mean_p = 0;
  };
  std::vector<Bin> bins;
};

// Counts pairs one by one; parts that were counted apart can be joined in any order to the same result.
class QualityCounter {
 public:
  QualityCounter();
  void Add(float log_odds, bool is_link);                        // one unordered pair
  void AddMany(float log_odds, uint64_t pairs, uint64_t links);  // so many pairs of one value, of which `links` are links
  void Join(const QualityCounter& other);
  PosteriorQuality Quality() const;

 private:
  std::vector<uint64_t> pairs_, links_;  // by log-odds, in steps of 1/64 from -64 to 64
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_POSTERIOR_QUALITY_H_
