import { describe, expect, it } from "vitest";
import { detectReasoning, opensReasoning, ReasoningSplitter } from "./reasoning-splitter.ts";

const think = { open: "<think>", close: "</think>" };

const cases: readonly (readonly [what: string, opened: boolean, answer: string, reasoning: string, text: string])[] = [
  ["no reasoning", false, "Just <b>text</b> </think>.", "", "Just <b>text</b> </think>."],
  ["reasoning", false, "\n<think>\nHm, a < b.\n\nYes.\n</think>\n\nAnswer </think>", "Hm, a < b.\n\nYes.", "Answer </think>"],
  ["reasoning that the prompt opened", true, "Hm.\n</think>\n\nYes.", "Hm.", "Yes."],
  ["no thought", false, "<think>\n\n</think>\n\nYes.", "", "Yes."],
  ["no end", true, "Hm </th", "Hm </th", ""],
  ["no answer", true, "Hm </think> \n", "Hm", ""],
  ["half a mark", false, " <thi", "", " <thi"],
  ["nothing", false, "", "", ""],
  ["a tag that is another", false, "<thinker>", "", "<thinker>"],
]; // biome-ignore format: a table

describe("reasoning", () => {
  it.each(cases)("%s", (_, opened, answer, reasoning, text) => {
    for (const size of [1, 2, 5, 1000]) {
      const splitter = new ReasoningSplitter(think, opened);
      const pieces = [];
      for (let at = 0; at < answer.length; at += size) pieces.push(splitter.push(answer.slice(at, at + size)));
      pieces.push(splitter.flush());
      expect(pieces.map((piece) => piece.reasoning).join(""), `in pieces of ${size}`).toBe(reasoning);
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    }
  });

  it("is told by the chat template, and by the prompt whether it has begun", () => {
    expect(detectReasoning("{{ '<think>' }} … split('</think>')")).toEqual(think);
    expect(detectReasoning("<|im_start|>")).toBeUndefined();
    expect(opensReasoning("<|im_start|>assistant\n<think>\n", think)).toBe(true);
    expect(opensReasoning("<|im_start|>assistant\n<think>\n\n</think>\n\n", think)).toBe(false);
  });
});
