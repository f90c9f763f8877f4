"""A word-piece tokenizer in ChatTTS's file format, made from nothing.

It has as many entries as the weights want: BERT's specials, ASCII, punctuation, Chinese
characters in the order of their code points, then the control tokens.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

CONTROL = (
    *"[Sasr] [Pasr] [Easr] [Stts] [Ptts] [Etts] [Sbreak] [Pbreak] [Ebreak]".split(),
    *"[uv_break] [v_break] [lbreak] [llbreak] [undefine] [laugh]".split(),
    *"[spk_emb] [empty_spk] [music] [pure]".split(),
    *(f"[break_{i}]" for i in range(8)),
    *(f"[laugh_{i}]" for i in range(3)),
    *(f"[oral_{i}]" for i in range(10)),
    *(f"[speed_{i}]" for i in range(10)),
)
"""The 50 control tokens that follow the base vocabulary: 21128 + 50 = 21178."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NAMES = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
WORDS = "the to and of is in you that it for this hello world speech text model"
FIRST_CHARACTER = 0x4E00


def base_vocabulary(count: int) -> list[str]:
    """Distinct word pieces, always the same.

    Args:
        count: How many.

    Returns:
        The pieces in the order of their ids.

    Raises:
        ValueError: If so few leave no room for a Chinese character.
    """
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = [*SPECIAL, *letters, *("##" + letter for letter in letters)]
    pieces += [*"0123456789", *",.?!'-", *"，。？！、；：", *WORDS.split()]
    pieces = list(dict.fromkeys(pieces))
    if len(pieces) >= count:
        raise ValueError(f"a vocabulary of {count} is too small")
    rest = count - len(pieces)
    return pieces + [chr(FIRST_CHARACTER + index) for index in range(rest)]


def write_tokenizer(folder: Path, entries: int) -> None:
    """Write ``tokenizer.json`` and its two companions.

    Args:
        folder: Where; it exists.
        entries: Size of the vocabulary, control tokens included.
    """
    vocabulary = base_vocabulary(entries - len(CONTROL))
    ids = {piece: index for index, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    marks = [*SPECIAL, *CONTROL]
    tokenizer.add_special_tokens(
        [AddedToken(mark, special=True, normalized=False) for mark in marks]
    )
    if tokenizer.get_vocab_size() != entries:
        raise ValueError(f"{tokenizer.get_vocab_size()} entries instead of {entries}")
    tokenizer.save(str(folder / "tokenizer.json"))
    added = {
        str(tokenizer.token_to_id(mark)): {
            "content": mark,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": True,
        }
        for mark in marks
    }
    names = {"additional_special_tokens": list(CONTROL), **NAMES}
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": True,
        "tokenize_chinese_chars": True,
        "strip_accents": None,
        "clean_up_tokenization_spaces": True,
        "model_max_length": 10**9,
        "added_tokens_decoder": added,
        **names,
    }
    write_json(folder / "special_tokens_map.json", names)
    write_json(folder / "tokenizer_config.json", config)


def write_json(path: Path, content: Any) -> None:
    """Write JSON that is the same each time."""
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
    path.write_text(text, encoding="utf-8")
