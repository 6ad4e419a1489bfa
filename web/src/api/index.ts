export * from "./client";
export * from "./langchain";
export * from "./request";
export * from "./sse";
