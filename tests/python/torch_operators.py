# SPDX-License-Identifier: Apache-2.0
"""Operators of torch.testing's OpInfo that test_torch_operators.py leaves out, with reasons, and those for which the device has no kernel."""

EXCLUDED = {
    "as_strided.partial_views": "reads memory outside of the sample's tensor",
    "empty": "memory that nobody wrote",
    "empty_like": "memory that nobody wrote",
    "empty_permuted": "memory that nobody wrote",
    "empty_strided": "memory that nobody wrote",
    "jiterator_2inputs_2outputs": "CUDA only",
    "jiterator_4inputs_with_extra_args": "CUDA only",
    "jiterator_binary": "CUDA only",
    "jiterator_binary_return_by_ref": "CUDA only",
    "jiterator_unary": "CUDA only",
    "new_empty": "memory that nobody wrote",
    "new_empty_strided": "memory that nobody wrote",
    "sparse.mm.reduce": "sparse tensors",
    "sparse.sampled_addmm": "sparse tensors",
    "tensor_split": "its positions must be on the CPU",
}
DROPPING = {"nn.functional.dropout", "nn.functional.multi_head_attention_forward", "nn.functional.scaled_dot_product_attention"}  # masks are not the CPU's
WITHOUT_KERNEL = set("""
_batch_norm_with_update _native_batch_norm_legit _segment_reduce.lengths _segment_reduce.offsets _upsample_bilinear2d_aa cholesky_inverse cholesky_solve
complex cross digamma fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft
fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn frexp geqrf hash_tensor histogramdd i0 igamma igammac lgamma linalg.cholesky linalg.cholesky_ex
linalg.cond linalg.cross linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex
linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.lstsq linalg.lstsq.grad_oriented linalg.lu linalg.lu_factor linalg.lu_factor_ex
linalg.lu_solve linalg.matrix_rank linalg.matrix_rank.hermitian linalg.matrix_sqrth linalg.pinv linalg.pinv.hermitian linalg.pinv.singular linalg.polar
linalg.qr linalg.slogdet linalg.solve linalg.solve_ex linalg.solve_triangular linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve logdet lu
lu_solve lu_unpack matrix_exp mvlgamma.mvlgamma_p_1 mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5 norm.nuc ormqr pca_lowrank pinverse polar
polygamma.polygamma_n_0 polygamma.polygamma_n_1 polygamma.polygamma_n_2 polygamma.polygamma_n_3 polygamma.polygamma_n_4 special.airy_ai special.bessel_j0
special.bessel_j1 special.bessel_y0 special.bessel_y1 special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
special.chebyshev_polynomial_w special.entr special.erfcx special.hermite_polynomial_h special.hermite_polynomial_he special.i0e special.i1 special.i1e
special.laguerre_polynomial_l special.legendre_polynomial_p special.log_ndtr special.modified_bessel_i0 special.modified_bessel_i1
special.modified_bessel_k0 special.modified_bessel_k1 special.ndtri special.polygamma.special_polygamma_n_0 special.scaled_modified_bessel_k0
special.scaled_modified_bessel_k1 special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
special.shifted_chebyshev_polynomial_w special.spherical_bessel_j0 special.xlog1py special.zeta stft svd svd_lowrank to_sparse
torch.ops.aten._scaled_dot_product_flash_attention_for_cpu triangular_solve
""".split())
MODULES_EXCLUDED = {
    "nn_FractionalMaxPool2d": "its sample draws positions as float64 for a float32 input, which PyTorch refuses",
    "nn_FractionalMaxPool3d": "its sample draws positions as float64 for a float32 input, which PyTorch refuses",
}
MODULES_WITHOUT_KERNEL = set()
OPTIMIZERS_EXCLUDED = {
    "LBFGS": "a sample diverges, so that last bits decide; test_lbfgs has its own",
    "SparseAdam": "sparse gradients",
}
