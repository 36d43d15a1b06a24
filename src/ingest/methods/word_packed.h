// Shared by the methods whose files are GPTQ's and AWQ's words.
#pragma once

#include <array>

#include "ingest/packing_claim.h"

namespace motley::ingest::methods {

// Keys by which quantisers remember what they did; none changes how the file is read. The order of inputs (desc_act) is
// in the tensors.
inline constexpr auto kQuantiserTrivia = std::to_array<std::string_view>(
    {"quant_method", "method", "desc_act", "lm_head", "zero_point", "meta", "true_sequential", "damp_percent",
     "damp_auto_increment", "static_groups", "act_group_aware", "modules_in_block_to_quantize", "model_name_or_path",
     "model_file_base_name", "backend", "exllama_config", "use_exllama", "disable_exllama", "max_input_length",
     "tokenizer", "dataset", "batch_size", "cache_block_outputs", "block_name_to_quantize",
     "module_name_preceding_first_block", "pad_token_id", "use_cuda_fp16", "model_seqlen", "do_fuse", "modules_to_fuse",
     "fuse_max_seq_len", "hyb_act", "mse", "parallel_packing", "adapter", "hessian_chunk_*",
     // AutoRound
     "autoround_version", "data_type", "enable_quanted_input", "provider", "to_quant_block_names", "seqlen", "iters",
     "nsamples", "lr", "minmax_lr", "low_gpu_mem_usage", "amp", "enable_minmax_tuning", "gradient_accumulate_steps",
     "scale_dtype", "enable_norm_bias_tuning", "act_*", "train_bs", "batch_dim"});

StatusOr<std::unique_ptr<PackingClaims>> read_awq(const Json& config, std::string_view where);

}  // namespace motley::ingest::methods
