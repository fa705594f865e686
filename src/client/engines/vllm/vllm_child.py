"""vLLM's async engine behind two pipes: requests as lines of JSON on stdin, events as lines of JSON on descriptor 3.

Started by Reprise (`--backend vllm` without an address) with the engine's own flags as arguments. stdout and stderr carry what
vLLM prints. The engine and all its processes end when stdin does, so nothing is left behind if Reprise dies.

In:   submit {id, prompt, max_tokens, force, stream, text, fields} | abort {id} | time {call} | tokenize {call, text, special}
      | detokenize {call, ids} | metrics {call}
Out:  ready {version, model, facts} | tok {i, n, at[, x]} | end {i, at, reason, prompt, output, cached, ...} | fail {i, kind, message, at}
      | reply {call, ...} | dead {message}
Instants (`at`) are CLOCK_MONOTONIC in ns, taken when the engine's output is in hand, before anything is written.
"""

import asyncio
import inspect
import json
import os
import signal
import sys
import threading
import time
from collections import deque

EVENTS = 3
# Longer than vLLM takes to stop its own processes: what is killed earlier leaves shared memory behind.
GRACE_S = 30.0


class Writer:
    """Writes on a thread of its own: a slow reader must never hold up the engine, nor shift an instant."""

    def __init__(self, fd):
        self.fd = fd
        self.lines = deque()
        self.ready = threading.Condition()
        self.idle = True
        threading.Thread(target=self.run, daemon=True).start()

    def send(self, event):
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        with self.ready:
            self.lines.append(line)
            self.ready.notify()

    def run(self):
        while True:
            with self.ready:
                while not self.lines:
                    self.idle = True
                    self.ready.notify_all()
                    self.ready.wait()
                self.idle = False
                lines = list(self.lines)
                self.lines.clear()
            data = memoryview(("\n".join(lines) + "\n").encode("utf-8", "replace"))
            try:
                while data:
                    data = data[os.write(self.fd, data) :]
            except OSError:
                return

    def flush(self, limit_s):
        with self.ready:
            self.ready.wait_for(lambda: self.idle and not self.lines, limit_s)


def refusal(error):
    """Does the error say that the request can never work? (vLLM has its own classes for that in newer versions.)"""
    names = {cls.__name__ for cls in type(error).__mro__}
    return isinstance(error, (ValueError, TypeError)) or "VLLMClientError" in names


def is_dead(error):
    return type(error).__name__ == "EngineDeadError"


def flat_messages(messages):
    """Content parts as one text, and tool arguments as objects: what chat templates expect."""
    flat = []
    for message in messages:
        message = dict(message)
        content = message.get("content")
        if isinstance(content, list):
            texts = []
            for part in content:
                if not isinstance(part, dict) or not isinstance(part.get("text"), str):
                    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
                    raise ValueError(f"messages: a part of type {kind} is not text")
                texts.append(part["text"])
            message["content"] = "\n".join(texts)
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            message["tool_calls"] = [with_object_arguments(call) for call in calls]
        flat.append(message)
    return flat


def with_object_arguments(call):
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError:
        return call
    return {**call, "function": {**function, "arguments": arguments}}


