// AWQ, read by what GPTQ's keys share with it.
#include "ingest/methods/word_packed.h"

namespace motley::ingest::methods {

Method awq() { return {.name = "AWQ", .words = {"awq", "awq_marlin"}, .read = read_awq}; }

}  // namespace motley::ingest::methods
