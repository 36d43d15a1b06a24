#include "app/compare_plot.h"

#include <algorithm>
#include <cmath>

#include "app/model_options.h"

namespace motley::app {
namespace {

// Of the picture, in its own units.
constexpr double kWidth = 860, kHeight = 640;

struct Panel {
  double left = 70, width = kWidth - 90, top = 0, height = 0;

  double x(double share) const { return left + share * width; }
  double y(double share) const { return top + (1 - share) * height; }  // from below
};
constexpr Panel kHistogram{.top = 112, .height = 180};
constexpr Panel kByPosition{.top = 370, .height = 210};

constexpr std::string_view kStyle =
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}.end{text-anchor:end}"
    ".middle{text-anchor:middle}.bar{fill:#3b7ea1}.dots{stroke:#3b7ea1;stroke-width:3;stroke-linecap:round;fill:none}"
    ".grid{stroke:#ddd}.mean{stroke:#c4572e;stroke-width:2;stroke-dasharray:5 4}";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;  // XML has no other control characters
  }
  return result;
}

std::string text_at(double x, double y, std::string_view style, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, escaped(text));
}

std::string horizontal_line(const Panel& panel, double share, std::string_view style) {
  return fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"{3}\"/>\n", panel.left,
                     panel.x(1), panel.y(share), style);
}

// More would touch each other.
constexpr size_t kMostLabels = 18;

std::string bars(std::span<const KlBin> bins) {
  uint64_t most = 1;
  for (const KlBin& bin : bins) most = std::max(most, bin.count);
  const double step = kHistogram.width / static_cast<double>(bins.size());
  const size_t labelled = 1 + bins.size() / kMostLabels;
  std::string result = horizontal_line(kHistogram, 0, "grid") + horizontal_line(kHistogram, 1, "grid");
  result += text_at(kHistogram.left - 8, kHistogram.y(1) + 4, "end", std::to_string(most));
  result += text_at(kHistogram.left - 8, kHistogram.y(0) + 4, "end", "0");
  for (size_t i = 0; i < bins.size(); ++i) {
    const double x = kHistogram.left + step * static_cast<double>(i);
    const double y = kHistogram.y(static_cast<double>(bins[i].count) / static_cast<double>(most));
    result += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"bar\"><title>{} positions from "
        "{:.2g}</title></rect>\n",
        x + 1, y, step - 2, kHistogram.y(0) - y, bins[i].count, bins[i].from);
    if (i % labelled == 0) result += text_at(x, kHistogram.y(0) + 18, "middle", fmt::format("{:.0e}", bins[i].from));
  }
  return result;
}

// Decades, as wide as what there is; KL outside (there is 0) is drawn at the edge.
struct LogAxis {
  int lowest = 0, highest = 1;

  explicit LogAxis(std::span<const KlBin> bins) {
    const double from = std::max(bins.front().from, bins.front().to / 10);
    lowest = static_cast<int>(std::floor(std::log10(std::max(from, 1e-13))));
    highest = std::max(lowest + 1, static_cast<int>(std::ceil(std::log10(std::min(bins.back().to, 1e3)))));
  }
  double share(double kl_nats) const {
    const double decades = kl_nats > 0 ? std::log10(kl_nats) - lowest : 0;
    return std::clamp(decades / (highest - lowest), 0.0, 1.0);
  }
};

// One path of dots: a circle each would make the file of a long text ten times as large.
std::string dots(const std::vector<PositionDifference>& positions, const LogAxis& axis) {
  std::string path;
  for (size_t i = 0; i < positions.size(); ++i)
    path += fmt::format("M{:.1f} {:.1f}h0",
                        kByPosition.x((static_cast<double>(i) + 0.5) / static_cast<double>(positions.size())),
                        kByPosition.y(axis.share(positions[i].kl_nats)));
  return fmt::format("<path d=\"{}\" class=\"dots\"/>\n", path);
}

std::string by_position(const Comparison& comparison, const LogAxis& axis) {
  std::string result;
  for (int decade = axis.lowest; decade <= axis.highest; ++decade) {
    const double share = axis.share(std::pow(10, decade));
    result += horizontal_line(kByPosition, share, "grid");
    result += text_at(kByPosition.left - 8, kByPosition.y(share) + 4, "end", fmt::format("1e{}", decade));
  }
  result += dots(comparison.positions, axis);
  const double mean = axis.share(comparison.summary.kl_nats.mean);
  result += horizontal_line(kByPosition, mean, "mean");
  result += text_at(kByPosition.left, kByPosition.y(0) + 18, "", "0");
  result += text_at(kByPosition.x(1), kByPosition.y(0) + 18, "end", std::to_string(comparison.positions.size()));
  return result + text_at(kByPosition.x(0.5), kByPosition.y(0) + 36, "middle", "position");
}

std::string side(const ComparedSide& side) {
  return fmt::format("{} ({})", side.path, precision_name(side.facts.precision));
}

std::string heading(const Comparison& comparison) {
  const DifferenceSummary& summary = comparison.summary;
  std::string line = fmt::format("mean KL {:.3g} nats, 99 % {:.3g}, same top-1 {:.2f} %", summary.kl_nats.mean,
                                 summary.kl_nats.p99, 100 * summary.same_top1_share());
  if (summary.perplexity) line += fmt::format(", perplexity {:.6f} of A's", summary.perplexity->ratio);
  return text_at(kHistogram.left, 24, "title", "A  " + side(comparison.a)) +
         text_at(kHistogram.left, 46, "title", "B  " + side(comparison.b)) + text_at(kHistogram.left, 68, "", line);
}

}  // namespace

std::string compare_svg(const Comparison& comparison) {
  const std::vector<KlBin> all = kl_histogram(comparison.positions);
  const auto bins = occupied(all);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\">\n<style>{2}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight, kStyle);
  svg += heading(comparison);
  svg += text_at(kHistogram.left, kHistogram.top - 14, "", "positions by KL(A||B), nats: each bar from its label on");
  svg += bars(bins);
  svg += text_at(kByPosition.left, kByPosition.top - 14, "", "KL(A||B) by position, nats; dashed: its mean");
  svg += by_position(comparison, LogAxis(bins));
  return svg + "</svg>\n";
}

}  // namespace motley::app
