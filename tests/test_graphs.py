"""Attention on graphs against loops, PyTorch Geometric, and properties P7.1–P7.5."""

import re
import warnings
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_course.attention import attend
from attn_course.definitions import graphs as definition
from attn_course.definitions.attention import attend as attend_one
from attn_course.definitions.scoring import times
from attn_course.graphs import GAT, GATv2, graph_attention, segment_softmax, with_self_loops
from attn_course.scoring import dot
from tests.largest_tensor import LargestTensor

N, E, D_F, D_HEAD, HEADS, D_E = 7, 19, 5, 3, 2, 11
seeds = st.integers(0, 2**32 - 1)
LAYERS = {"GAT": GAT, "GATv2": GATv2}


def tensor(*size, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=size))


def some_edges(seed=0, n=N, e=E):
    """Random edges with repetitions; node n - 1 has no edge."""
    return torch.from_numpy(np.random.default_rng(seed).integers(0, n - 1, (2, e)))


def complete(n):
    return torch.ones(n, n).nonzero().T


def fresh(kind, **choices):
    torch.manual_seed(0)
    layer = LAYERS[kind](D_F, D_HEAD, **choices).double()
    if kind == "GATv2" and layer.b is not None:
        layer.b.data = tensor(*layer.b.shape, seed=9)
    return layer


def score_by_hand(layer, head, h_i, h_j, edge=None):
    p = {name: x[head].tolist() for name, x in layer.named_parameters()}
    W_e = p.get("W_e")
    if isinstance(layer, GAT):
        a = [*p["a_1"], *p["a_2"], *p.get("a_3", [])]
        return definition.gat_score(h_i, h_j, p["W"], a, edge, W_e)
    W = [[*row_q, *row_k] for row_q, row_k in zip(p["W_q"], p["W_k"], strict=True)]
    return definition.gatv2_score(h_i, h_j, W, p["a"], p.get("b"), edge, W_e)


def layer_by_hand(layer, features, edges, edge_features=None, act="elu"):
    """Return the layer's output and weights from the loops, node by node."""
    pairs, h = edges.T.tolist(), features.tolist()
    value_map = layer.W if isinstance(layer, GAT) else layer.W_k
    contexts, weights = [], []
    for head in range(layer.heads):
        scores = []
        for m, (i, j) in enumerate(pairs):
            edge = None if edge_features is None else edge_features[m].tolist()
            scores.append(score_by_hand(layer, head, h[i], h[j], edge))
        values = [times(value_map[head].tolist(), h_j) for h_j in h]
        contexts.append(
            [definition.graph_attention(i, scores, pairs, values)[0] for i in range(len(h))]
        )
        weights.append(definition.segment_softmax(scores, [i for i, _ in pairs]))
    nodes = zip(*contexts, strict=True)
    output = [definition.combine_heads(heads, layer.combine, act) for heads in nodes]
    return torch.from_numpy(np.array(output)), torch.from_numpy(np.array(weights))


# --- the functions -----------------------------------------------------------------------------


@pytest.mark.agrees("graphs.segment_softmax", "definitions.graphs.segment_softmax")
@given(seed=seeds, n=st.sampled_from([1, 2, 5]), e=st.sampled_from([1, 3, 17]))
@settings(max_examples=30)
def test_segment_softmax_agrees_with_its_definition_in_loops(seed, n, e):
    rng = np.random.default_rng(seed)
    scores, segments = rng.normal(size=(2, e)) * 20, rng.integers(0, n, e)
    weights = segment_softmax(torch.from_numpy(scores), torch.from_numpy(segments), n)
    for row, wanted in zip(weights, scores, strict=True):
        np.testing.assert_allclose(row, definition.segment_softmax(wanted, segments), rtol=1e-10)


def test_segment_softmax_of_one_segment_is_pytorch_softmax():
    scores = tensor(3, 11)
    weights = segment_softmax(scores, torch.zeros(11, dtype=torch.int64), 1)
    torch.testing.assert_close(weights, torch.softmax(scores, dim=-1))


