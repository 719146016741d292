"""Lookup on a graph: each node needs the neighbour with its own key."""

import numpy as np
import pytest
import torch

from attn_course.tasks.graph_lookup import GraphLookup
from attn_course.tasks.training import train

task = GraphLookup()
task.tested_on = 50  # no figure is reported here


def test_each_node_finds_its_key_at_one_neighbour_and_there_the_answer():
    examples = task.examples("test", 100, task.rng("test"))
    for i in range(100):
        nodes = examples.inputs["nodes"][i].tolist()
        keys = [node[: task.symbols].index(1) for node in nodes]
        for t in range(task.n):
            assert sum(nodes[t][task.symbols :]) == 0  # who asks knows no value
            found = [j for j in range(task.n) if keys[task.n + j] == keys[t]]
            assert len(found) == 1
            assert examples.right["weights"][i, t].nonzero()[:, 0].tolist() == found
            value = nodes[task.n + found[0]][task.symbols :].index(1)
            assert value == examples.targets[i, t]


def test_no_two_nodes_of_a_graph_need_the_same_neighbour():
    right = task.examples("test", 50, task.rng("test")).right["weights"]
    assert (right.sum(dim=-1) == 1).all()
    assert (right.sum(dim=-2) == 1).all()


@pytest.mark.parametrize("arm", ["GATv2", "GAT"])
def test_weights_of_edges_stand_in_the_matrix_where_they_belong(arm):
    torch.manual_seed(0)
    model = task.arms[arm].build()
    examples = task.examples("test", 2, task.rng("test"))
    with torch.no_grad():
        _p, matrix = model(**examples.inputs)
        _contexts, by_edge = model.layer(examples.inputs["nodes"], model.edges)
    assert matrix.shape == (2, task.n, task.n)
    for edge, (asks, looked_at) in enumerate(model.edges.T.tolist()):
        assert (matrix[:, asks, looked_at - task.n] == by_edge[:, 0, edge]).all()
    torch.testing.assert_close(matrix.sum(dim=-1), torch.ones(2, task.n))


def test_gat_ranks_the_neighbours_alike_for_all_who_ask_and_gatv2_need_not():
    torch.manual_seed(0)
    examples = task.examples("test", 20, task.rng("test"))
    alike = {}
    for arm in ("GAT", "GATv2"):
        with torch.no_grad():
            order = task.arms[arm].build()(**examples.inputs)[1].argsort(dim=-1)
        alike[arm] = bool((order == order[:, :1]).all())
    assert alike == {"GAT": True, "GATv2": False}


def test_one_gat_has_as_many_parameters_and_outputs_are_linear():
    counts = {
        name: sum(p.numel() for p in arm.build().layer.parameters())
        for name, arm in task.arms.items()
        if "pooling" not in name
    }
    assert counts["GAT"] < counts["GATv2"] <= counts["GAT, as many parameters"]
    assert isinstance(task.arms["GAT"].build().output, torch.nn.Linear)


@pytest.mark.parametrize("arm", ["GATv2", "GAT"])
def test_training_lowers_the_loss(arm):
    losses = train(task, arm, learning_rate=3e-2, steps=60).losses
    assert np.mean(losses[-10:]) < 0.95 * np.mean(losses[:10])
