"""Steps of training with teacher forcing: the target shifted right, padding left out."""

import torch
from torch.nn import functional

from attn_course.practice.definition import Case, reference
from attn_course.practice.inputs import readable
from attn_course.translate import _

PAD, START, STOP = 0, 1, 2


def _context(query, keys):
    """Return what one query finds in the keys, which are the values too."""
    scores = keys @ query / len(query) ** 0.5
    return torch.softmax(scores, dim=-1) @ keys


def _logits(parameters, source, before):
    """Return the logits of the word that follows the words `before`.

    There is no mask: the source has no padding, and the decoder gets no word that comes later.
    """
    words = parameters["source"][source] + parameters["positions"][: len(source)]
    memory = torch.stack([word + _context(word, words) for word in words])
    written = parameters["target"][before] + parameters["positions"][: len(before)]
    y = written[-1] + _context(written[-1], written)
    return parameters["output"] @ (y + _context(y, memory))


def _loss(parameters, sources, targets):
    """Return the mean over all words of the batch, each predicted from the words before it."""
    losses = []
    for source, target in zip(sources, targets, strict=True):
        source, words = source[source != PAD], target[target != PAD]
        for t in range(len(words)):
            before = torch.cat([words.new_tensor([START]), words[:t]])
            probabilities = torch.log_softmax(_logits(parameters, source, before), dim=-1)
            losses.append(-probabilities[words[t]])
    return torch.stack(losses).mean()


@reference
def training_step(parameters, sources, targets, learning_rate):
    _require_sentences(parameters, sources, targets)
    now, losses = dict(parameters), []
    for source, target in zip(sources, targets, strict=True):
        tables = {name: table.detach().clone().requires_grad_() for name, table in now.items()}
        loss = _loss(tables, source, target)
        gradients = torch.autograd.grad(loss, list(tables.values()))
        pairs = zip(tables.items(), gradients, strict=True)
        now = {name: (table - learning_rate * slope).detach() for (name, table), slope in pairs}
        losses.append(loss.item())
    return losses, now


def _require_sentences(parameters, sources, targets):
    """Refuse an input that was made smaller by too much."""
    longest = len(parameters["positions"])
    if max(sources.shape[-1], targets.shape[-1]) >= longest:
        raise ValueError("there is a row of `positions` for each word and the start sign")
    if (sources[..., 0] == PAD).any() or ((targets == STOP).sum(dim=-1) != 1).any():
        raise ValueError("each source has a word, and each target one stop sign")


def _padded(sentences, size):
    return [[*sentence, *[PAD] * (size - len(sentence))] for sentence in sentences]


def _case(rng, d, n, m, steps, learning_rate):
    """Small numbers and steps: single precision is enough for a few of them.

    The sources have 1 to n words, the targets 1 to m - 1 words and a stop sign.
    """
    source_words, target_words = 5, 7
    sizes = {
        "source": (source_words, d),
        "target": (target_words, d),
        "positions": (max(n, m) + 1, d),  # one more: the start sign may be put in front
        "output": (target_words, d),
    }
    parameters = {
        name: torch.tensor(readable(rng, *size, low=-1.0, high=1.0), dtype=torch.float32)
        for name, size in sizes.items()
    }
    sources, targets = [], []
    for lengths, target_lengths in steps:
        read = [rng.integers(1, source_words, length) for length in lengths]
        written = [[*rng.integers(3, target_words, length), STOP] for length in target_lengths]
        sources.append(_padded(read, n))
        targets.append(_padded(written, m))
    return Case(parameters, torch.tensor(sources), torch.tensor(targets), learning_rate)


@training_step.cases(points=1, label=_("one step"))
def one_step(rng):
    yield _case(rng, 2, 2, 3, [([1, 2], [1, 2])], 0.5)
    yield _case(rng, 3, 3, 5, [([2, 3, 1], [4, 1, 2])], 1.0)


@training_step.cases(points=2, label=_("two steps and three, with gradients of their own"))
def several_steps(rng):
    yield _case(rng, 2, 3, 3, [([1, 2], [2, 1]), ([2, 3], [1, 2])], 0.5)
    steps = [([2, 1, 3], [4, 1, 2]), ([3, 2, 2], [1, 3, 4]), ([1, 3, 2], [2, 2, 1])]
    yield _case(rng, 3, 3, 5, steps, 0.3)


class _Model(torch.nn.Module):
    """The model of the notebook's first cell."""

    source: torch.Tensor
    target: torch.Tensor
    positions: torch.Tensor
    output: torch.Tensor

    def __init__(self, parameters):
        super().__init__()
        for name, table in parameters.items():
            self.register_parameter(name, torch.nn.Parameter(table.clone()))

    def forward(self, source, inputs):
        def attend(queries, keys, mask):
            return functional.scaled_dot_product_attention(queries, keys, keys, mask)

        n, m = source.shape[1], inputs.shape[1]
        real = (source != PAD)[:, None, :]
        x = self.source[source] + self.positions[:n]
        memory = x + attend(x, x, real.expand(-1, n, -1))
        y = self.target[inputs] + self.positions[:m]
        y = y + attend(y, y, torch.ones(m, m, dtype=torch.bool).tril())
        y = y + attend(y, memory, real.expand(-1, m, -1))
        return y @ self.output.T


def _steps(loss_of, parameters, sources, targets, learning_rate):
    """Return what steps return that differ in how the loss is computed."""
    model = _Model(parameters)
    optimiser = torch.optim.SGD(model.parameters(), lr=learning_rate)
    losses = []
    for source, target in zip(sources, targets, strict=True):
        loss = loss_of(model, source, target)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()  # before or after: the next step begins without a gradient
        losses.append(loss.item())
    return losses, {name: table.detach() for name, table in model.named_parameters()}


@training_step.variant
def with_the_padding_cut_out(*arguments):
    def loss_of(model, source, target):
        inputs = torch.roll(target, 1, dims=1)
        inputs[:, 0] = START
        real = target != PAD
        return functional.cross_entropy(model(source, inputs)[real], target[real])

    return _steps(loss_of, *arguments)


@training_step.variant
def with_a_loss_by_hand(*arguments):
    """The start sign is in front of the whole target: the last prediction is left out."""

    def loss_of(model, source, target):
        starts = torch.full((len(target), 1), START)
        logits = model(source, torch.cat([starts, target], dim=1))[:, :-1]
        logarithms = torch.log_softmax(logits, dim=-1)
        of_words = torch.gather(logarithms, -1, target[..., None])[..., 0]
        real = target != PAD
        return -(of_words * real).sum() / real.sum()

    return _steps(loss_of, *arguments)


@training_step.variant
def flattened(*arguments):
    def loss_of(model, source, target):
        inputs = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)
        logits = model(source, inputs).flatten(0, 1)
        return functional.cross_entropy(logits, target.flatten(), ignore_index=PAD)

    return _steps(loss_of, *arguments)
