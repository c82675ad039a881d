"""Sweeps: many runs over parameters and replicates, on one machine or many, in one dataset.

`parameters` and `designs` say which points there are, `precision` when a point has enough
replicates, and `schedule` which runs come next. A place of `places` executes batches by `worker`,
and `store` keeps them. `driver` is the loop. `plan` is what all of them read.
"""
