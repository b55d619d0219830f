/* SPDX-License-Identifier: Apache-2.0 */
/* Operators as lists of moves: each function adds the moves of its operator. */
#ifndef RY_KERNELS_MOVE_MOVE_DESCRIBE_H
#define RY_KERNELS_MOVE_MOVE_DESCRIBE_H

#include "kernels/move/move_list.h"

typedef void (*ry_describe)(const ry_problem *problem, ry_move_list *list);

/* A move between an input (or RY_MOVE_VALUE) and output `to`, with an empty box of the output's
 * element size. */
ry_move ry_move_start(const ry_problem *problem, int from, int to);
/* Equal shapes, any strides. */
void ry_move_same_shape(const ry_problem *problem, ry_move_list *list, int from, int to);

void ry_describe_copy(const ry_problem *problem, ry_move_list *list);
void ry_describe_view(const ry_problem *problem, ry_move_list *list);
void ry_describe_transpose(const ry_problem *problem, ry_move_list *list);
void ry_describe_slice(const ry_problem *problem, ry_move_list *list);
void ry_describe_expand(const ry_problem *problem, ry_move_list *list);
void ry_describe_tile(const ry_problem *problem, ry_move_list *list);
void ry_describe_depth_to_space(const ry_problem *problem, ry_move_list *list);
void ry_describe_space_to_depth(const ry_problem *problem, ry_move_list *list);
void ry_describe_concat(const ry_problem *problem, ry_move_list *list);
void ry_describe_split(const ry_problem *problem, ry_move_list *list);
void ry_describe_pad(const ry_problem *problem, ry_move_list *list); /* mode constant */
void ry_describe_center_crop_pad(const ry_problem *problem, ry_move_list *list);
void ry_describe_constant_of_shape(const ry_problem *problem, ry_move_list *list);

/* Is it an operator of moves.inc, whose moves can be described? And all of its moves. */
bool ry_moves_are_boxes(const ry_problem *problem);
void ry_moves_describe(const ry_problem *problem, ry_move_list *list);

#endif
