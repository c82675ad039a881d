import os

# Threads of the algebra library wait by spinning, a tenth of a second at each start of a program
# that imports numpy. It reads this when it is loaded; programs under test inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
