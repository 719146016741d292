"""The exercises of page 06d: heads split and merged, multi-head attention, a mask for heads."""
