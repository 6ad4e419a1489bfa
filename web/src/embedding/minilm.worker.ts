// MiniLM: tokens (at most 256, [CLS] first, [SEP] last) -> network -> mean over the real tokens -> length 1. What it computes is held to
// Python's numbers by tests/fixtures/minilm_vectors.json.
//
// Work is done in small batches. Between two of them the worker hears what was cancelled, and takes the job with the least left: a question
// does not wait for a document.

/// <reference lib="webworker" />
import { Tokenizer } from "@huggingface/tokenizers";
import * as ort from "onnxruntime-web/wasm";
import mjs from "onnxruntime-web/ort-wasm-simd-threaded.mjs?url";
import wasm from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import type { EmbedderFiles, FromWorker, ToWorker } from "./embedder";
import { cutTokens, tokenIds } from "./tokens";

interface Network {
  readonly tokenizer: Tokenizer;
  readonly session: ort.InferenceSession;
  readonly maxTokens: number;
}
interface Job {
  readonly texts: readonly string[];
  next: number;
}

/** Padded tokens in one run, as few as keep the worker able to hear. */
const BATCH_TOKENS = 512;

const scope = self as unknown as DedicatedWorkerGlobalScope;
const say = (message: FromWorker, transfer: Transferable[] = []) => scope.postMessage(message, transfer);
const jobs = new Map<number, Job>();
let network: Promise<Network> | null = null;
let busy = false;

scope.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "load") network = load(data.files);
  else if (data.kind === "cancel") jobs.delete(data.job);
  else jobs.set(data.job, { texts: data.texts, next: 0 });
  if (!busy) void work();
};

async function load(files: EmbedderFiles): Promise<Network> {
  ort.env.wasm.wasmPaths = { mjs: new URL(mjs, location.origin).href, wasm: new URL(wasm, location.origin).href };
  // More would need shared memory, which a page has only when it is cut off from every other origin.
  ort.env.wasm.numThreads = 1;
  const [weights, tokenizer] = await Promise.all([fetchFile(files.weights.path), fetchFile(files.tokenizer.path)]);
  const session = await ort.InferenceSession.create(new Uint8Array(await weights.arrayBuffer()), {
    executionProviders: ["wasm"],
    // Optimizing the graph doubles the memory (460 MB for 190) for a little speed.
    graphOptimizationLevel: "disabled",
  });
  return { tokenizer: new Tokenizer((await tokenizer.json()) as object, {}), session, maxTokens: files.max_tokens };
}

async function fetchFile(path: string): Promise<Response> {
  const response = await fetch(path, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`The server did not give a file of the embedder (${response.status}).`);
  return response;
}

async function work(): Promise<void> {
  busy = true;
  try {
    const loaded = await network!;
    while (jobs.size) {
      await runBatch(loaded, ...leastLeft());
      // A task of its own, so that messages are heard in between.
      await new Promise((resolve) => setTimeout(resolve));
    }
  } catch (error) {
    say({ kind: "failed", job: null, message: error instanceof Error ? error.message : String(error) });
  } finally {
    busy = false;
  }
}

function leastLeft(): [number, Job] {
  const left = ([, job]: [number, Job]) => job.texts.length - job.next;
  return [...jobs].reduce((least, each) => (left(each) < left(least) ? each : least));
}

async function runBatch(loaded: Network, id: number, job: Job): Promise<void> {
  const from = job.next;
  const rows: number[][] = [];
  let longest = 0;
  while (job.next < job.texts.length) {
    const row = cutTokens(
      tokenIds((text) => loaded.tokenizer.encode(text).ids, job.texts[job.next]!, loaded.maxTokens),
      loaded.maxTokens,
    );
    longest = Math.max(longest, row.length);
    if (rows.length && (rows.length + 1) * longest > BATCH_TOKENS) break;
    rows.push(row);
    job.next += 1;
  }
  const vectors = await embedRows(loaded.session, rows);
  if (!jobs.has(id)) return;
  say(
    { kind: "vectors", job: id, from, vectors },
    vectors.map((vector) => vector.buffer),
  );
  if (job.next < job.texts.length) return;
  jobs.delete(id);
  say({ kind: "done", job: id });
}

async function embedRows(session: ort.InferenceSession, rows: number[][]): Promise<Float32Array<ArrayBuffer>[]> {
  const width = Math.max(...rows.map((row) => row.length));
  const ids = new BigInt64Array(rows.length * width); // 0 is [PAD]
  const mask = new BigInt64Array(rows.length * width);
  rows.forEach((row, place) =>
    row.forEach((token, at) => {
      ids[place * width + at] = BigInt(token);
      mask[place * width + at] = 1n;
    }),
  );
  const tensor = (data: BigInt64Array) => new ort.Tensor("int64", data, [rows.length, width]);
  const given = {
    input_ids: tensor(ids),
    attention_mask: tensor(mask),
    token_type_ids: tensor(new BigInt64Array(ids.length)),
  };
  const output = (await session.run(given, ["last_hidden_state"]))["last_hidden_state"]!;
  const [hidden, size] = [output.data as Float32Array, output.dims[2]!];
  return rows.map((row, place) => meanOfLengthOne(hidden, place * width * size, row.length, size));
}

function meanOfLengthOne(hidden: Float32Array, start: number, count: number, size: number): Float32Array<ArrayBuffer> {
  const sums = new Float64Array(size);
  for (let token = 0; token < count; token++)
    for (let at = 0; at < size; at++) sums[at]! += hidden[start + token * size + at]!;
  const length = Math.hypot(...sums) || 1;
  return Float32Array.from(sums, (sum) => sum / length);
}
