// Which way of choosing tokens is in force, and who said so: a flag (or /set), the model's own recommendation, or
// motley.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/arguments.h"
#include "base/status.h"
#include "model/model.h"
#include "sample/sampler.h"

namespace motley::app {

// What a person asked for; nullopt: nothing.
struct SamplingOptions {
  std::optional<double> temperature, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty;
  std::optional<uint32_t> top_k;
  std::optional<uint64_t> seed;
};

void add_sampling_options(Arguments& command, SamplingOptions& options);

// Sets one by the name that /set uses ("top_p"; the value "default" takes a choice back). NotFound names those there
// are.
Status set_sampling_option(SamplingOptions& options, std::string_view name, std::string_view value);

struct Sampling {
  sample::Settings settings;
  // One a parameter: {"temperature", "0.6", "generation_config.json"}.
  struct Line {
    std::string name, value, source;
  };
  std::vector<Line> lines;
};

// A flag wins. Otherwise, when the model recommends how to sample (temperature, top-p, top-k, min-p or do_sample), its
// values hold and steps it does not mention are off; do_sample false means temperature 0. When it recommends nothing:
// temperature 0.8, top-k 40, top-p 0.95, min-p 0.05. No penalties unless somebody asks. A seed is drawn from the system
// when none is given. A value out of range is a usage error.
StatusOr<Sampling> resolve(const SamplingOptions& options, const model::GenerationDefaults& recommended);

// "temperature 0.6 (generation_config.json), top-k 40 (motley's default), …"
std::string describe(const Sampling& sampling);

}  // namespace motley::app
