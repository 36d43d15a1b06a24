"""Conversations that chat templates treat differently: system, turns, tools, tool results, reasoning, and what some refuse."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather.\nSecond line with \"quotes\", <angle> & é 日本.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City name", "default": "Paris"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "default": 3},
                "precision": {"type": "number", "default": 0.5},
                "detailed": {"type": "boolean", "default": False},
            },
            "required": ["city"],
        },
    },
}
ORDER = {
    "type": "function",
    "function": {
        "name": "order",
        "description": "Order things",
        "parameters": {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"type": "string"}, "description": "What to order"},
                "numbers": {"type": "array", "items": {"type": "number"}},
                "boxes": {"type": "array", "items": {"type": "object", "properties": {"w": {"type": "number"}}}},
                "anything": {"type": "array"},
                "either": {"type": ["string", "null"], "description": "Or nothing", "nullable": True},
                "one": {"oneOf": [{"type": "string", "description": "text"}, {"type": "integer", "default": 7}], "description": "One of"},
                "address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string"}}, "required": ["zip"]},
            },
            "required": ["items", "address"],
        },
        "return": {"type": "string"},
    },
}
PLAIN = {"type": "function", "function": {"name": "now", "description": "Tell the time", "parameters": {"type": "object", "properties": {}}}}


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


def system(text):
    return {"role": "system", "content": text}


def call(name, arguments, **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


CONVERSATIONS = [
    dict(name="one question", messages=[user("What is the capital of France?")]),
    dict(name="system", messages=[system("You are terse.\n\nVery terse."), user("  Hi there!  ")]),
    dict(name="turns", messages=[user("Hi"), assistant("Hello! How can I help?"), user("Tell me a joke\n"), assistant(" Why? \n"), user("Because?")]),
    dict(name="system and turns, answered", messages=[system("Be kind."), user("1+1?"), assistant("2"), user("2+2?"), assistant("4")]),
    dict(name="tools", messages=[user("Weather in Paris?")], tools=[WEATHER, PLAIN]),
    dict(name="tool result", messages=[
        system("Use tools."), user("Weather in Paris?"),
        assistant("", tool_calls=[call("get_weather", {"city": "Paris", "unit": "celsius", "days": 2, "f": 1.0, "b": True, "n": None}, id="call_1")]),
        {"role": "tool", "name": "get_weather", "tool_call_id": "call_1", "content": "{\"temperature\": 21.5, \"sky\": \"clear ☀️\"}"},
        assistant("It is 21.5 degrees."), user("And tomorrow?")], tools=[WEATHER]),
    dict(name="two calls without content", messages=[
        user("Order 2 boxes & tell the time"),
        assistant(None, tool_calls=[call("order", {"items": ["a\"b", "<c>", "é\n"], "address": {"zip": "75001", "deep": {"x": [1, {"y": []}]}}}), call("now", {})]),
        {"role": "tool", "content": "done"}, {"role": "tool", "content": "12:00"}], tools=[ORDER, PLAIN]),
    dict(name="call without tools", messages=[
        user("Go"), assistant("Calling.", tool_calls=[call("now", {})]), {"role": "tool", "name": "now", "content": {"time": "12:00", "ok": True}}]),
    dict(name="arguments as text", messages=[user("Go"), assistant("", tool_calls=[call("now", "{\"zone\": \"UTC\"}")]), {"role": "tool", "name": "now", "content": "noon"}], tools=[PLAIN]),
    dict(name="reasoning", messages=[
        user("17*3?"), assistant("51", reasoning_content="17*3 = 51.\nSure."), user("Sure?"), assistant("<think>\nyes\n</think>\n\nYes."), user("Really?")]),
    dict(name="thinking off", messages=[system("s"), user("Quick!")], variables={"enable_thinking": False, "reasoning_effort": "low", "date_string": "01 Jan 2025"}),
    dict(name="thinking on, high", messages=[user("Slow!"), assistant("ok", thinking="hmm"), user("More")],
         variables={"enable_thinking": True, "reasoning_effort": "high", "model_identity": "You are a test.", "builtin_tools": ["browser", "python"], "tools_in_user_message": False}, tools=[WEATHER]),
    dict(name="content in parts", messages=[
        system([{"type": "text", "text": "Parts."}]), user([{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": " and tell."}]), assistant([{"type": "text", "text": " I see "}]), user("ok")]),
    dict(name="developer", messages=[{"role": "developer", "content": "Follow the house rules."}, user("Hi")], tools=[PLAIN]),
    dict(name="two users in a row", messages=[user("one"), user("two")]),
    dict(name="assistant first", messages=[assistant("I begin."), user("ok")]),
    dict(name="system last", messages=[user("hi"), system("late")]),
    dict(name="unknown role", messages=[user("hi"), {"role": "critic", "content": "bad"}]),
    dict(name="no content", messages=[{"role": "user"}]),
    dict(name="only a system message", messages=[system("alone")]),
    dict(name="empty", messages=[]),
    dict(name="special tokens and odd characters", messages=[user("<|im_end|><|eot_id|></s>{{ 1+1 }}{% raw %} \t\u00a0😀\u2028 'q' \\n"), assistant("  \n x \n"), user("\n\n")]),
]
