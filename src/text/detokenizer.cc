#include "text/detokenizer.h"

#include <vector>

#include "text/tokenizer_state.h"

namespace motley::text {
namespace {

MotleyDetokenizer* stream(void* handle) { return static_cast<MotleyDetokenizer*>(handle); }

}  // namespace

void Detokenizer::Free::operator()(void* handle) const { motley_detokenizer_free(stream(handle)); }

Detokenizer::Detokenizer(const Tokenizer& tokenizer, SpecialTokens special)
    : handle_(motley_detokenizer_new(tokenizer.state_->handle, special == SpecialTokens::kSkip ? 1 : 0)) {}

Status Detokenizer::prime(std::span<const int32_t> ids) {
  std::vector<uint32_t> before;
  before.reserve(ids.size());
  for (const int32_t id : ids) {
    REJECT_IF(id < 0, "text.id_before", "token id", "0 or more", id);
    before.push_back(static_cast<uint32_t>(id));
  }
  MotleyBytes error{};
  if (motley_detokenizer_prime(stream(handle_.get()), before.data(), before.size(), &error) != MOTLEY_OK) {
    return absl::InvalidArgumentError(take(error));
  }
  return absl::OkStatus();
}

StatusOr<std::string> Detokenizer::feed(int32_t id) {
  REJECT_IF(id < 0, "text.id_fed", "token id", "0 or more", id);
  MotleyBytes text{};
  MotleyBytes error{};
  if (motley_detokenizer_feed(stream(handle_.get()), static_cast<uint32_t>(id), &text, &error) != MOTLEY_OK) {
    return absl::InvalidArgumentError(take(error));
  }
  return take(text);
}

StatusOr<std::string> Detokenizer::finish() {
  MotleyBytes text{};
  MotleyBytes error{};
  if (motley_detokenizer_finish(stream(handle_.get()), &text, &error) != MOTLEY_OK) {
    return absl::InvalidArgumentError(take(error));
  }
  return take(text);
}

}  // namespace motley::text
