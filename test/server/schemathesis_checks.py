"""A check of our own: a request that fits the OpenAPI may be refused for its meaning, never for its form."""

import schemathesis

MEANINGFUL = {
    "chat_template_refused",
    "context_length_exceeded",
    "empty_prompt",
    "invalid_schema",
    "invalid_value",
    "unsupported_value",
}


@schemathesis.check
def refused_for_its_meaning(ctx, response, case):
    if response.status_code != 400 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    code = response.json()["error"]["code"]
    assert code in MEANINGFUL, f"a request that fits the OpenAPI was refused by {code}: {response.text}"
