"""The exercises of page 07b: align, a masked loss, greedy and beam search, a padded summary."""
