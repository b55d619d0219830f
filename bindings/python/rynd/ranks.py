# SPDX-License-Identifier: Apache-2.0
"""Training in several processes (docs/scaling.md)."""

from . import _rynd


def mpi_ranks():
    """Returns the number of processes that mpirun started, or 1 without mpirun. Opens nothing."""
    return _rynd.mpi_ranks()


class Exchange(_rynd.Exchange):
    """MPI's way from one rank to all others; `rynd.mpi()` makes it, once a process."""

    def __init__(self):
        self.rank, self.ranks, self.local_ranks = self._place()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        """Ends MPI; behind an exception nothing does, as the others wait: call abort."""
        if kind is None:
            self.close()

    def __repr__(self):
        return f"rynd.Exchange(rank {self.rank} of {self.ranks})"


def mpi():
    """An Exchange over all processes that mpirun started: rank, ranks, local_ranks (those of this machine), all_reduce(array) in place, close(), abort(code).

    Raises UnsupportedError where librynd_mpi.so or MPI is not there, ArgumentError where it was opened before.
    """
    return Exchange()
