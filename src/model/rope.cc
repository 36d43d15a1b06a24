#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/spec.h"

namespace motley::model {
namespace {

using Frequencies = std::vector<double>;

struct Scale {
  const Rope& rope;
  RopeFrequencies& result;
  Frequencies& f = result.radians_per_position;

  void operator()(const RopeUnscaled&) const {}

  void operator()(const RopeLinear& linear) const {
    for (double& frequency : f) frequency /= linear.factor;
  }

  void operator()(const RopeLlama3& llama3) const {
    const double longest = llama3.original_context / llama3.low_freq_factor;
    const double shortest = llama3.original_context / llama3.high_freq_factor;
    for (double& frequency : f) {
      const double wavelength = 2 * std::numbers::pi / frequency;
      if (wavelength < shortest) continue;
      if (wavelength > longest) {
        frequency /= llama3.factor;
        continue;
      }
      const double smooth = (llama3.original_context / wavelength - llama3.low_freq_factor) /
                            (llama3.high_freq_factor - llama3.low_freq_factor);
      frequency = (1 - smooth) * frequency / llama3.factor + smooth * frequency;
    }
  }

  void operator()(const RopeYarn& yarn) const {
    // The pair that turns `turns` times over the original context.
    const auto pair_of = [&](double turns) {
      return rope.rotary_dims * std::log(yarn.original_context / (turns * 2 * std::numbers::pi)) /
             (2 * std::log(rope.theta));
    };
    double low = pair_of(yarn.beta_fast), high = pair_of(yarn.beta_slow);
    if (yarn.truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0);
    high = std::min(high, rope.rotary_dims - 1.0);
    if (low == high) high += 0.001;  // as the reference implementation does
    for (size_t i = 0; i < f.size(); ++i) {
      const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      f[i] = f[i] / yarn.factor * ramp + f[i] * (1 - ramp);
    }
    result.magnitude = yarn.attention_factor;
  }

  void operator()(const RopeDivisors& table) const {
    for (size_t i = 0; i < f.size(); ++i) f[i] /= static_cast<double>(table.divisors[i]);
  }
};

}  // namespace

RopeFrequencies rope_frequencies(const Rope& rope) {
  RopeFrequencies result;
  const uint32_t half = rope.rotary_dims / 2;
  for (uint32_t i = 0; i < half; ++i)
    result.radians_per_position.push_back(std::pow(rope.theta, -2.0 * i / rope.rotary_dims));
  std::visit(Scale{rope, result}, rope.scaling);
  return result;
}

}  // namespace motley::model