class Server:
    def __init__(self, engine, tokenizer, writer, sampling, loop):
        self.engine = engine
        self.tokenizer = tokenizer
        self.writer = writer
        self.SamplingParams, self.output_kind = sampling
        self.known = set(inspect.signature(self.SamplingParams).parameters)
        self.loop = loop
        self.tasks = {}
        self.stopped = asyncio.Event()

    # -- requests ---------------------------------------------------------------------------------------------------

    def submit(self, message):
        number = message["id"]
        task = self.loop.create_task(self.serve(number, message))
        self.tasks[number] = task
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    async def serve(self, number, message):
        try:
            await self.generate(number, message)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # every failure is the request's own, unless the engine is gone
            at = time.monotonic_ns()
            kind = "refused" if refusal(error) else "engine"
            text = f"{type(error).__name__}: {error}" if kind == "engine" else str(error)
            if kind == "engine" and error.__cause__ is not None:
                text += f" ({type(error.__cause__).__name__}: {error.__cause__})"
            self.writer.send({"e": "fail", "i": number, "kind": kind, "message": text[:2000], "at": at})
            if is_dead(error):
                self.writer.send({"e": "dead", "message": text[:2000]})
                self.stopped.set()

    async def generate(self, number, message):
        params, ignored = self.sampling_params(message)
        prompt = self.prompt_of(message["prompt"])
        keep_text = message.get("text", False)
        output = 0
        last = None
        pieces = []
        at = time.monotonic_ns()
        async for last in self.engine.generate(prompt, params, f"reprise-{number}"):
            at = time.monotonic_ns()
            part = last.outputs[0]
            count = len(part.token_ids)
            output += count
            if keep_text and part.text:
                pieces.append(part.text)
            # The end-of-sequence token is counted, and gives nothing out.
            silent = count == 0 or (count == 1 and not part.text and part.finish_reason == "stop")
            if message["stream"] and not silent:
                self.writer.send({"e": "tok", "i": number, "n": count, "at": at})
        if last is None:
            raise RuntimeError("the engine ended without an answer")
        part = last.outputs[0]
        event = {
            "e": "end",
            "i": number,
            "at": at,
            "reason": part.finish_reason or "stop",
            "prompt": len(last.prompt_token_ids or ()),
            "output": output,
            "cached": getattr(last, "num_cached_tokens", None),
            **phases(getattr(last, "metrics", None)),
        }
        if keep_text:
            event["text"] = "".join(pieces)
        if ignored:
            event["ignored"] = ignored
        self.writer.send(event)

    def sampling_params(self, message):
        wanted = {**message.get("fields", {}), "max_tokens": message["max_tokens"]}
        if message["force"]:
            wanted["ignore_eos"] = True
            wanted["min_tokens"] = message["max_tokens"]
        if message["max_tokens"] is None:
            wanted["max_tokens"] = None
        fields = {key: value for key, value in wanted.items() if key in self.known and key != "output_kind"}
        ignored = sorted(key for key in wanted if key not in fields)
        kind = self.output_kind.DELTA if message["stream"] else self.output_kind.FINAL_ONLY
        return self.SamplingParams(**fields, output_kind=kind), ignored

    def prompt_of(self, prompt):
        if prompt["kind"] == "ids":
            return {"prompt_token_ids": prompt["ids"]}
        if prompt["kind"] == "text":
            return {"prompt": prompt["text"]}
        if self.tokenizer is None:
            raise ValueError("messages need the model's tokenizer, which was not loaded (--skip-tokenizer-init)")
        text = self.tokenizer.apply_chat_template(
            flat_messages(prompt["messages"]),
            tools=prompt.get("tools") or None,
            add_generation_prompt=True,
            tokenize=False,
        )
        return {"prompt_token_ids": self.encode(text, False)}

    def encode(self, text, special):
        return list(self.tokenizer.encode(text, add_special_tokens=special))

    def abort(self, message):
        task = self.tasks.get(message["id"])
        if task is not None:
            task.cancel()

    # -- questions --------------------------------------------------------------------------------------------------

    def answer(self, message):
        call = message["call"]
        try:
            self.writer.send({"e": "reply", "call": call, **self.reply(message)})
        except Exception as error:
            self.writer.send({"e": "reply", "call": call, "error": f"{type(error).__name__}: {error}"[:2000]})

    def reply(self, message):
        op = message["op"]
        if op == "metrics":
            from prometheus_client import generate_latest

            return {"text": generate_latest().decode("utf-8")}
        if self.tokenizer is None:
            return {"error": "the tokenizer was not loaded"}
        if op == "tokenize":
            return {"tokens": self.encode(message["text"], message.get("special", False))}
        return {"text": self.tokenizer.decode(message["ids"])}

    def handle(self, message):
        op = message["op"]
        if op == "submit":
            self.submit(message)
        elif op == "abort":
            self.abort(message)
        else:
            self.answer(message)


