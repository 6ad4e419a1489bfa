import { expect, test } from "vitest";
import { contentOf, readMessage, readPictures } from "./messages";

const PICTURE = { mimeType: "image/png", base64: "QUJD" };
const BLOCK = { type: "image", base64: "QUJD", mime_type: "image/png" };

test("words alone are sent as text, images as LangChain's blocks after them", () => {
  expect(contentOf("Hi")).toBe("Hi");
  expect(contentOf("What is this?", [PICTURE])).toEqual([{ type: "text", text: "What is this?" }, BLOCK]);
  expect(contentOf("", [PICTURE])).toEqual([BLOCK]);
});

test("images are read in every form that clients send", () => {
  const older = { type: "image", source_type: "base64", data: "QUJD", mime_type: "image/png" };
  const url = { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } };
  for (const block of [BLOCK, older, url]) expect(readPictures(["text", block])).toEqual([PICTURE]);
});

test("what is not an image that a browser shows safely is not shown", () => {
  const svg = { type: "image", base64: "QUJD", mime_type: "image/svg+xml" };
  const html = { type: "image", base64: "QUJD", mime_type: "text/html" };
  const elsewhere = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
  expect(readPictures([svg, html, elsewhere, { type: "image" }, null, 3])).toEqual([]);
  expect(readPictures("text")).toEqual([]);
});

test("a message has its images beside its text", () => {
  const content = [{ type: "text", text: "What is this?" }, BLOCK];
  expect(readMessage({ type: "human", id: "1", content }, "", null)).toMatchObject({
    text: "What is this?",
    pictures: [PICTURE],
  });
  expect(readMessage({ type: "human", id: "1", content: "Hi" }, "", null)).not.toHaveProperty("pictures");
});

test("a skill that a run uses is no message of the user", () => {
  const wire = { id: "1", type: "human", content: "<skill>", additional_kwargs: { lc_source: "pinned_skill" } };
  expect(readMessage(wire, "", null)!.role).toBe("system");
});
