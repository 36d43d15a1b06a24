"""A Llama forward pass in plain numpy float64, written to be read. No cache, no batching, no speed.

Not a stack of its own: the other scripts bring the weights. Weights are [N out, K in] under Hugging Face names, without `.weight`.
"""
import numpy as np


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def rotate(x, angles, interleaved, magnitude):
    """x [T, heads, D]; angles [T, D/2]. Interleaved: pairs (0,1),(2,3),...; otherwise pairs (j, j + D/2)."""
    cos, sin = magnitude * np.cos(angles)[:, None], magnitude * np.sin(angles)[:, None]
    d = x.shape[-1]
    first, second = (slice(0, d, 2), slice(1, d, 2)) if interleaved else (slice(0, d // 2), slice(d // 2, d))
    out = np.empty_like(x)
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def causal_mask(t, window):
    """Added to the scores. A window of w lets a position see itself and the w - 1 before it."""
    distance = np.arange(t)[:, None] - np.arange(t)[None, :]
    seen = (distance >= 0) & (distance < (window or t))
    return np.where(seen, 0.0, -np.inf)


def attention(q, k, v, mask):
    """q [T, Q, D], k and v [T, K, D] -> [T, Q*D]."""
    t, heads, d = q.shape
    k, v = (np.repeat(x, heads // k.shape[1], axis=1) for x in (k, v))
    scores = np.einsum("tqd,sqd->qts", q, k) / np.sqrt(d) + mask
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("qts,sqd->tqd", scores / scores.sum(-1, keepdims=True), v).reshape(t, heads * d)


def linear(w, name, x):
    y = x @ w[name].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def forward(w, ids, *, layers, heads, kv_heads, eps, inverse_frequencies, interleaved, window=None, magnitude=1.0):
    """-> logits [T, V]. magnitude: what YaRN multiplies the rotated Q and K with."""
    x = w["model.embed_tokens"][ids]
    t = len(ids)
    angles = np.arange(t)[:, None] * inverse_frequencies[None, :]
    mask = causal_mask(t, window)
    for i in range(layers):
        p = f"model.layers.{i}."
        y = rms_norm(x, w[p + "input_layernorm"], eps)
        q, k, v = (linear(w, f"{p}self_attn.{role}_proj", y) for role in "qkv")
        d = q.shape[1] // heads
        q, k, v = q.reshape(t, heads, d), k.reshape(t, kv_heads, d), v.reshape(t, kv_heads, d)
        q, k = (rotate(m, angles, interleaved, magnitude) for m in (q, k))
        x = x + linear(w, p + "self_attn.o_proj", attention(q, k, v, mask))
        y = rms_norm(x, w[p + "post_attention_layernorm"], eps)
        gate = linear(w, p + "mlp.gate_proj", y)
        x = x + linear(w, p + "mlp.down_proj", gate / (1 + np.exp(-gate)) * linear(w, p + "mlp.up_proj", y))
    head = w.get("lm_head", w["model.embed_tokens"])
    return rms_norm(x, w["model.norm"], eps) @ head.T


def plain_frequencies(d, theta):
    return theta ** (-np.arange(0, d, 2) / d)


def llama3_divisors(d, theta, factor, low_freq_factor, high_freq_factor, original):
    """What Llama 3.1 divides each rotation frequency by: nothing for short wavelengths, factor for long ones, a blend between."""
    turns = original * plain_frequencies(d, theta) / (2 * np.pi)
    kept = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return 1 / (kept + (1 - kept) / factor)
