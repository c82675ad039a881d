"""Sweeps: many runs over parameters and replicates, on one machine or many, in one dataset.

The modules `parameters` and `designs` say which points there are. When a point has enough
replicates is the matter of `precision`, and which runs come next that of `schedule`. A place of
`places` executes batches by `worker`, and `store` keeps them. `driver` is the loop. `plan` is what
all of them read.
"""
