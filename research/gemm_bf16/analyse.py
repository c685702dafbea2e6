"""What each choice is worth: analyse.py TIMINGS_CSV"""
import csv, sys, collections, re, math
by = collections.defaultdict(dict)
for r in csv.DictReader(open(sys.argv[1])):
    by[(int(r['m']), int(r['n']), int(r['k']))][r['config']] = float(r['us'])

def geomean(v): return math.exp(sum(map(math.log, v)) / len(v))

def variant(title, f):
    out = collections.defaultdict(list)
    for s, d in by.items():
        best = min(d.values())
        for c, t in d.items():
            o = f(c)
            if o and o != c and o in d and min(t, d[o]) < 1.15 * best:
                out['decode' if s[0] <= 64 else 'prefill'].append(d[o] / t)
    for k, v in out.items():
        print('%-24s %-8s n=%-4d time x %.3f  [%.3f, %.3f]' % (title, k, len(v), geomean(v), min(v), max(v)))

def without(title, f):
    """Loss if the configurations that f matches did not exist."""
    for name, pick in (('decode', lambda m: m <= 64), ('prefill', lambda m: m > 64)):
        v = []
        for s, d in by.items():
            if pick(s[0]):
                rest = [t for c, t in d.items() if not re.search(f, c)]
                v.append(min(rest) / min(d.values()) if rest else 9)
        print('without %-30s %-8s x %.4f  max %.3f  affected %d' % (title, name, geomean(v), max(v), sum(x > 1.0001 for x in v)))

def greedy(shapes, n):
    configs = {c for s in shapes for c in by[s]}
    best = {s: min(by[s].values()) for s in shapes}
    cur = {s: 3 * best[s] for s in shapes}
    for _ in range(n):
        c = min(configs, key=lambda c: sum(math.log(min(cur[s], by[s].get(c, 1e9)) / best[s]) for s in shapes))
        for s in shapes: cur[s] = min(cur[s], by[s].get(c, 1e9))
        print('  %-44s %.4f' % (c, 1 / geomean([cur[s] / best[s] for s in shapes])))

variant('cluster 1x2 for 1x1', lambda c: c.replace('_c1x1', '_c1x2') if '_k1_' in c else None)
variant('cluster 2x1 for 1x1', lambda c: c.replace('_c1x1', '_c2x1') if '_k1_' in c else None)
without('clusters', '_c(1x2|2x1)')
for p in (2, 3, 4): without('split-k %d' % p, '_k%d_' % p)
without('split-k', '_k[2-8]_')
for n in (64, 192, 256): without('BLOCK_N %d' % n, r'^H\d+x%dx' % n)
without('BLOCK_K 128', r'^H\d+x\d+x128_')
for r in (2, 3): without('RESIDENT %d' % r, '_r%d$' % r)
for m in range(48, 257, 16): without('BLOCK_M %d' % m, '^H%dx' % m)
without('Hopper', '^H')
print('decode portfolio'); greedy([s for s in by if s[0] <= 64], 12)
print('prefill portfolio'); greedy([s for s in by if s[0] > 64], 24)
