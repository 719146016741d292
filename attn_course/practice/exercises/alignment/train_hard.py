"""Train hard attention with a moving baseline, and without one."""

import numpy as np

from attn_course import alignment
from attn_course.definitions import alignment as definition
from attn_course.practice.definition import Case, reference
from attn_course.practice.exercises.alignment.reinforce_step import (
    at_choice,
    reinforce_step,
    step_by_autograd,
    step_in_loops,
)
from attn_course.practice.inputs import readable
from attn_course.translate import _


@reference
def train_hard(scores, uniforms, rewards, learning_rate, decay):
    return _trained(reinforce_step.reference, scores, uniforms, rewards, learning_rate, decay)


def _trained(step, scores, uniforms, rewards, learning_rate, decay):
    """Return the expected reward after training with a given step, and the last baseline."""
    baseline = 0.0
    for u in uniforms:
        choice, scores = step(scores, u, rewards, baseline, learning_rate)
        baseline = decay * baseline + (1 - decay) * at_choice(rewards, choice).mean()
    return (alignment.softmax(scores) * rewards).sum(axis=-1).mean(), baseline


def _reward_case(rng, steps, *size, learning_rate, decay):
    scores = readable(rng, *size, low=-1, high=1)
    rewards = np.round(rng.uniform(1, 5, size), 1)
    return Case(scores, rng.random((steps, *size[:-1])), rewards, learning_rate, decay)


@train_hard.cases(points=1, label=_("a few steps"))
def a_few_steps(rng):
    yield _reward_case(rng, 1, 2, 3, learning_rate=0.5, decay=0.7)
    yield _reward_case(rng, 3, 5, 7, learning_rate=0.2, decay=0.8)


@train_hard.cases(points=1, label=_("a batch of sentences"))
def a_few_steps_of_a_batch(rng):
    yield _reward_case(rng, 5, 2, 3, 5, learning_rate=0.3, decay=0.6)


@train_hard.cases(points=2, label=_("the experiment: six words, 200 steps, with a baseline"))
def the_experiment(rng):
    yield Case(*the_six_words(), 0.2, 0.9)


@train_hard.cases(points=1, label=_("the same without a baseline: decay 1"))
def the_experiment_without_a_baseline(rng):
    yield Case(*the_six_words(), 0.2, 1.0)


def the_six_words():
    """Return the experiment of the task: scores, draws, and rewards, 3 for the right word, else 2.

    Each word is to find the word it belongs to.
    """
    rewards = np.full((6, 6), 2.0)
    rewards[np.arange(6), [2, 2, 3, 3, 5, 3]] = 3.0
    return np.zeros((6, 6)), np.random.default_rng(0).random((200, 6)), rewards


@train_hard.variant
def experiment_by_autograd(*arguments):
    def step(*parts):
        return [part.numpy() for part in step_by_autograd(*parts)]

    expected, baseline = _trained(step, *arguments)
    return [float(expected), float(baseline)]


@train_hard.variant
def experiment_in_loops(scores, uniforms, rewards, learning_rate, decay):
    earns = rewards.reshape(-1, rewards.shape[-1])
    baseline = 0.0
    for u in uniforms:
        choice, after = step_in_loops(scores, u, rewards, baseline, learning_rate)
        scores = np.array(after)
        paid = [row[m] for row, m in zip(earns, np.ravel(choice), strict=True)]
        baseline += (1 - decay) * (sum(paid) / len(paid) - baseline)
    rows = [definition.softmax(row) for row in scores.reshape(earns.shape)]
    expected = [a @ row for a, row in zip(np.array(rows), earns, strict=True)]
    return sum(expected) / len(expected), baseline
