// Existence of the MLE against two independent answers: a linear program over the pairs, solved by the simplex method
// in exact fractions, and all facets of the polytope of degree sequences.
#include "aggregator_server/estimate/beta/degree_polytope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/beta/beta_model.h"
#include "tests/unit/estimate/beta/mle_exists.h"

namespace blink {
namespace {

// An exact fraction; a number beyond 64 bits ends the test.
class Fraction {
 public:
  Fraction(int64_t numerator = 0, int64_t denominator = 1) : Fraction(__int128{numerator}, __int128{denominator}) {}
  friend Fraction operator-(Fraction a, Fraction b) { return Fraction(Cross(a, b) - Cross(b, a), Under(a, b)); }
  friend Fraction operator*(Fraction a, Fraction b) {
    return Fraction(__int128{a.numerator_} * b.numerator_, Under(a, b));
  }
  friend Fraction operator/(Fraction a, Fraction b) { return Fraction(Cross(a, b), Cross(b, a)); }
  friend bool operator<(Fraction a, Fraction b) { return Cross(a, b) < Cross(b, a); }
  bool positive() const { return numerator_ > 0; }
  bool zero() const { return numerator_ == 0; }

 private:
  Fraction(__int128 numerator, __int128 denominator) {
    __int128 a = numerator < 0 ? -numerator : numerator, b = denominator < 0 ? -denominator : denominator;
    while (b != 0) a = std::exchange(b, a % b);
    if (denominator < 0) a = -a;
    numerator_ = static_cast<int64_t>(numerator / a);
    denominator_ = static_cast<int64_t>(denominator / a);
    if (numerator_ != numerator / a || denominator_ != denominator / a) std::abort();
  }
  static __int128 Cross(Fraction a, Fraction b) { return __int128{a.numerator_} * b.denominator_; }
  static __int128 Under(Fraction a, Fraction b) { return __int128{a.denominator_} * b.denominator_; }
  int64_t numerator_ = 0, denominator_ = 1;
};

// Rows are equations with the solution of a basis read off: x_basic = right-hand side (the last column).
struct Tableau {
  std::vector<std::vector<Fraction>> rows;
  std::vector<size_t> basic;  // of each row

  void Pivot(size_t row, size_t column, std::vector<Fraction>& objective) {
    const Fraction pivot = rows[row][column];
    for (Fraction& x : rows[row]) x = x / pivot;
    const auto eliminate = [&](std::vector<Fraction>& other) {
      const Fraction factor = other[column];
      if (factor.zero()) return;
      for (size_t c = 0; c < other.size(); ++c) {
        if (!rows[row][c].zero()) other[c] = other[c] - factor * rows[row][c];
      }
    };
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r != row) eliminate(rows[r]);
    }
    eliminate(objective);
    basic[row] = column;
  }

  // Maximises; `objective` holds the reduced profits and, last, minus the value. Bland's rule: it ends.
  void Maximise(std::vector<Fraction>& objective, size_t columns) {
    for (;;) {
      size_t column = 0;
      while (column < columns && !objective[column].positive()) ++column;
      if (column == columns) return;
      size_t best = rows.size();
      for (size_t r = 0; r < rows.size(); ++r) {
        if (!rows[r][column].positive()) continue;
        if (best == rows.size()) {
          best = r;
          continue;
        }
        const Fraction here = rows[r].back() / rows[r][column], there = rows[best].back() / rows[best][column];
        if (here < there || (!(there < here) && basic[r] < basic[best])) best = r;
      }
      if (best == rows.size()) std::abort();  // unbounded: it is not
      Pivot(best, column, objective);
    }
  }
};

