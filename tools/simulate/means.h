// Means and deviations over the trials of a simulation.
#ifndef BLINK_TOOLS_SIMULATE_MEANS_H_
#define BLINK_TOOLS_SIMULATE_MEANS_H_

#include <cmath>
#include <optional>
#include <vector>

namespace blink {

template <typename Item, typename Figure>
double MeanOver(const std::vector<Item>& items, const Figure& figure) {
  double sum = 0;
  for (const Item& item : items) sum += figure(item);
  return sum / static_cast<double>(items.size());
}

// Absent where one item has none.
template <typename Item, typename Figure>
std::optional<double> MeanOverAll(const std::vector<Item>& items, const Figure& figure) {
  double sum = 0;
  for (const Item& item : items) {
    const std::optional<double> value = figure(item);
    if (!value) return std::nullopt;
    sum += *value;
  }
  return sum / static_cast<double>(items.size());
}

// Of a sample; absent for one item.
template <typename Item, typename Figure>
std::optional<double> StandardDeviationOver(const std::vector<Item>& items, const Figure& figure) {
  if (items.size() < 2) return std::nullopt;
  const double mean = MeanOver(items, figure);
  const double squares = MeanOver(items, [&](const Item& item) { return std::pow(figure(item) - mean, 2); });
  const auto count = static_cast<double>(items.size());
  return std::sqrt(squares * count / (count - 1));
}

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_MEANS_H_
