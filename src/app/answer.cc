#include "app/answer.h"

#include "app/interrupt.h"
#include "app/output.h"
#include "app/status_line.h"
#include "base/memory.h"

namespace motley::app {
namespace {

// Prompts that fill several steps take long enough to say so.
engine::PrefillProgress prefill_progress() {
  return [](uint32_t done, uint32_t total) {
    show_status(done < total ? fmt::format("Reading the prompt … {} of {} tokens", done, total) : "");
  };
}

engine::Observer observer(AnswerOptions::Show show) {
  engine::Observer result;
  result.on_prefill = prefill_progress();
  if (show == AnswerOptions::Show::kText) result.on_text = [](std::string_view text) { return print_answer(text); };
  return result;
}

Json ids_json(const std::vector<int32_t>& ids) { return Json::Array(ids.begin(), ids.end()); }

Json number_or_null(std::optional<double> number) { return number ? Json(*number) : Json(); }

std::string speed(std::optional<double> tokens_per_s) {
  return tokens_per_s ? fmt::format(" at {:.1f} tokens/s", *tokens_per_s) : "";
}

}  // namespace

void note(const std::string& line) { fmt::print(stderr, "motley: {}\n", line); }

StatusOr<engine::Generation> answer(Conversation& conversation, const LoadedModel& loaded, const std::string& question,
                                    const AnswerOptions& options) {
  TRY(const Sampling sampling, resolve(options.sampling, loaded.model->generation));
  if (options.verbose) note("sampling: " + describe(sampling));
  engine::GenerationOptions generation{.sampling = sampling.settings,
                                       .max_tokens = options.max_tokens,
                                       .stop_strings = options.stop_strings,
                                       .end_ids = loaded.end_ids()};
  const InterruptGuard guard;
  auto result = conversation.ask(question, std::move(generation), observer(options.show), InterruptGuard::raised());
  if (!result.ok()) return result;
  if (options.show == AnswerOptions::Show::kText) TRY(print("\n"));
  if (options.verbose) note(describe(*result));
  return result;
}

Json to_json(const engine::Generation& generation, const LoadedModel& loaded) {
  return Json::Object{{"text", generation.text},
                      {"ids", ids_json(generation.ids)},
                      {"prompt_ids", ids_json(generation.prompt_ids)},
                      {"stop_reason", engine::name(generation.stop_reason)},
                      {"prefill_tokens_per_s", number_or_null(generation.timings.prefill_tokens_per_s())},
                      {"decode_tokens_per_s", number_or_null(generation.timings.decode_tokens_per_s())},
                      {"load_ms", loaded.load_ms},
                      {"peak_memory_bytes", peak_memory_bytes()}};
}

std::string describe(const engine::Generation& generation) {
  const engine::Timings& t = generation.timings;
  return fmt::format("prompt: {} tokens, {} computed{}; answer: {} tokens{}; ended by: {}",
                     generation.prompt_ids.size(), t.prefill_tokens, speed(t.prefill_tokens_per_s()),
                     generation.ids.size(), speed(t.decode_tokens_per_s()), engine::name(generation.stop_reason));
}

}  // namespace motley::app
