"""The exercises of page 10d: positive features, linear attention, and its recurrence."""
