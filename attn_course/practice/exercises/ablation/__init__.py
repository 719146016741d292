"""The exercises of page 08d: uniform weights, counts of seeds, and a head removed too late."""
