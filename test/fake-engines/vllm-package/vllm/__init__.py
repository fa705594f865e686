"""A vLLM without a model: the parts of its interface that vllm_child.py uses, for tests of the pipes. It streams made-up tokens, 3 ms
apart, or misbehaves as its flags say."""

import argparse
import asyncio
import os
import sys
import time
from types import SimpleNamespace

from vllm.sampling_params import RequestOutputKind, SamplingParams  # noqa: F401

__version__ = "0.0-fake"


class AsyncEngineArgs(SimpleNamespace):
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model", required=True)
        parser.add_argument("--served-model-name", nargs="+")
        parser.add_argument("--max-model-len", type=int, default=4096)
        parser.add_argument("--max-num-seqs", type=int, default=8)
        parser.add_argument("--enforce-eager", action=argparse.BooleanOptionalAction, default=False)
        parser.add_argument("--step-ms", type=float, default=3)
        parser.add_argument("--tokens-a-step", type=int, default=1)
        parser.add_argument("--stop-after", type=int, help="end with the end-of-sequence token after so many")
        parser.add_argument("--load-s", type=float, default=0)
        parser.add_argument("--fail-start", help="raise this while loading")
        parser.add_argument("--die-after", type=int, help="exit with code 7 after so many tokens of all requests")
        parser.add_argument("--dead-after", type=int, help="raise EngineDeadError after so many tokens")
        parser.add_argument("--garbage-after", type=int, help="write nonsense to the pipe after so many tokens")
        parser.add_argument("--freeze-after", type=int, help="stop reading stdin for a while after so many tokens")
        parser.add_argument("--ignore-term", action="store_true")
        parser.add_argument("--log", help="file: one line for each request that began, was aborted")
        return parser

    @staticmethod
    def from_cli_args(arguments):
        return AsyncEngineArgs(**vars(arguments))


class FakeTokenizer:
    """One token for each character."""

    def encode(self, text, add_special_tokens=True):
        return ([1] if add_special_tokens else []) + [ord(c) for c in text]

    def decode(self, ids):
        return "".join(chr(i) for i in ids)

    def apply_chat_template(self, messages, tools=None, add_generation_prompt=True, tokenize=True):
        head = "".join(f"<tool {tool['function']['name']}>" for tool in tools or [])
        body = "".join(f"<{m['role']}>{m.get('content') or m.get('tool_calls')}" for m in messages)
        return head + body + "<assistant>"


class EngineDeadError(Exception):
    pass


class FakeEngine:
    def __init__(self, arguments):
        self.arguments = arguments
        self.tokens = 0
        self.seats = asyncio.Semaphore(arguments.max_num_seqs)
        self.vllm_config = SimpleNamespace(
            scheduler_config=SimpleNamespace(max_num_seqs=arguments.max_num_seqs),
            model_config=SimpleNamespace(max_model_len=arguments.max_model_len, dtype="torch.float32"),
        )
        if arguments.ignore_term:
            import signal

            # The child's own handler is set later: it is made to do nothing.
            asyncio.get_running_loop().add_signal_handler = lambda *_: None
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    @classmethod
    def from_engine_args(cls, arguments):
        print("fake vllm: loading", arguments.model, flush=True)
        time.sleep(arguments.load_s)
        if arguments.fail_start:
            raise RuntimeError(arguments.fail_start)
        return cls(arguments)

    def get_tokenizer(self):
        return FakeTokenizer()

    def log(self, text):
        if self.arguments.log:
            with open(self.arguments.log, "a") as file:
                file.write(text + "\n")

    async def generate(self, prompt, params, request_id):
        ids = prompt.get("prompt_token_ids")
        if ids is None:
            ids = FakeTokenizer().encode(prompt["prompt"])
        room = self.arguments.max_model_len - len(ids)
        limit = room if params.max_tokens is None else params.max_tokens
        if limit > room or room < 1:
            raise ValueError(f"the prompt of {len(ids)} tokens and {limit} of output do not fit max_model_len")
        queued = time.monotonic()
        self.log(f"begin {request_id}")
        try:
            async with self.seats:
                scheduled = time.monotonic()
                async for output in self.steps(ids, limit, params, queued, scheduled):
                    yield output
        except (asyncio.CancelledError, GeneratorExit):
            self.log(f"abort {request_id}")
            raise

    async def steps(self, ids, limit, params, queued, scheduled):
        arguments = self.arguments
        stop_after = None if params.ignore_eos else arguments.stop_after
        whole, done, first = [], 0, 0.0
        while True:
            await asyncio.sleep(arguments.step_ms / 1000)
            now = time.monotonic()
            first = first or now
            count = min(arguments.tokens_a_step, limit - done)
            ended = stop_after is not None and done + count >= stop_after
            reason = "stop" if ended else "length" if done + count >= limit else None
            text = "" if ended else "x" * count
            done += count
            whole.append((count, text))
            self.misbehave(count)
            stream = params.output_kind == RequestOutputKind.DELTA
            if stream or reason is not None:
                parts = whole[-1:] if stream else whole
                yield SimpleNamespace(
                    prompt_token_ids=ids,
                    num_cached_tokens=len(ids) // 16 * 16,
                    finished=reason is not None,
                    outputs=[
                        SimpleNamespace(
                            token_ids=[120] * sum(n for n, _ in parts),
                            text="".join(t for _, t in parts),
                            finish_reason=reason,
                        )
                    ],
                    metrics=SimpleNamespace(
                        queued_ts=queued,
                        scheduled_ts=scheduled,
                        first_token_ts=first,
                        last_token_ts=now,
                        num_preemptions=0,
                    ),
                )
            if reason is not None:
                return

    def misbehave(self, count):
        before, self.tokens = self.tokens, self.tokens + count

        def reached(mark):
            return mark is not None and before < mark <= self.tokens

        arguments = self.arguments
        if reached(arguments.die_after):
            print("fake vllm: CUDA out of memory", file=sys.stderr, flush=True)
            time.sleep(0.05)
            os._exit(7)
        if reached(arguments.dead_after):
            raise EngineDeadError("the core is gone")
        if reached(arguments.garbage_after):
            os.write(3, b"INFO something that does not belong here\n")
        if reached(arguments.freeze_after):
            time.sleep(0.5)

    async def reset_prefix_cache(self):
        return None

    def shutdown(self):
        self.log("shutdown")
