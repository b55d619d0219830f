/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of this folder's *.cl, as the build embeds them. */
#ifndef RY_KERNELS_GPU_GPU_TEXTS_H
#define RY_KERNELS_GPU_GPU_TEXTS_H

extern const char ry_gpu_text_arg_reduce[];
extern const char ry_gpu_text_batch_norm[];
extern const char ry_gpu_text_batch_norm_grad[];
extern const char ry_gpu_text_copied[];
extern const char ry_gpu_text_copied_matrix[];
extern const char ry_gpu_text_copied_weights[];
extern const char ry_gpu_text_copied_wgrad[];
extern const char ry_gpu_text_copied_window[];
extern const char ry_gpu_text_depthwise[];
extern const char ry_gpu_text_depthwise_fours[];
extern const char ry_gpu_text_depthwise_vectors[];
extern const char ry_gpu_text_fault[];
extern const char ry_gpu_text_gather[];
extern const char ry_gpu_text_gemv[];
extern const char ry_gpu_text_group[];
extern const char ry_gpu_text_igemm[];
extern const char ry_gpu_text_items[];
extern const char ry_gpu_text_join[];
extern const char ry_gpu_text_lanes[];
extern const char ry_gpu_text_measure[];
extern const char ry_gpu_text_norm[];
extern const char ry_gpu_text_one_hot[];
extern const char ry_gpu_text_panels[];
extern const char ry_gpu_text_pipeline[];
extern const char ry_gpu_text_pool[];
extern const char ry_gpu_text_pool_grad[];
extern const char ry_gpu_text_qconv[];
extern const char ry_gpu_text_random[];
extern const char ry_gpu_text_resize[];
extern const char ry_gpu_text_simt[];
extern const char ry_gpu_text_softmax[];
extern const char ry_gpu_text_steps[];
extern const char ry_gpu_text_subgroups[];
extern const char ry_gpu_text_sum_row[];
extern const char ry_gpu_text_walk[];
extern const char ry_gpu_text_wgrad_depthwise[];
extern const char ry_gpu_text_wide[];
extern const char ry_gpu_text_wide_loop[];
extern const char ry_gpu_text_wide_matrix[];
extern const char ry_gpu_text_wide_window[];
extern const char ry_gpu_text_winograd[];

#endif
