from vllm import FakeEngine as AsyncLLMEngine  # noqa: F401
