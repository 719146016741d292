"""The exercises of page 09: a softmax per node, the scores of GAT and GATv2, and two bugs."""
