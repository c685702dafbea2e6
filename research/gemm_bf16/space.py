"""The parameter space of gemm_bf16.

    space.py list      every valid configuration, one per line, for bench_gemm
    space.py manifest  parameters and constraints as protobuf text

One table serves both, so that what was measured is what the manifest declares.
"""
import itertools
import sys

MACRO, MICRO = "MACRO", "MICRO"
# HOPPER and VECTOR leave the grid alone, but they are other machine code with other costs
# per iteration: MACRO keeps them in rows of their own.
PARAMETERS = [
    ("HOPPER", MACRO, [0, 1]),
    ("VECTOR", MACRO, [1, 8]),
    ("BLOCK_M", MACRO, list(range(16, 65, 16)) + list(range(80, 257, 16))),
    ("BLOCK_N", MACRO, [64, 128, 192, 256]),
    ("BLOCK_K", MACRO, [32, 64, 128]),
    ("STAGES", MICRO, list(range(2, 23))),
    ("CONSUMERS", MICRO, [1, 2, 3]),
    ("PINGPONG", MICRO, [0, 1]),
    ("SPLIT_K", MACRO, [1, 2, 3, 4]),
    ("CLUSTER_M", MACRO, [1, 2]),
    ("CLUSTER_N", MACRO, [1, 2]),
    ("RESIDENT", MICRO, [1, 2, 3]),
]
NAMES = [p[0] for p in PARAMETERS]
SHORT = dict(H="HOPPER", V="VECTOR", M="BLOCK_M", N="BLOCK_N", K="BLOCK_K", S="STAGES", C="CONSUMERS", G="PINGPONG",
             P="SPLIT_K", X="CLUSTER_M", Y="CLUSTER_N", R="RESIDENT")

# (comment, left, operator, right); a side is a sum of products over the letters above.
# A factor H switches a relation off for the portable path, a pair (t, -t * H) for Hopper's.
RELATIONS = [
    ("Hopper: 16-byte rows for the tensor maps.", "V", ">=", "8 H"),
    ("Hopper: whole blocks of 64 columns per consumer, 64 of them, or 128 with two consumers.", "H N", "%", "64 C"),
    (None, "H N", "<=", "64 C C"),
    ("Hopper: at most 128 accumulators per thread, 96 with three consumers.", "H M N", "<=", "16384 C"),
    (None, "H M N", "<=", "36864"),
    ("Hopper: RESIDENT blocks fit into the 228 KiB of a multiprocessor, 1 KiB each reserved, with the deepest ring that does.",
     "3072 H R + 8192 H R C + 2 H R K S M + 2 H R K S N", "<=", "233472"),
    (None, "3072 H R + 8192 H R C + 2 H R K S M + 2 H R K S N + 2 H R K M + 2 H R K N", ">=", "233473 H"),
    ("Hopper: a ring of three stages at least; short ones do not hide a load.", "S", ">=", "3 H"),
    ("Hopper: several resident blocks pay for low tiles only.", "H M R R", "<=", "256"),
    ("Hopper: a slab is 64 elements of k; two of them pay for low tiles only.", "K", ">=", "64 H"),
    (None, "H K M", "<=", "64 M + 4096"),
    ("Hopper: wide tiles pay only when they are high too.", "H N", "<=", "M + 128"),
    ("A cluster shares loads of two tiles or splits k, not both.", "X Y", "<=", "2"),
    (None, "X Y P + 1", "=", "X Y + P"),
    ("Hopper: ping-pong is for two consumers that loop over tiles, 128 accumulators per thread; low tiles have no epilogue to hide.",
     "G", "<=", "H"),
    (None, "2 G", "<=", "C"),
    (None, "G C", "<=", "2"),
    (None, "G M N", "<=", "16384"),
    (None, "96 G", "<=", "M"),
    (None, "G K", "<=", "64"),
    (None, "G P R", "<=", "1"),
    ("Sharing loads pays for large tiles only, splitting k for small ones.", "24576 X Y", "<=", "M N + 24576"),
    (None, "M N P", "<=", "49152"),
    (None, "N P", "<=", "120 P + 136"),
    (None, "M P", "<=", "120 P + 136"),
    (None, "R P", "<=", "8"),
    ("Portable: no clusters, and residency is what it is.", "P X Y R - H P X Y R", "<=", "1"),
    ("Portable: heights 16, 32, 64, 128; widths 64, 128.", "128 - 128 H", "%", "M"),
    (None, "N - H N", "<=", "128"),
    ("Portable: four warps, or eight for tiles of 64 x 128 and more.", "C - H C", "<=", "2"),
    (None, "8192 C - 8192 H C", "<=", "M N + 8192"),
    (None, "M N - H M N", "<", "16384 C"),
    ("Portable: four warps share the k of small tiles, 16 elements each.", "M N K - H M N K", ">=", "65537 - 65537 H"),
    ("Portable: three stages, two where copies are not asynchronous.", "7 S - 7 H S", "=", "V - H V + 13 - 13 H"),
    ("Portable: what a block may have on every GPU since sm_80; small tiles where copies are by element.",
     "2 K S M + 2 K S N - 2 H K S M - 2 H K S N", "<=", "98304"),
    (None, "M N K - H M N K", "<=", "131072 V"),
]

