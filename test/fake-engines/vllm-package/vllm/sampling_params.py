from enum import Enum


class RequestOutputKind(Enum):
    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


class SamplingParams:
    def __init__(
        self,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        seed=None,
        max_tokens=16,
        min_tokens=0,
        ignore_eos=False,
        output_kind=RequestOutputKind.CUMULATIVE,
    ):
        if temperature is not None and temperature < 0:
            raise ValueError(f"temperature must be non-negative, got {temperature}")
        self.max_tokens = max_tokens
        self.min_tokens = min_tokens
        self.ignore_eos = ignore_eos
        self.output_kind = output_kind
