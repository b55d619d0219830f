# SPDX-License-Identifier: Apache-2.0
"""What bench/compare and bench/report are made of."""
