/**
 * Writes the folder of a tiny Llama model for servers that read Hugging Face folders (vLLM, SGLang), without weights:
 *
 *   node scripts/engines/tiny-hf.mjs OUT_FOLDER
 *
 * Start the server with `--load-format dummy`, which makes random weights up. One token a byte; a few KB in all.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const out = process.argv[2];
if (out === undefined || process.argv.length !== 3) {
  console.error("usage: node scripts/engines/tiny-hf.mjs OUT_FOLDER");
  process.exit(2);
}

/** The printable stand-in of each byte in a byte-level vocabulary: printable bytes are themselves, others follow 256. */
function byteCharacters() {
  const characters = [];
  let next = 256;
  for (let byte = 0; byte < 256; byte++) {
    const printable =
      (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
    characters.push(String.fromCharCode(printable ? byte : next++));
  }
  return characters;
}

const vocabulary = { "<s>": 0, "</s>": 1 };
for (const character of byteCharacters()) vocabulary[character] = Object.keys(vocabulary).length;
const special = (id, content) => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
});
const files = {
  "config.json": {
    architectures: ["LlamaForCausalLM"],
    model_type: "llama",
    vocab_size: 320,
    hidden_size: 128,
    intermediate_size: 256,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    head_dim: 32,
    hidden_act: "silu",
    max_position_embeddings: 32768,
    rms_norm_eps: 1e-5,
    rope_theta: 10000,
    bos_token_id: 0,
    eos_token_id: 1,
    tie_word_embeddings: false,
    torch_dtype: "bfloat16",
  },
  "generation_config.json": { bos_token_id: 0, eos_token_id: 1 },
  "tokenizer_config.json": {
    tokenizer_class: "PreTrainedTokenizerFast",
    bos_token: "<s>",
    eos_token: "</s>",
    model_max_length: 32768,
    chat_template:
      "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:",
  },
  "tokenizer.json": {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [special(0, "<s>"), special(1, "</s>")],
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: vocabulary,
      merges: [],
    },
  },
};
mkdirSync(out, { recursive: true });
for (const [name, content] of Object.entries(files))
  writeFileSync(join(out, name), `${JSON.stringify(content, null, 2)}\n`);
console.log(`${out}: ${Object.keys(files).join(", ")}`);
