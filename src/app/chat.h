// The chat on a terminal: reads messages with editing and history, answers them, and obeys commands that begin with a
// slash.
#pragma once

#include "app/answer.h"
#include "app/conversation.h"
#include "base/status.h"

namespace motley::app {

// Until /bye or Ctrl-D. `options` are what the flags said; /set changes them.
Status chat(Conversation& conversation, const LoadedModel& loaded, AnswerOptions options);

}  // namespace motley::app