// The interior of the polytope is the image of the open cube: d lies in it exactly when there are x_ij with sum_j x_ij
// = d_i and t <= x_ij <= 1 - t for some t > 0. Maximises t, with x_ij = t + y_ij and y_ij + 2 t + s_ij = 1.
bool InteriorByLinearProgram(const std::vector<int64_t>& d) {
  const size_t n = d.size(), pairs = n * (n - 1) / 2, t = 2 * pairs, artificial = t + 1, columns = artificial + n;
  Tableau tableau;
  tableau.rows.assign(n + pairs, std::vector<Fraction>(columns + 1, 0));
  size_t pair = 0;
  for (size_t i = 0; i < n; ++i) {
    tableau.rows[i][t] = static_cast<int64_t>(n - 1);
    tableau.rows[i][artificial + i] = 1;
    tableau.rows[i].back() = d[i];
    tableau.basic.push_back(artificial + i);
    for (size_t j = i + 1; j < n; ++j, ++pair) {
      tableau.rows[i][pair] = tableau.rows[j][pair] = 1;
      tableau.rows[n + pair][pair] = tableau.rows[n + pair][pairs + pair] = tableau.rows[n + pair].back() = 1;
      tableau.rows[n + pair][t] = 2;
    }
  }
  for (pair = 0; pair < pairs; ++pair) tableau.basic.push_back(pairs + pair);
  std::vector<Fraction> feasibility(columns + 1, 0), objective(columns + 1, 0);  // minus the sum of the artificial ones
  for (size_t i = 0; i < n; ++i) {
    for (size_t c = 0; c <= columns; ++c) {
      if (c < artificial || c == columns) feasibility[c] = feasibility[c] - Fraction(-1) * tableau.rows[i][c];
    }
  }
  tableau.Maximise(feasibility, artificial);
  if (!feasibility.back().zero()) return false;  // outside
  for (size_t r = 0; r < tableau.rows.size(); ++r) {
    if (tableau.basic[r] < artificial) continue;
    for (size_t c = 0; c < artificial; ++c) {  // an artificial one at 0 leaves the basis
      if (tableau.rows[r][c].zero()) continue;
      tableau.Pivot(r, c, feasibility);
      break;
    }
  }
  objective[t] = 1;
  for (size_t r = 0; r < tableau.rows.size(); ++r) {
    if (tableau.basic[r] != t) continue;
    for (size_t c = 0; c <= columns; ++c) objective[c] = (c == t ? Fraction(1) : Fraction(0)) - tableau.rows[r][c];
  }
  tableau.Maximise(objective, artificial);
  return (Fraction(0) - objective.back()).positive();
}

// No non-trivial (S, T) may reach sum_S d - sum_T d >= |S| (n - 1 - |T|): the facets of Mahadev and Peled, over all
// disjoint S and T.
bool InteriorByAllPairsOfSets(const std::vector<int64_t>& d) {
  const int n = static_cast<int>(d.size());
  const std::function<bool(int, int64_t, int, int)> below = [&](int i, int64_t sum, int s, int t) {
    if (i == n) return s + t == 0 || sum < static_cast<int64_t>(s) * (n - 1 - t);
    return below(i + 1, sum, s, t) && below(i + 1, sum + d[i], s + 1, t) && below(i + 1, sum - d[i], s, t + 1);
  };
  return below(0, 0, 0, 0);
}

// Erdos and Gallai as it is written, for every k.
bool InteriorByEveryInequality(std::vector<double> d) {
  std::sort(d.rbegin(), d.rend());
  double head = 0;
  for (size_t k = 1; k <= d.size(); ++k) {
    head += d[k - 1];
    double bound = static_cast<double>(k) * static_cast<double>(k - 1);
    for (size_t i = k; i < d.size(); ++i) bound += std::min(d[i], static_cast<double>(k));
    if (head >= bound) return false;
  }
  return true;
}

// All sequences of n degrees in [1, n-2], up to their order.
void ForEverySequence(int n, const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> d(n, 1);
  const std::function<void(int)> fill = [&](int i) {
    if (i == n) return visit(d);
    for (d[i] = i == 0 ? 1 : d[i - 1]; d[i] <= n - 2; ++d[i]) fill(i + 1);
  };
  fill(0);
}

struct RealClasses {
  std::vector<double> degree;
  std::vector<uint32_t> size;
};
RealClasses ToDoubles(const DegreeClasses& classes) {
  return {std::vector<double>(classes.degree.begin(), classes.degree.end()), classes.size};
}

TEST(MleExists, AgreesWithALinearProgramOnAllSequencesOfUpToSevenNodes) {
  int inside = 0, outside = 0;
  for (int n = 3; n <= 7; ++n) {
    ForEverySequence(n, [&](const std::vector<int64_t>& d) {
      const bool expected = InteriorByLinearProgram(d);
      (expected ? inside : outside) += 1;
      ASSERT_EQ(MleExists(ClassifyDegrees(d)), expected) << testing::PrintToString(d);
    });
  }
  EXPECT_GT(inside, 100);
  EXPECT_GT(outside, 50);
}