OPERATORS = {">=": "GREATER_OR_EQUAL", "<=": "LESS_OR_EQUAL", "<": "LESS", "=": "EQUAL", "%": "MULTIPLE_OF"}

def terms(text):
    """[(coefficient, [letters])]"""
    out = []
    for part in text.replace("- ", "+ -").split("+"):
        words = part.split()
        coefficient = 1
        if words[0].startswith("-") and not words[0][1:].isdigit():
            coefficient, words[0] = -1, words[0][1:]
        elif words[0].lstrip("-").isdigit():
            coefficient = int(words.pop(0))
        out.append((coefficient, words))
    return out

def python(text):
    return " + ".join("*".join([str(c)] + f) for c, f in terms(text))

def compile_relations():
    tests = []
    for _, left, op, right in RELATIONS:
        l, r = python(left), python(right)
        tests.append("(%s) %% (%s) == 0" % (l, r) if op == "%" else "(%s) %s (%s)" % (l, "==" if op == "=" else op, r))
    return eval("lambda %s: %s" % (", ".join(SHORT), " and ".join(tests)))

def configurations():
    valid = compile_relations()
    for values in itertools.product(*(p[2] for p in PARAMETERS)):
        if valid(*values):
            yield dict(zip(NAMES, values))

def side(name, text):
    out = []
    for coefficient, factors in terms(text):
        inner = []
        if coefficient != 1 or not factors:
            inner.append("coefficient: %d" % coefficient)
        if factors:
            names = ['"%s"' % SHORT[f] for f in factors]
            inner.append("factors: " + (names[0] if len(names) == 1 else "[%s]" % ", ".join(names)))
        out.append("%s { %s }" % (name, " ".join(inner)))
    return " ".join(out)

def manifest():
    used = list(configurations())
    for name, role, values in PARAMETERS:
        values = [v for v in values if any(c[name] == v for c in used)]
        print('parameters { name: "%s" role: %s values: [%s] }' % (name, role, ", ".join(map(str, values))))
    print("\n# %d valid configurations, %d of them portable." % (len(used), sum(not c["HOPPER"] for c in used)))
    for comment, left, op, right in RELATIONS:
        if comment: print("# " + comment)
        print("constraints { %s op: %s %s }" % (side("left", left), OPERATORS[op], side("right", right)))

if __name__ == "__main__":
    if sys.argv[1] == "manifest":
        manifest()
    else:
        for c in configurations():
            print(" ".join("%s=%d" % kv for kv in c.items()))
