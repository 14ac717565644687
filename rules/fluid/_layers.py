"""Fluid's layers that take each sample of a batch by itself, or make nothing of samples."""

from __future__ import annotations

from transpile.quantity.operations import words

#: Of sequences, they take each by itself. Batch norm is spoken of where it is found.
APART = words("""
    fc embedding conv2d conv2d_transpose conv3d conv3d_transpose pool2d pool3d adaptive_pool2d
    adaptive_pool3d batch_norm inplace_abn data_norm instance_norm group_norm layer_norm lrn
    affine_channel prelu maxout dropout label_smooth one_hot bilinear_tensor_product row_conv
    deformable_conv im2sequence unfold fsp_matrix similarity_focus continuous_value_model
    simple_img_conv_pool img_conv_group sequence_conv_pool glu scaled_dot_product_attention
    dynamic_lstm dynamic_lstmp dynamic_gru lstm lstm_unit gru_unit rnn
    sequence_concat sequence_conv sequence_enumerate sequence_expand sequence_expand_as
    sequence_first_step sequence_last_step sequence_mask sequence_pad sequence_pool
    sequence_reverse sequence_slice sequence_softmax sequence_unpad lod_reset lod_append
    add_position_encoding
    cross_entropy softmax_with_cross_entropy sigmoid_cross_entropy_with_logits square_error_cost
    bpr_loss huber_loss log_loss smooth_l1 rank_loss margin_rank_loss hsigmoid nce
    sampled_softmax_with_cross_entropy teacher_student_sigmoid_loss sigmoid_focal_loss warpctc
    linear_chain_crf crf_decoding ctc_greedy_decoder edit_distance cos_sim ssd_loss yolov3_loss
    brelu leaky_relu elu selu gelu swish mish relu6 hard_shrink hard_sigmoid hard_swish soft_relu
    softsign softshrink tanh_shrink stanh thresholded_relu ceil floor round sign sin cos tan asin
    acos atan erf log1p equal not_equal less_than less_equal greater_than greater_equal
    logical_and logical_or logical_xor logical_not elementwise_mod elementwise_floordiv
    elementwise_equal increment ones_like zeros_like full_like fill_constant_batch_size_like
    gaussian_random_batch_size_like uniform_random_batch_size_like
    image_resize image_resize_short resize_bilinear resize_nearest resize_trilinear interpolate
    grid_sampler affine_grid pixel_shuffle space_to_depth shuffle_channel roi_align roi_pool
    psroi_pool prroi_pool yolo_box prior_box box_coder detection_output multiclass_nms
    multi_box_head crop crop_tensor pad2d multiplex bmm addcmul Print
    auc mean_iou chunk_eval
    """)
#: Give the mean over the samples of what they make of each.
MEANS = words("accuracy mse_loss dice_loss")
