/**
 * Writes a tiny llama model with random weights (a few hundred KB) for tests against a real llama.cpp server:
 *
 *   node scripts/engines/tiny-gguf.mjs OUT.gguf [--layers 2] [--width 64] [--context 32768] [--seed 1]
 *
 * The model talks nonsense, but the server does real work: tokenizing, batching, KV cache, prefix reuse, streaming.
 * Rows of control and byte tokens are zero in the output matrix, so greedy decoding always gives printable text and
 * never ends by itself.
 */
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    layers: { type: "string", default: "2" },
    width: { type: "string", default: "64" },
    context: { type: "string", default: "32768" },
    seed: { type: "string", default: "1" },
  },
});
const out = positionals[0];
if (out === undefined || positionals.length !== 1) {
  console.error(
    "usage: node scripts/engines/tiny-gguf.mjs OUT.gguf [--layers N] [--width N] [--context N] [--seed N]",
  );
  process.exit(2);
}
const layers = Number(flags.layers);
const width = Number(flags.width);
const context = Number(flags.context);
const heads = 4;
const headsKv = 2;
const hidden = width * 2;
const kvWidth = (width / heads) * headsKv;

// GGUF's own numbers for value types, token types and tensor types.
const U32 = 4;
const I32 = 5;
const F32 = 6;
const STRING = 8;
const ARRAY = 9;
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const BYTE = 6;
const TENSOR_F32 = 0;
const TENSOR_F16 = 1;
const ALIGNMENT = 32;

/** Sentencepiece-style vocabulary: control, bytes, printable characters, and some pieces for merging. */
function vocabulary() {
  const tokens = [
    ["<unk>", 0, UNKNOWN],
    ["<s>", 0, CONTROL],
    ["</s>", 0, CONTROL],
  ];
  for (let byte = 0; byte < 256; byte++) {
    tokens.push([`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`, 0, BYTE]);
  }
  const letters = "abcdefghijklmnopqrstuvwxyz".split("");
  const pieces = ["▁"];
  for (let code = 33; code < 127; code++) pieces.push(String.fromCharCode(code));
  for (const letter of letters) pieces.push(`▁${letter}`);
  for (const vowel of ["a", "e", "i", "o", "u"]) {
    for (const letter of letters) pieces.push(letter + vowel);
    for (const letter of ["n", "r", "s", "t", "l"]) pieces.push(vowel + letter);
  }
  pieces.push(
    "▁th",
    "▁the",
    "▁an",
    "▁and",
    "▁to",
    "▁of",
    "▁in",
    "▁is",
    "▁re",
    "▁co",
    "th",
    "ing",
    "ion",
    "st",
  );
  const seen = new Set();
  for (const piece of pieces) {
    if (seen.has(piece)) continue;
    seen.add(piece);
    tokens.push([piece, piece.length === 1 ? -1e4 : -tokens.length, NORMAL]);
  }
  return tokens;
}

/** mulberry32: the same seed gives the same file. */
function randomSource(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const uniform = randomSource(Number(flags.seed));
const gaussian = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());

/** IEEE half from a double; values here are small and normal, so rounding to nearest is enough. */
const scratch = new DataView(new ArrayBuffer(4));
function half(value) {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  if (exponent <= 0) return sign;
  const rounded = (exponent << 10) + ((bits & 0x7fffff) >>> 13) + ((bits >>> 12) & 1);
  return sign | Math.min(rounded, 0x7bff);
}

const parts = [];
const bytes = (size, set) => {
  const buffer = Buffer.alloc(size);
  set(buffer);
  parts.push(buffer);
};
const u32 = (value) => bytes(4, (b) => b.writeUInt32LE(value));
const u64 = (value) => bytes(8, (b) => b.writeBigUInt64LE(BigInt(value)));
const text = (value) => {
  const encoded = Buffer.from(value, "utf8");
  u64(encoded.length);
  parts.push(encoded);
};
const scalar = (type, value) => {
  if (type === STRING) text(value);
  else if (type === F32) bytes(4, (b) => b.writeFloatLE(value));
  else if (type === I32) bytes(4, (b) => b.writeInt32LE(value));
  else u32(value);
};