@pytest.mark.agrees("graphs.graph_attention", "definitions.graphs.graph_attention")
@given(seed=seeds)
@settings(max_examples=30)
def test_graph_attention_agrees_with_its_definition_in_loops(seed):
    edges = some_edges(seed)
    scores, values = tensor(HEADS, E, seed=seed), tensor(HEADS, N, D_HEAD, seed=seed + 1)
    contexts, weights = graph_attention(scores, edges, values)
    for head, i in np.ndindex(HEADS, N):
        c, a = definition.graph_attention(
            i, scores[head].tolist(), edges.T.tolist(), values[head].tolist()
        )
        np.testing.assert_allclose(contexts[head, i], c, atol=1e-12)
        np.testing.assert_allclose(weights[head, edges[0] == i], a, rtol=1e-10)


def test_queries_and_values_may_be_different_sets_of_nodes():
    edges = torch.tensor([[0, 0, 2], [4, 1, 4]])  # three ask, five are looked at
    scores, values = tensor(3), tensor(5, D_HEAD)
    contexts, _ = graph_attention(scores, edges, values, q=3)
    assert contexts.shape == (3, D_HEAD)
    wanted, _ = definition.graph_attention(0, scores.tolist(), edges.T.tolist(), values.tolist())
    np.testing.assert_allclose(contexts[0], wanted)
    assert (contexts[1] == 0).all()
    torch.testing.assert_close(contexts[2], values[4])


def test_masked_edges_count_for_nothing_even_with_nan_behind_them():
    edges, scores, values = some_edges(), tensor(HEADS, E), tensor(N, D_HEAD)
    mask = torch.arange(E) % 3 > 0
    wanted, kept = graph_attention(scores[:, mask], edges[:, mask], values)
    contexts, weights = graph_attention(scores, edges, values, mask=mask)
    torch.testing.assert_close(contexts, wanted)
    torch.testing.assert_close(weights[:, mask], kept)
    assert (weights[:, ~mask] == 0).all()

    only_behind_the_mask = mask & (edges[1] != 2)
    values[2] = torch.nan
    scores[:, ~only_behind_the_mask] = torch.nan
    values.requires_grad_()
    scores.requires_grad_()
    contexts, _ = graph_attention(scores, edges, values, mask=only_behind_the_mask)
    assert torch.isfinite(contexts).all()
    for gradient in torch.autograd.grad(contexts.square().sum(), (scores, values)):
        assert torch.isfinite(gradient).all()