TEST(MleExists, AgreesWithALinearProgramOnRandomSequencesOfEightToTenNodes) {
  std::mt19937_64 random(5);
  int inside = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 8 + trial % 3;
    std::vector<int64_t> d(n);
    for (int64_t& x : d) x = 1 + static_cast<int64_t>(std::min(random() % (n - 2), random() % (n - 2)));
    if (trial % 5 == 0) d[0] = d[1] = n - 2;
    const bool expected = InteriorByLinearProgram(d);
    inside += expected;
    EXPECT_EQ(MleExists(ClassifyDegrees(d)), expected) << testing::PrintToString(d);
  }
  EXPECT_GT(inside, 50);
  EXPECT_LT(inside, 250);
}

TEST(MleExists, AgreesWithEveryFacetOnAllSequencesOfUpToEightNodes) {
  for (int n = 3; n <= 8; ++n) {
    ForEverySequence(n, [&](const std::vector<int64_t>& d) {
      ASSERT_EQ(MleExists(ClassifyDegrees(d)), InteriorByAllPairsOfSets(d)) << testing::PrintToString(d);
    });
  }
}

TEST(MleExists, KnowsTheExtremes) {
  EXPECT_FALSE(MleExists(ClassifyDegrees({1, 1, 1, 5, 5, 5, 1, 5})));  // half 1, half n-2
  for (int n = 4; n <= 10; ++n) {
    EXPECT_TRUE(MleExists(ClassifyDegrees(std::vector<int64_t>(n, 1)))) << n;
    EXPECT_TRUE(MleExists(ClassifyDegrees(std::vector<int64_t>(n, n - 2)))) << n;
  }
  std::vector<int64_t> star(100, 1);
  star[0] = 98;
  EXPECT_TRUE(MleExists(ClassifyDegrees(star)));  // a hub that lacks one link
  star[1] = 2;
  EXPECT_FALSE(MleExists(ClassifyDegrees(star)));  // the sum of both reaches 2 + 98
}

TEST(InsideDegreePolytope, LooksAtTheEndsOfRunsAndMissesNothing) {
  std::mt19937_64 random(6);
  int inside = 0, near = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int n = 4 + static_cast<int>(random() % 60);
    std::vector<int64_t> d(n);
    const int kinds = 1 + static_cast<int>(random() % 6);
    for (int64_t& x : d) x = 1 + static_cast<int64_t>(random() % kinds) * (n - 3) / kinds;
    const RealClasses classes = ToDoubles(ClassifyDegrees(d));
    // Degrees that are no whole numbers, on both sides of the boundary.
    const double share = GreatestShareInside(classes.degree, classes.size);
    for (const double factor : {0.3, 0.999, 1.001, 1.5}) {
      const std::vector<double> shrunk = ShrunkDegrees(classes.degree, std::min(1.0, factor * share));
      std::vector<double> of_node;
      for (size_t a = 0; a < shrunk.size(); ++a) of_node.insert(of_node.end(), classes.size[a], shrunk[a]);
      const bool expected = InteriorByEveryInequality(of_node);
      EXPECT_EQ(InsideDegreePolytope(shrunk, classes.size), expected) << "trial " << trial << " factor " << factor;
      if (share < 0.99) {
        near += factor > 0.9 && factor < 1.1;
        EXPECT_EQ(expected, factor < 1);
      }
      inside += expected;
    }
  }
  EXPECT_GT(inside, 3000);
  EXPECT_GT(near, 500);
}

TEST(GreatestShareInside, IsOneForDegreesThatLieInsideAndLeavesTheLowestAlone) {
  const RealClasses classes = ToDoubles(ClassifyDegrees({1, 1, 2, 2, 3, 3, 3, 2}));
  EXPECT_NEAR(GreatestShareInside(classes.degree, classes.size), 1, 1e-8);
  const std::vector<double> shrunk = ShrunkDegrees(classes.degree, 0.5);
  EXPECT_EQ(shrunk, (std::vector<double>{1, 1.5, 2}));
}

TEST(TheLinearProgram, AgreesWithEveryFacet) {  // two independent twins keep each other honest
  for (int n = 3; n <= 6; ++n) {
    ForEverySequence(n, [&](const std::vector<int64_t>& d) {
      ASSERT_EQ(InteriorByLinearProgram(d), InteriorByAllPairsOfSets(d)) << testing::PrintToString(d);
    });
  }
}

}  // namespace
}  // namespace blink
