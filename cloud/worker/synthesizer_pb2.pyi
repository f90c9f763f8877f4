from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Description(_message.Message):
    __slots__ = ("engine", "enforced", "ready", "slots", "jobs", "speaks")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    ENFORCED_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    SPEAKS_FIELD_NUMBER: _ClassVar[int]
    engine: str
    enforced: bool
    ready: bool
    slots: int
    jobs: int
    speaks: _containers.RepeatedCompositeFieldContainer[Speaks]
    def __init__(self, engine: _Optional[str] = ..., enforced: _Optional[bool] = ..., ready: _Optional[bool] = ..., slots: _Optional[int] = ..., jobs: _Optional[int] = ..., speaks: _Optional[_Iterable[_Union[Speaks, _Mapping]]] = ...) -> None: ...

class Speaks(_message.Message):
    __slots__ = ("voice", "dialect", "origin")
    VOICE_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    voice: str
    dialect: str
    origin: Origin
    def __init__(self, voice: _Optional[str] = ..., dialect: _Optional[str] = ..., origin: _Optional[_Union[Origin, _Mapping]] = ...) -> None: ...

class Origin(_message.Message):
    __slots__ = ("engine", "pack", "sha256", "verified")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    PACK_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    engine: str
    pack: str
    sha256: str
    verified: bool
    def __init__(self, engine: _Optional[str] = ..., pack: _Optional[str] = ..., sha256: _Optional[str] = ..., verified: _Optional[bool] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("utterance", "reading", "voice", "dialect", "speed", "pitch", "volume", "seed", "patience_s", "temperature", "top_p", "top_k", "repetition_penalty")
    UTTERANCE_FIELD_NUMBER: _ClassVar[int]
    READING_FIELD_NUMBER: _ClassVar[int]
    VOICE_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    PITCH_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_S_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    REPETITION_PENALTY_FIELD_NUMBER: _ClassVar[int]
    utterance: str
    reading: Reading
    voice: str
    dialect: str
    speed: float
    pitch: float
    volume: float
    seed: int
    patience_s: float
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    def __init__(self, utterance: _Optional[str] = ..., reading: _Optional[_Union[Reading, _Mapping]] = ..., voice: _Optional[str] = ..., dialect: _Optional[str] = ..., speed: _Optional[float] = ..., pitch: _Optional[float] = ..., volume: _Optional[float] = ..., seed: _Optional[int] = ..., patience_s: _Optional[float] = ..., temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., repetition_penalty: _Optional[float] = ...) -> None: ...

class Reading(_message.Message):
    __slots__ = ("text", "dialect", "spoken", "syllables", "surface", "units", "symbols", "spans")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    SPOKEN_FIELD_NUMBER: _ClassVar[int]
    SYLLABLES_FIELD_NUMBER: _ClassVar[int]
    SURFACE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    text: str
    dialect: str
    spoken: str
    syllables: _containers.RepeatedScalarFieldContainer[str]
    surface: _containers.RepeatedScalarFieldContainer[str]
    units: _containers.RepeatedCompositeFieldContainer[Unit]
    symbols: _containers.RepeatedCompositeFieldContainer[Symbol]
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    def __init__(self, text: _Optional[str] = ..., dialect: _Optional[str] = ..., spoken: _Optional[str] = ..., syllables: _Optional[_Iterable[str]] = ..., surface: _Optional[_Iterable[str]] = ..., units: _Optional[_Iterable[_Union[Unit, _Mapping]]] = ..., symbols: _Optional[_Iterable[_Union[Symbol, _Mapping]]] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end", "text", "spoken", "rule", "first", "count")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SPOKEN_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    text: str
    spoken: str
    rule: str
    first: int
    count: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ..., text: _Optional[str] = ..., spoken: _Optional[str] = ..., rule: _Optional[str] = ..., first: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Unit(_message.Message):
    __slots__ = ("value", "language", "is_pause", "starts_word", "ms", "speed", "pitch", "volume")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSE_FIELD_NUMBER: _ClassVar[int]
    STARTS_WORD_FIELD_NUMBER: _ClassVar[int]
    MS_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    PITCH_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    value: str
    language: str
    is_pause: bool
    starts_word: bool
    ms: int
    speed: int
    pitch: int
    volume: int
    def __init__(self, value: _Optional[str] = ..., language: _Optional[str] = ..., is_pause: _Optional[bool] = ..., starts_word: _Optional[bool] = ..., ms: _Optional[int] = ..., speed: _Optional[int] = ..., pitch: _Optional[int] = ..., volume: _Optional[int] = ...) -> None: ...

class Symbol(_message.Message):
    __slots__ = ("id", "start", "middle", "end", "stress", "ms", "speed", "pitch", "volume")
    ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    MIDDLE_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    STRESS_FIELD_NUMBER: _ClassVar[int]
    MS_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    PITCH_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    id: int
    start: int
    middle: int
    end: int
    stress: int
    ms: int
    speed: int
    pitch: int
    volume: int
    def __init__(self, id: _Optional[int] = ..., start: _Optional[int] = ..., middle: _Optional[int] = ..., end: _Optional[int] = ..., stress: _Optional[int] = ..., ms: _Optional[int] = ..., speed: _Optional[int] = ..., pitch: _Optional[int] = ..., volume: _Optional[int] = ...) -> None: ...

class Sound(_message.Message):
    __slots__ = ("samples",)
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    samples: bytes
    def __init__(self, samples: _Optional[bytes] = ...) -> None: ...

class Pauses(_message.Message):
    __slots__ = ("pauses",)
    PAUSES_FIELD_NUMBER: _ClassVar[int]
    pauses: _containers.RepeatedCompositeFieldContainer[Pause]
    def __init__(self, pauses: _Optional[_Iterable[_Union[Pause, _Mapping]]] = ...) -> None: ...

class Pause(_message.Message):
    __slots__ = ("symbols", "samples")
    SYMBOLS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    symbols: int
    samples: int
    def __init__(self, symbols: _Optional[int] = ..., samples: _Optional[int] = ...) -> None: ...
