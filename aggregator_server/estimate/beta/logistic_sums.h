// Sums over all nodes of the logistic function sigma(beta_i + beta_j), for classes of nodes of equal beta, in O(K) time
// and memory instead of O(K^2): what the beta-model's solver spends its time on.
//
// sigma is smooth (its nearest poles are at +-i pi), so between values of beta that differ by at most 2 it is a
// polynomial of degree 19 to the last digits of a double. The line is cut into cells of that length; a cell of more
// than 20 classes is represented by 20 Chebyshev points, a smaller one by its classes themselves. With P the [K,
// points] matrix of interpolation, which has one cell's points in a row, the matrix sigma(beta_a + beta_b) is P
// sigma(points + points) P^T. Points number at most min(K, 10 x the range of beta): 50 to 350 in
// practice, whatever K is. Where K is small nothing is interpolated.
//
// Cost: 160 bytes and about 100 multiplications a class; 8 bytes and a division for each pair of points.
// Error: relative to a sum, about 1e-13 (DirectSums, which does not interpolate, is the judge).
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_LOGISTIC_SUMS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_LOGISTIC_SUMS_H_

#include <cstddef>
#include <functional>
#include <vector>

namespace blink {

// Wherever sums are taken |beta| is at most this: a prior of e^100 to 1, which no report outweighs. It bounds the
// points to 1,000, and the table of their pairs to 8 MB.
inline constexpr double kBetaMax = 50;

class LogisticSums {
 public:
  explicit LogisticSums(std::vector<double> size);  // [K] nodes of each class, >= 1

  // Takes the sums at beta [K], in any order, |beta| <= kBetaMax. False beyond that; the sums are then those of before.
  bool MoveTo(const std::vector<double>& beta);

  // Over the other nodes j of a node i of class a, at the beta of the last MoveTo:
  const std::vector<double>& links() const { return links_; }          // [K] sum of sigma(beta_i + beta_j)
  const std::vector<double>& gaps() const { return gaps_; }            // [K] of 1 - sigma, without loss of digits
  const std::vector<double>& curvature() const { return curvature_; }  // [K] of sigma'
  double own_curvature(size_t a) const { return own_curvature_[a]; }   // sigma'(2 beta_a)

  // y_i = sum over the other nodes j of sigma'(beta_i + beta_j) x_j, for x and y [K] that are equal within a class.
  void Multiply(const std::vector<double>& x, std::vector<double>& y) const;

  size_t points() const { return point_.size(); }

 private:
  static constexpr size_t kPointsOfCell = 20;
  struct Cell {
    size_t begin = 0, end = 0;  // of members_
    size_t first = 0;           // of its points
    bool interpolated = false;
  };

  void MakeCells(const std::vector<double>& beta);
  void Interpolate(const Cell& cell, const std::vector<double>& beta);
  void SumOverPoints();
  void ToPoints(const std::vector<double>& of_node, std::vector<double>& of_point) const;    // P^T (size * of_node)
  void FromPoints(const std::vector<double>& of_point, std::vector<double>& of_node) const;  // P of_point

  const std::vector<double> size_;
  std::vector<Cell> cells_;
  std::vector<size_t> members_;  // [K] classes, cell by cell
  std::vector<double> weights_;  // [K, 20] rows of P in the order of members_, where their cell is interpolated
  std::vector<double> point_;    // [points] values of beta
  std::vector<double> slope_;    // [points, points] sigma' of the sum of two points
  std::vector<double> point_links_, point_gaps_, point_curvature_;
  std::vector<double> links_, gaps_, curvature_, own_curvature_;
};

// links(), or where `gaps` says so gaps(), summed pair by pair: the judge of what LogisticSums led to. O(K^2) time,
// under 1 ns a pair and thread, and O(K) memory. The result does not depend on `threads` (0: all cores). `keep_going`
// (may be empty) is called by the calling thread with the share that is done; when it returns false the result is
// empty.
std::vector<double> DirectSums(const std::vector<double>& beta, const std::vector<double>& size,
                               const std::vector<bool>& gaps, int threads,
                               const std::function<bool(double)>& keep_going);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_LOGISTIC_SUMS_H_
