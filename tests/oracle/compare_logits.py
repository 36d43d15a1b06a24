#!/usr/bin/env python3
"""How far one array of logits is from another.

    compare_logits.py REFERENCE.npy OURS.npy [--rtol 1e-4] [--kl 1e-3] [--top1 0.99] [--json]

Prints: largest difference over the range of the reference (and where), the same per position, top-1 agreement, mean and largest
KL(reference || ours) in nats. REFERENCE may be a file STEM.ids.npy of coarse.py. Exit 1 when a limit that was given is missed.
Packages: numpy.
"""
import argparse
import json
import sys

import numpy as np

import coarse


def kl_divergence(reference, ours):
    """[T, V] twice -> nats, [T]."""
    p, q = coarse.log_softmax(reference), coarse.log_softmax(ours)
    return (np.exp(p) * (p - q)).sum(-1)


def compare_full(reference, ours):
    span = float(reference.max() - reference.min())
    off = np.abs(ours.astype(np.float64) - reference)
    t, v = np.unravel_index(off.argmax(), off.shape)
    bad = np.nonzero(off.max(-1) > 1e-4 * span)[0]
    kl = kl_divergence(reference, ours)
    return {
        "positions": len(reference), "range": span, "max_difference_of_range": float(off.max() / span),
        "at_position": int(t), "at_id": int(v), "first_position_over_1e-4": int(bad[0]) if len(bad) else None,
        "top1": float((reference.argmax(-1) == ours.argmax(-1)).mean()),
        "kl_mean": float(kl.mean()), "kl_max": float(kl.max())}


def compare_coarse(ids, logprobs, ours):
    q = coarse.log_softmax(ours)
    kl = coarse.kl(ids, logprobs, q)
    off = np.abs(np.take_along_axis(q, ids, axis=-1) - logprobs[:, :-1])
    return {
        "positions": len(ours), "top1": float((ids[:, 0] == ours.argmax(-1)).mean()), "kl_mean": float(kl.mean()),
        "kl_max": float(kl.max()), "kl_is": "a lower bound: kept ids, all others in one bucket",
        "max_difference_of_logprob": float(off.max()), "at_position": int(off.max(-1).argmax())}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("reference")
    ap.add_argument("ours")
    ap.add_argument("--rtol", type=float, help="largest difference allowed, as a share of the reference's range")
    ap.add_argument("--kl", type=float, help="largest mean KL allowed")
    ap.add_argument("--top1", type=float, help="smallest top-1 agreement allowed")
    ap.add_argument("--json", action="store_true")
    a = ap.parse_args()
    reference, ours = np.load(a.reference), np.load(a.ours)
    if a.reference.endswith(".ids.npy"):
        result = compare_coarse(reference, np.load(a.reference.replace(".ids.npy", ".logprobs.npy")), ours)
    else:
        if reference.shape != ours.shape:
            sys.exit(f"shapes differ: reference {reference.shape}, ours {ours.shape}")
        result = compare_full(reference, ours)
    if not np.isfinite(ours).all():
        sys.exit("not every logit is finite")
    print(json.dumps(result) if a.json else "\n".join(f"{k:26s} {v}" for k, v in result.items()))
    missed = [
        a.rtol is not None and result.get("max_difference_of_range", 0) > a.rtol,
        a.kl is not None and result["kl_mean"] > a.kl,
        a.top1 is not None and result["top1"] < a.top1]
    return 1 if any(missed) else 0


if __name__ == "__main__":
    sys.exit(main())