def phases(stats):
    """The engine core's own instants of the request, as durations in ms; nothing where it keeps none."""

    def between(begin, end):
        a, b = getattr(stats, begin, 0) or 0, getattr(stats, end, 0) or 0
        return (b - a) * 1000 if a > 0 and b >= a else None

    if stats is None:
        return {}
    return {
        "queue": between("queued_ts", "scheduled_ts"),
        "prefill": between("scheduled_ts", "first_token_ts"),
        "decode": between("first_token_ts", "last_token_ts"),
        "preemptions": getattr(stats, "num_preemptions", None),
    }


class Inbox:
    """Reads stdin on a thread, from the very start: the clock is answered at once, whatever the event loop is busy with, and an end of
    stdin ends the engine even while it loads."""

    def __init__(self, writer):
        self.writer = writer
        self.server = None
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        rest = b""
        while True:
            # Not sys.stdin: a thread that waits in it holds a lock, also in whatever is forked meanwhile.
            data = os.read(0, 1 << 16)
            if not data:
                break
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            for line in lines:
                self.take(json.loads(line))
        self.leave()

    def take(self, message):
        if message["op"] == "time":
            self.writer.send({"e": "reply", "call": message["call"], "at": time.monotonic_ns()})
        elif self.server is not None:
            self.server.loop.call_soon_threadsafe(self.server.handle, message)

    def leave(self):
        """Reprise is done, or gone. What has not ended after the grace is killed, this process with it."""
        if self.server is not None:
            try:
                self.server.loop.call_soon_threadsafe(self.server.stopped.set)
            except RuntimeError:
                pass
            time.sleep(GRACE_S)
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


async def main():
    writer = Writer(EVENTS)
    inbox = Inbox(writer)

    import vllm
    from vllm import AsyncEngineArgs, SamplingParams
    from vllm.engine.async_llm_engine import AsyncLLMEngine
    from vllm.sampling_params import RequestOutputKind

    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser

    parser = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser(prog="vllm", allow_abbrev=False))
    arguments = AsyncEngineArgs.from_cli_args(parser.parse_args(sys.argv[1:]))
    engine = AsyncLLMEngine.from_engine_args(arguments)
    tokenizer = None
    if not getattr(arguments, "skip_tokenizer_init", False):
        tokenizer = engine.get_tokenizer()
        if inspect.isawaitable(tokenizer):
            tokenizer = await tokenizer
    loop = asyncio.get_running_loop()
    server = Server(engine, tokenizer, writer, (SamplingParams, RequestOutputKind), loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stopped.set)
    inbox.server = server
    served = getattr(arguments, "served_model_name", None)
    writer.send(
        {
            "e": "ready",
            "version": getattr(vllm, "__version__", None),
            "model": (served[0] if isinstance(served, list) else served) or arguments.model,
            "facts": facts_of(engine),
        }
    )
    await server.stopped.wait()
    for task in list(server.tasks.values()):
        task.cancel()
    engine.shutdown()
    writer.flush(1.0)
    os._exit(0)


def facts_of(engine):
    """What a reader of the results needs to know of the configuration; nothing where this version keeps it elsewhere."""
    config = getattr(engine, "vllm_config", None)
    places = {
        "max_num_seqs": ("scheduler_config", "max_num_seqs"),
        "max_num_batched_tokens": ("scheduler_config", "max_num_batched_tokens"),
        "max_model_len": ("model_config", "max_model_len"),
        "dtype": ("model_config", "dtype"),
        "enforce_eager": ("model_config", "enforce_eager"),
        "enable_prefix_caching": ("cache_config", "enable_prefix_caching"),
        "block_size": ("cache_config", "block_size"),
        "num_gpu_blocks": ("cache_config", "num_gpu_blocks"),
        "tensor_parallel_size": ("parallel_config", "tensor_parallel_size"),
        "pipeline_parallel_size": ("parallel_config", "pipeline_parallel_size"),
        "data_parallel_size": ("parallel_config", "data_parallel_size"),
    }
    facts = {}
    for name, (section, key) in places.items():
        value = getattr(getattr(config, section, None), key, None)
        if value is not None:
            facts[name] = value if isinstance(value, (bool, int, float)) else str(value)
    return facts


if __name__ == "__main__":
    # vLLM prints where it likes; only this script writes events, and no process of the engine's keeps the pipe open.
    os.set_inheritable(EVENTS, False)
    os.dup2(2, 1)
    asyncio.run(main())
