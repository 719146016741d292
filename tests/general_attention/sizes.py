"""Sizes and a mask for the tests of kit and translators; every axis has its own prime."""

import torch

B, N, Q, D_F, D_Q, D_K, D_V, D_W = 2, 7, 3, 5, 19, 11, 13, 17
MASK = torch.tensor([[True] * 7, [True, True, False, True, True, False, False]])
