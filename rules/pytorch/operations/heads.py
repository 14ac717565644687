"""Models of libraries that compute their loss by themselves, and what it is a mean over."""

from __future__ import annotations

from transpile.plan.vocabulary import Head

#: Ends of the names of classes of transformers whose loss is a mean over the samples.
OVER_SAMPLES = ("ForSequenceClassification", "ForMultipleChoice", "ForNextSentencePrediction")
#: Of those whose loss is a mean over the labels other than -100.
OVER_LABELS = ("ForTokenClassification", "ForMaskedLM", "ForSeq2SeqLM")
#: Models with an encoder and a decoder, whose loss is one, too.
TRANSLATING = frozenset(
    f"{name}ForConditionalGeneration"
    for name in ("T5", "MT5", "UMT5", "LongT5", "Bart", "MBart", "Pegasus", "Blenderbot", "M2M100",
                 "LED", "BigBirdPegasus", "Whisper", "FSMT")
)  # fmt: skip
#: Of those whose loss is a mean over the labels other than -100 behind the first of each row.
OVER_NEXT_LABELS = ("ForCausalLM",)
PREDICTING = frozenset({"GPT2LMHeadModel", "OpenAIGPTLMHeadModel", "BertLMHeadModel"})
#: Models of pictures and sounds that take one label for each sample.
CLASSIFYING = ("ForImageClassification", "ForAudioClassification")
#: Those whose loss is another one than the names say.
OTHERS = ("XLNet", "XLM", "Reformer", "TransfoXL", "CTRL", "ProphetNet", "Moshi", "Bamba")


def head_of(name: str) -> Head | None:
    """The head of a library's model that computes its loss, by the name of what makes it."""
    package, _, rest = name.partition(".")
    made = rest.removesuffix(".from_pretrained").removesuffix(".from_config").rpartition(".")[2]
    backbone = made.endswith("Model") and not made.endswith(("HeadModel", "HeadsModel"))
    if package != "transformers" or not made[:1].isupper() or backbone:
        return None
    if made.startswith("DataCollator"):
        return None
    if made.startswith(OTHERS):
        return Head("")
    if made.endswith((*OVER_SAMPLES, *CLASSIFYING)):
        return Head("samples")
    if made.endswith(OVER_LABELS) or made in TRANSLATING or made == "MarianMTModel":
        return Head("labels")
    if made.endswith(OVER_NEXT_LABELS) or made in PREDICTING:
        return Head("next labels")
    return Head("")
