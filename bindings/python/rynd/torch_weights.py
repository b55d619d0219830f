# SPDX-License-Identifier: Apache-2.0
"""Watches constants of a compiled graph: optimizers, `.data`, numpy and inference mode all write to them, and versions count some writes only."""

import torch

from . import _rynd

MOST_CHANGES = 4  # calls in a row with other weights, after which rynd waits until they stay


def _bytes(storage):
    return torch.empty(0, dtype=torch.uint8).set_(storage).numpy()


class Watch:
    """Tells whether constants have changed: by the content of their memory, at its bandwidth."""

    def __init__(self):
        self._places = None
        self._memory = []
        self._seen = None
        self._changes = 0

    def state(self, constants):
        """A value that differs if a constant's bytes, strides or offset do."""
        places = [(tensor.data_ptr(), tensor.untyped_storage().nbytes(), tensor.stride()) for tensor in constants]
        if places != self._places:
            storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in constants}
            with torch.no_grad(), torch.inference_mode(False):
                self._memory = [_bytes(storage) for storage in storages.values() if storage.nbytes()]
            self._layout = tuple((tensor.stride(), tensor.storage_offset()) for tensor in constants)
            self._places = places
        return _rynd.digest(self._memory), self._layout

    def settles(self, state):
        """Call with the state of each call. False while the constants change from call to call."""
        self._changes = self._changes + 1 if state != self._seen else 0
        self._seen = state
        return self._changes <= MOST_CHANGES