const tokens = vocabulary();
const facts = [
  ["general.architecture", STRING, "llama"],
  ["general.name", STRING, "reprise-tiny-random"],
  ["general.alignment", U32, ALIGNMENT],
  ["llama.context_length", U32, context],
  ["llama.embedding_length", U32, width],
  ["llama.block_count", U32, layers],
  ["llama.feed_forward_length", U32, hidden],
  ["llama.attention.head_count", U32, heads],
  ["llama.attention.head_count_kv", U32, headsKv],
  ["llama.attention.layer_norm_rms_epsilon", F32, 1e-5],
  ["llama.rope.dimension_count", U32, width / heads],
  ["llama.vocab_size", U32, tokens.length],
  ["tokenizer.ggml.model", STRING, "llama"],
  ["tokenizer.ggml.tokens", ARRAY, [STRING, tokens.map(([piece]) => piece)]],
  ["tokenizer.ggml.scores", ARRAY, [F32, tokens.map(([, score]) => score)]],
  ["tokenizer.ggml.token_type", ARRAY, [I32, tokens.map(([, , type]) => type)]],
  ["tokenizer.ggml.unknown_token_id", U32, 0],
  ["tokenizer.ggml.bos_token_id", U32, 1],
  ["tokenizer.ggml.eos_token_id", U32, 2],
  [
    "tokenizer.chat_template",
    STRING,
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:",
  ],
];

const random = (scale) => () => gaussian() * scale;
const printable = (row) => tokens[row][2] === NORMAL && !/^[▁]$/.test(tokens[row][0]);
const tensors = [
  ["token_embd.weight", [width, tokens.length], TENSOR_F16, random(1)],
  [
    "output.weight",
    [width, tokens.length],
    TENSOR_F16,
    (at) => (printable(Math.floor(at / width)) ? gaussian() : 0),
  ],
  ["output_norm.weight", [width], TENSOR_F32, () => 1],
];
for (let layer = 0; layer < layers; layer++) {
  const scale = 1 / Math.sqrt(width);
  tensors.push(
    [`blk.${layer}.attn_norm.weight`, [width], TENSOR_F32, () => 1],
    [`blk.${layer}.ffn_norm.weight`, [width], TENSOR_F32, () => 1],
    [`blk.${layer}.attn_q.weight`, [width, width], TENSOR_F16, random(scale)],
    [`blk.${layer}.attn_k.weight`, [width, kvWidth], TENSOR_F16, random(scale)],
    [`blk.${layer}.attn_v.weight`, [width, kvWidth], TENSOR_F16, random(scale)],
    [`blk.${layer}.attn_output.weight`, [width, width], TENSOR_F16, random(scale)],
    [`blk.${layer}.ffn_gate.weight`, [width, hidden], TENSOR_F16, random(scale)],
    [`blk.${layer}.ffn_up.weight`, [width, hidden], TENSOR_F16, random(scale)],
    [`blk.${layer}.ffn_down.weight`, [hidden, width], TENSOR_F16, random(1 / Math.sqrt(hidden))],
  );
}

parts.push(Buffer.from("GGUF"));
u32(3);
u64(tensors.length);
u64(facts.length);
for (const [key, type, value] of facts) {
  text(key);
  u32(type);
  if (type === ARRAY) {
    const [elementType, elements] = value;
    u32(elementType);
    u64(elements.length);
    for (const element of elements) scalar(elementType, element);
  } else {
    scalar(type, value);
  }
}
const padded = (size) => Math.ceil(size / ALIGNMENT) * ALIGNMENT;
const sizeOf = ([, dims, type]) => dims.reduce((a, b) => a * b, 1) * (type === TENSOR_F16 ? 2 : 4);
let offset = 0;
for (const tensor of tensors) {
  const [name, dims, type] = tensor;
  text(name);
  u32(dims.length);
  for (const dim of dims) u64(dim);
  u32(type);
  u64(offset);
  offset += padded(sizeOf(tensor));
}
const headSize = parts.reduce((sum, part) => sum + part.length, 0);
parts.push(Buffer.alloc(padded(headSize) - headSize));
for (const tensor of tensors) {
  const [, dims, type, value] = tensor;
  const count = dims.reduce((a, b) => a * b, 1);
  const data = Buffer.alloc(padded(sizeOf(tensor)));
  for (let at = 0; at < count; at++) {
    if (type === TENSOR_F16) data.writeUInt16LE(half(value(at)), at * 2);
    else data.writeFloatLE(value(at), at * 4);
  }
  parts.push(data);
}

mkdirSync(dirname(out), { recursive: true });
const file = openSync(out, "w");
for (const part of parts) writeSync(file, part);
closeSync(file);
console.log(
  `${out}: ${layers} layers x ${width}, ${tokens.length} tokens, ${parts.reduce((s, p) => s + p.length, 0)} bytes`,
);
