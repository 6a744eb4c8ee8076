"""The official openai client against a server whose address is in OPENAI_BASE_URL; run by python-client.test.ts."""

import asyncio
import json

import openai

client = openai.OpenAI(max_retries=0)
HELLO = [{"role": "user", "content": "Hello!"}]
CHAT = dict(model="tiny", messages=HELLO, temperature=0, max_completion_tokens=12, extra_body={"ignore_eos": True})
SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}


def chat() -> None:
    whole = client.chat.completions.create(**CHAT)
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage.completion_tokens == 12
    text, usage = "", None
    for chunk in client.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}):
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        usage = chunk.usage or usage
    assert text == whole.choices[0].message.content
    assert usage.total_tokens == whole.usage.total_tokens
    several = client.chat.completions.create(**{**CHAT, "temperature": 1.5}, n=3, seed=5)
    assert len({choice.message.content for choice in several.choices}) == 3


def logprobs() -> None:
    answer = client.chat.completions.create(**CHAT, logprobs=True, top_logprobs=2)
    assert len(answer.choices[0].logprobs.content) == 12
    echoed = client.completions.create(model="tiny", prompt=[5, 77, 130], max_tokens=1, echo=True, logprobs=1, temperature=0)
    assert echoed.choices[0].logprobs.token_logprobs[0] is None
    assert len(echoed.choices[0].logprobs.tokens) == 4


def tools() -> None:
    tool = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA, "strict": True}}
    answer = client.chat.completions.create(model="tiny", messages=HELLO, tools=[tool], tool_choice="required", seed=1)
    calls = answer.choices[0].message.tool_calls
    assert answer.choices[0].finish_reason == "tool_calls"
    assert all(json.loads(call.function.arguments)["city"] in ("Oslo", "Rome") for call in calls)
    with client.chat.completions.stream(model="tiny", messages=HELLO, tools=[tool], tool_choice="required", seed=1) as stream:
        stream.until_done()
        final = stream.get_final_completion()
    streamed = [call.function.arguments for call in final.choices[0].message.tool_calls]
    assert streamed == [call.function.arguments for call in calls]


def schemas() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "trip", "schema": SCHEMA, "strict": True}}
    answer = client.chat.completions.create(model="tiny", messages=HELLO, response_format=form, temperature=1.5)
    assert json.loads(answer.choices[0].message.content)["city"] in ("Oslo", "Rome")


def responses() -> None:
    asked = dict(model="tiny", input="Hello!", max_output_tokens=16, temperature=0)
    whole = client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
    assert text == whole.output_text


def embeddings() -> None:
    vectors = client.embeddings.create(model="tiny", input=["one", "two"]).data
    assert abs(sum(x * x for x in vectors[0].embedding) - 1) < 1e-3
    assert len(client.models.list().data) == 1


def errors() -> None:
    def refused(kind: type, code: str, **fields: object) -> None:
        try:
            client.chat.completions.create(**{**CHAT, **fields})
        except kind as error:
            assert error.code == code, error
        else:
            raise AssertionError(f"{code} was not refused")

    refused(openai.NotFoundError, "model_not_found", model="other")
    refused(openai.BadRequestError, "context_length_exceeded", messages=[{"role": "user", "content": "word " * 500}])
    refused(openai.BadRequestError, "invalid_type", temperature="hot")
    refused(openai.BadRequestError, "unknown_parameter", extra_body={"unheard_of": 1})
    try:
        openai.OpenAI(api_key="wrong", max_retries=0).models.list()
    except openai.AuthenticationError as error:
        assert error.code == "invalid_api_key"
    else:
        raise AssertionError("a wrong key was taken")


async def cancellation() -> None:
    endless = {**CHAT, "max_completion_tokens": 200}
    async with openai.AsyncOpenAI(max_retries=0) as asynchronous:
        stream = await asynchronous.chat.completions.create(**endless, stream=True)
        async for _ in stream:
            break
        await stream.close()
        task = asyncio.create_task(asynchronous.chat.completions.create(**endless, n=8))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


for test in (chat, logprobs, tools, schemas, responses, embeddings, errors):
    test()
    print(test.__name__, "passed")
asyncio.run(cancellation())
print("all passed")
