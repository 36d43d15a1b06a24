#!/usr/bin/env python3
"""Logits over a large vocabulary, made small enough to commit.

    coarse.py FULL.npy STEM          writes STEM.ids.npy and STEM.logprobs.npy

For each of T positions: the KEEP likeliest ids, likeliest first (int32 [T, KEEP]), and their log-probabilities followed by the
log of the probability that all other ids share (float32 [T, KEEP + 1]).

What it costs: a KL computed over KEEP ids and one bucket for the rest is a LOWER BOUND of the full KL (merging outcomes can only
hide differences). On the demo text the bucket holds a tenth of the mass on average; compare_logits.py on full arrays gives the exact figure.
Top-1 agreement and the log-probabilities of the kept ids lose nothing. Packages: numpy.
"""
import sys

import numpy as np

KEEP = 64


def log_softmax(x):
    x = x.astype(np.float64)
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def log_rest(logprobs, ids):
    """log of the mass outside ids: summed over the others, not as 1 - sum, which would cancel."""
    others = logprobs.copy()
    np.put_along_axis(others, ids, -np.inf, axis=-1)
    return np.log(np.exp(others).sum(-1, keepdims=True))


def compress(logits):
    logprobs = log_softmax(logits)
    ids = np.argsort(-logprobs, axis=-1, kind="stable")[:, :KEEP]
    kept = np.take_along_axis(logprobs, ids, axis=-1)
    return ids.astype(np.int32), np.concatenate([kept, log_rest(logprobs, ids)], axis=-1).astype(np.float32)


def kl(ids, reference, ours):
    """ids [T, KEEP], reference [T, KEEP + 1], our log-probabilities [T, V] -> nats [T]."""
    q = np.concatenate([np.take_along_axis(ours, ids, axis=-1), log_rest(ours, ids)], axis=-1)
    p = reference.astype(np.float64)
    return (np.exp(p) * (p - q)).sum(-1)


def main(full, stem):
    ids, logprobs = compress(np.load(full))
    np.save(stem + ".ids.npy", ids)
    np.save(stem + ".logprobs.npy", logprobs)
    print(f"mass outside the {KEEP} kept ids: mean {np.exp(logprobs[:, -1]).mean():.4f}, max {np.exp(logprobs[:, -1]).max():.4f}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