def test_a_segment_masked_out_whole_gets_no_weight_and_no_gradient():
    scores = tensor(5).requires_grad_()
    segments = torch.tensor([0, 1, 1, 0, 1])
    weights = segment_softmax(scores, segments, 2, mask=segments == 0)
    assert (weights[segments == 1] == 0).all()
    (gradient,) = torch.autograd.grad(weights[0], scores)
    assert (gradient[segments == 1] == 0).all()
    assert (gradient[segments == 0] != 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_extreme_scores_stay_finite_in_any_precision(dtype):
    segments = torch.tensor([0, 0, 1, 1, 2, 2])
    scores = torch.tensor([1e4, -1e4, -1e4, -1e4, -torch.inf, -torch.inf], dtype=dtype)
    weights = segment_softmax(scores, segments, 3)
    assert weights.dtype == dtype
    assert weights.tolist() == [1, 0, 0.5, 0.5, 0, 0]


def test_many_edges_in_half_precision_still_add_up():
    n = 10_007  # 1/n summed n times in float16 would stop growing long before 1
    weights = segment_softmax(
        torch.zeros(n, dtype=torch.float16), torch.zeros(n, dtype=torch.int64), 1
    )
    assert weights.double().sum().item() == pytest.approx(1, rel=1e-2)


def test_gradcheck_of_the_functions():
    edges, mask = some_edges(), torch.arange(E) % 3 > 0
    scores, values = tensor(HEADS, E).requires_grad_(), tensor(N, D_HEAD).requires_grad_()
    assert torch.autograd.gradcheck(lambda s, v: graph_attention(s, edges, v), (scores, values))
    assert torch.autograd.gradcheck(
        lambda s, v: graph_attention(s, edges, v, mask), (scores, values)
    )


def test_self_loops_are_added_once():
    edges = torch.tensor([[0, 2, 2], [1, 2, 0]])
    looped = with_self_loops(edges, 3)
    assert looped.T.tolist() == [[0, 1], [2, 2], [2, 0], [0, 0], [1, 1]]
    assert torch.equal(with_self_loops(looped, 3), looped)


# --- the layers --------------------------------------------------------------------------------


@pytest.mark.agrees(
    "graphs.GAT",
    "definitions.graphs.gat_score",
    "definitions.graphs.graph_attention",
)
@pytest.mark.agrees(
    "graphs.GATv2",
    "definitions.graphs.gatv2_score",
    "definitions.graphs.graph_attention",
)
@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("combine", ["concat", "average"])
@pytest.mark.parametrize("d_e", [None, D_E])
def test_a_layer_agrees_with_its_definition_in_loops(kind, combine, d_e):
    layer = fresh(kind, heads=HEADS, combine=combine, d_e=d_e)
    edges, features = some_edges(), tensor(N, D_F)
    edge_features = None if d_e is None else tensor(E, d_e, seed=3)
    output, weights = layer(features, edges, edge_features)
    wanted_output, wanted_weights = layer_by_hand(layer, features, edges, edge_features)
    torch.testing.assert_close(output, wanted_output)
    torch.testing.assert_close(weights, wanted_weights)
    assert output.shape == (N, D_HEAD * HEADS if combine == "concat" else D_HEAD)


@pytest.fixture(scope="module")
def geometric():
    with warnings.catch_warnings():  # it still imports what PyTorch is giving up
        warnings.simplefilter("ignore")
        return import_module("torch_geometric.nn")


@pytest.mark.agrees("graphs.GAT", "PyTorch Geometric")
@pytest.mark.parametrize("combine", ["concat", "average"])
@pytest.mark.parametrize("d_e", [None, D_E])
def test_gat_agrees_with_pytorch_geometric(geometric, combine, d_e):
    ours = fresh("GAT", heads=HEADS, combine=combine, d_e=d_e, act="identity")
    theirs = geometric.GATConv(
        D_F,
        D_HEAD,
        HEADS,
        concat=combine == "concat",
        edge_dim=d_e,
        bias=False,
        add_self_loops=False,
    ).double()
    with torch.no_grad():
        theirs.lin.weight.copy_(ours.W.flatten(0, 1))
        theirs.att_dst[0] = ours.a_1  # their target is the node that asks
        theirs.att_src[0] = ours.a_2
        if d_e is not None:
            theirs.lin_edge.weight.copy_(ours.W_e.flatten(0, 1))
            theirs.att_edge[0] = ours.a_3
    assert_equal_to_theirs(ours, theirs, d_e)


@pytest.mark.agrees("graphs.GATv2", "PyTorch Geometric")
@pytest.mark.parametrize("combine", ["concat", "average"])
@pytest.mark.parametrize("d_e", [None, D_E])
def test_gatv2_agrees_with_pytorch_geometric(geometric, combine, d_e):
    ours = fresh("GATv2", heads=HEADS, combine=combine, d_e=d_e, act="identity", bias=False)
    theirs = geometric.GATv2Conv(
        D_F,
        D_HEAD,
        HEADS,
        concat=combine == "concat",
        edge_dim=d_e,
        bias=False,
        add_self_loops=False,
    ).double()
    with torch.no_grad():
        theirs.lin_r.weight.copy_(ours.W_q.flatten(0, 1))
        theirs.lin_l.weight.copy_(ours.W_k.flatten(0, 1))
        for lin in (theirs.lin_l, theirs.lin_r):
            if lin.bias is not None:
                lin.bias.zero_()
        theirs.att[0] = ours.a
        if d_e is not None:
            theirs.lin_edge.weight.copy_(ours.W_e.flatten(0, 1))
    assert_equal_to_theirs(ours, theirs, d_e)


def assert_equal_to_theirs(ours, theirs, d_e):
    edges, features = some_edges(), tensor(N, D_F)
    edge_features = None if d_e is None else tensor(E, d_e, seed=3)
    output, weights = ours(features, edges, edge_features)
    their_output, (_, their_weights) = theirs(
        features, edges.flip(0), edge_features, return_attention_weights=True
    )
    torch.testing.assert_close(output, their_output)
    torch.testing.assert_close(weights, their_weights.T)


@pytest.mark.parametrize("kind", LAYERS)
def test_one_head_concatenated_is_one_head_averaged(kind):
    layer, edges, features = fresh(kind), some_edges(), tensor(N, D_F)
    concatenated, _ = layer(features, edges)
    layer.combine = "average"
    averaged, _ = layer(features, edges)
    torch.testing.assert_close(averaged, concatenated)


@pytest.mark.parametrize("kind", LAYERS)
def test_the_last_layer_averages_before_the_non_linearity(kind):
    features, edges = tensor(N, D_F), some_edges()
    raw, _ = fresh(kind, heads=HEADS, act="identity")(features, edges)
    output, _ = fresh(kind, heads=HEADS, combine="average", act="relu")(features, edges)
    heads = raw.unflatten(-1, (HEADS, D_HEAD))
    torch.testing.assert_close(output, heads.mean(-2).relu())
    assert not torch.allclose(output, heads.relu().mean(-2))


# --- the numbered properties -------------------------------------------------------------------


def rankings(layer, features):
    """Return, for each node of a complete graph, its neighbours from worst to best."""
    _, weights = layer(features, complete(len(features)))
    return weights[0].unflatten(-1, (len(features), -1)).argsort(dim=-1)


@pytest.mark.proves("P7.1")
@given(seed=seeds)
@settings(max_examples=20)
def test_all_nodes_of_gat_rank_their_neighbours_alike(seed):
    torch.manual_seed(seed)
    order = rankings(GAT(D_F, D_HEAD).double(), tensor(N, D_F, seed=seed))
    assert (order == order[0]).all()


@pytest.mark.proves("P7.1")
def test_nodes_of_gatv2_can_rank_their_neighbours_differently():
    different = 0
    for seed in range(10):
        torch.manual_seed(seed)
        order = rankings(GATv2(D_F, D_HEAD).double(), tensor(N, D_F, seed=seed))
        different += bool((order != order[0]).any())
    assert different >= 8


@pytest.mark.proves("P7.2")
@pytest.mark.parametrize("kind", LAYERS)
@given(seed=seeds)
@settings(max_examples=10)
def test_new_names_for_the_nodes_rename_the_output(kind, seed):
    layer, edges, features = fresh(kind, heads=HEADS), some_edges(seed), tensor(N, D_F, seed=seed)
    name = torch.from_numpy(np.random.default_rng(seed).permutation(N))  # old name -> new name
    renamed = torch.empty_like(features)
    renamed[name] = features
    output, weights = layer(features, edges)
    new_output, new_weights = layer(renamed, name[edges])
    torch.testing.assert_close(new_output[name], output)
    torch.testing.assert_close(new_weights, weights)


@pytest.mark.parametrize("kind", LAYERS)
def test_the_order_of_the_edges_does_not_matter(kind):
    layer, edges, features = fresh(kind), some_edges(), tensor(N, D_F)
    order = torch.from_numpy(np.random.default_rng(1).permutation(E))
    output, weights = layer(features, edges)
    shuffled_output, shuffled_weights = layer(features, edges[:, order])
    torch.testing.assert_close(shuffled_output, output)
    torch.testing.assert_close(shuffled_weights, weights[..., order])


@pytest.mark.proves("P7.3")
def test_a_complete_graph_with_self_loops_and_the_dot_score_is_self_attention():
    x = tensor(HEADS, N, D_F)
    edges = complete(N)
    scores = dot(x, x)[:, edges[0], edges[1]]
    contexts, weights = graph_attention(scores, edges, x)
    wanted_contexts, wanted_weights = attend(x, x, x, score=dot)
    torch.testing.assert_close(contexts, wanted_contexts)
    torch.testing.assert_close(weights.unflatten(-1, (N, N)), wanted_weights)


@pytest.mark.proves("P7.3")
def test_on_any_graph_each_node_is_one_masked_query():
    x, edges = tensor(N, D_F), with_self_loops(some_edges().unique(dim=1), N)
    contexts, _ = graph_attention(dot(x, x)[edges[0], edges[1]], edges, x)
    pairs = set(map(tuple, edges.T.tolist()))
    for i in range(N):
        mask = [(i, j) in pairs for j in range(N)]
        wanted, _ = attend_one(x[i].tolist(), x.tolist(), x.tolist(), definition.dot, mask)
        np.testing.assert_allclose(contexts[i], wanted)


@pytest.mark.proves("P7.4")
@pytest.mark.parametrize("kind", LAYERS)
def test_without_a_score_vector_neighbours_are_averaged(kind):
    layer = fresh(kind, act="identity")
    vectors = (layer.a_1, layer.a_2) if kind == "GAT" else (layer.a,)
    for vector in vectors:
        vector.data.zero_()
    edges, features = with_self_loops(some_edges(), N), tensor(N, D_F)
    output, weights = layer(features, edges)
    value_map = (layer.W if kind == "GAT" else layer.W_k)[0].tolist()
    for i in range(N):
        neighbours = edges[1, edges[0] == i]
        mean = features[neighbours].mean(dim=0).tolist()
        np.testing.assert_allclose(output[i].detach(), times(value_map, mean))
        assert weights[0, edges[0] == i].tolist() == pytest.approx(
            [1 / len(neighbours)] * len(neighbours)
        )


@pytest.mark.proves("P7.5")
@pytest.mark.parametrize("kind", LAYERS)
def test_an_isolated_node_gets_nothing_and_with_a_self_loop_itself(kind):
    layer, features = fresh(kind, act="identity"), tensor(N, D_F).requires_grad_()
    edges = some_edges()  # leaves the last node alone
    output, weights = layer(features, edges)
    assert (output[-1] == 0).all()
    (gradient,) = torch.autograd.grad(output.square().sum(), features)
    assert (gradient[-1] == 0).all()
    assert torch.isfinite(gradient).all()

    output, weights = layer(features, with_self_loops(edges, N))
    value_map = (layer.W if kind == "GAT" else layer.W_k)[0].tolist()
    np.testing.assert_allclose(output[-1].detach(), times(value_map, features[-1].tolist()))
    assert weights[0, -1] == 1  # added loops come last


@pytest.mark.parametrize("kind", LAYERS)
def test_a_graph_without_edges_gives_zeros(kind):
    output, weights = fresh(kind)(tensor(N, D_F), torch.empty(2, 0, dtype=torch.int64))
    assert (output == 0).all()
    assert weights.shape == (1, 0)


# --- masks, batches, training ------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("junk", [torch.nan, torch.inf, 1e30])
def test_a_node_that_is_none_changes_nothing(kind, junk):
    layer = fresh(kind, heads=HEADS, d_e=D_E)
    mask = torch.arange(N) % 3 != 1  # nodes 1 and 4 are padding
    edges, features, edge_features = some_edges(), tensor(N, D_F), tensor(E, D_E)
    real = mask[edges].all(dim=0)
    wanted, _ = layer(features, edges[:, real], edge_features[real])
    spoiled = features.masked_fill(~mask[:, None], junk).requires_grad_()
    spoiled_edges = edge_features.masked_fill(~real[:, None], junk)
    output, weights = layer(spoiled, edges, spoiled_edges, mask=mask)
    torch.testing.assert_close(output, wanted)
    assert (output[~mask] == 0).all()
    assert (weights[:, ~real] == 0).all()
    output.square().sum().backward()
    assert (spoiled.grad[~mask] == 0).all()
    for name, parameter in layer.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("kind", LAYERS)
def test_everything_masked_gives_zeros_and_no_gradient(kind):
    layer, features = fresh(kind), tensor(N, D_F).requires_grad_()
    output, weights = layer(features, some_edges(), mask=torch.zeros(N, dtype=torch.bool))
    assert (output == 0).all()
    assert (weights == 0).all()
    (gradient,) = torch.autograd.grad(output.sum(), features)
    assert (gradient == 0).all()


@pytest.mark.parametrize("kind", LAYERS)
def test_a_batch_of_features_on_one_graph_is_the_same_as_one_at_a_time(kind):
    layer, edges = fresh(kind, heads=HEADS, d_e=D_E), some_edges()
    features, edge_features = tensor(3, N, D_F), tensor(3, E, D_E)
    mask = torch.from_numpy(np.random.default_rng(0).random((3, N)) < 0.7)
    output, weights = layer(features, edges, edge_features, mask)
    for b in range(3):
        alone, alone_weights = layer(features[b], edges, edge_features[b], mask[b])
        torch.testing.assert_close(output[b], alone)
        torch.testing.assert_close(weights[b], alone_weights)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("d_e", [None, D_E])
def test_every_parameter_learns_and_gradients_are_right(kind, d_e):
    layer = fresh(kind, heads=HEADS, d_e=d_e)
    features, edges = tensor(N, D_F).requires_grad_(), some_edges()
    edge_features = None if d_e is None else tensor(E, d_e).requires_grad_()
    output, _ = layer(features, edges, edge_features)
    (output * tensor(*output.shape, seed=5)).sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad.abs().sum() > 1e-9, name
    inputs = [x for x in (features, edge_features) if x is not None]
    assert torch.autograd.gradcheck(lambda x, *e: layer(x, edges, *e), inputs, fast_mode=True)


@pytest.mark.parametrize("kind", LAYERS)
def test_with_one_neighbour_each_the_score_is_dead(kind):
    layer = fresh(kind, heads=HEADS)
    ring = torch.stack([torch.arange(N), torch.arange(N).roll(1)])
    output, weights = layer(tensor(N, D_F), ring)
    assert (weights == 1).all()
    output.square().sum().backward()
    dead = {"GAT": {"a_1", "a_2"}, "GATv2": {"a", "b", "W_q"}}[kind]
    for name, parameter in layer.named_parameters():
        assert (parameter.grad.abs().sum().item() < 1e-12) == (name in dead), name


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_large_features_in_any_precision_stay_finite(kind, dtype):
    output, weights = fresh(kind, heads=HEADS).to(dtype)(
        100 * tensor(N, D_F).to(dtype), some_edges()
    )
    assert output.dtype == weights.dtype == dtype
    assert torch.isfinite(output).all()


@pytest.mark.parametrize("kind", LAYERS)
def test_no_tensor_is_larger_than_the_edges_ask_for(kind):
    n, e = 1009, 2003
    layer = fresh(kind, heads=HEADS)
    with LargestTensor() as largest:
        output, _ = layer(tensor(n, D_F), some_edges(n=n, e=e))
        output.sum().backward()
    assert largest.nbytes <= 8 * e * HEADS * D_HEAD  # far below the n * n of all pairs


@pytest.mark.parametrize("kind", LAYERS)
def test_weights_come_only_when_asked_for(kind):
    assert fresh(kind)(tensor(N, D_F), some_edges(), need_weights=False)[1] is None


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (dict(edges=some_edges().T), "edges must be (2, e) whole numbers (torch.int64), but are"),
        (dict(edges=some_edges().double()), "but are (2, 19) of torch.float64"),
        (dict(edges=some_edges() - 1), "but run from -1 to"),
        (dict(edges=some_edges() + 6), "edges must lie between 0 and 6 (who asks)"),
        (dict(scores=torch.ones(3)), "each edge needs its score: scores are (3,), edges are"),
        (dict(values=torch.ones(N)), "values must be (..., n, d_v), but came as (7,)"),
        (dict(mask=torch.ones(E)), "mask must be boolean"),
        (dict(mask=torch.ones(3, dtype=torch.bool)), "mask must broadcast to the scores (19,)"),
    ],
)
def test_a_bad_input_gets_a_sentence_that_helps(change, sentence):
    given = dict(scores=torch.ones(E), edges=some_edges(), values=torch.ones(N, 2)) | change
    with pytest.raises(ValueError, match=re.escape(sentence)):
        graph_attention(**given)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_bad_choice_or_width_gets_a_sentence_that_helps(kind):
    with pytest.raises(ValueError, match="combine must be one of concat, average, but is 'sum'"):
        fresh(kind, combine="sum")
    with pytest.raises(ValueError, match="heads must be at least 1, but is 0"):
        fresh(kind, heads=0)
    with pytest.raises(ValueError, match="act must be one of tanh"):
        fresh(kind, act="swish")
    layer = fresh(kind)
    with pytest.raises(ValueError, match=re.escape("features must be (..., n, d_f) = (7, 5)")):
        layer(tensor(N, 3), some_edges())
    with pytest.raises(ValueError, match="the layer was made with d_e = None"):
        layer(tensor(N, D_F), some_edges(), tensor(E, 3))
    with pytest.raises(ValueError, match="d_e = 11, but edge_features are None"):
        fresh(kind, d_e=D_E)(tensor(N, D_F), some_edges())
    with pytest.raises(ValueError, match=re.escape("(..., e, d_e) = (19, 11), but is (19, 3)")):
        fresh(kind, d_e=D_E)(tensor(N, D_F), some_edges(), tensor(E, 3))
