# SPDX-License-Identifier: Apache-2.0
"""What turns say: the winner of each subject, ratios with their intervals, geometric means; as fields of the results and as text."""
import math
import statistics

from .estimates import geomean, ratio
from .limits import limit

PEERS = {"onnxruntime": "ORT", "openvino": "OpenVINO", "ncnn": "ncnn", "mnn": "MNN", "torch": "torch", "torch.nhwc": "torch nhwc"}
DIRECT = ["onnxruntime", "openvino", "torch", "torch.nhwc"]  # peers that sum in float32 without Winograd
DENSE = ["first", "dense", "pointwise", "other"]


def against(turns, ours, peers):
    """Our ratio to the fastest of the peers, or None."""
    present = [key for key in peers if key in turns]
    if ours not in turns or not present:
        return None
    best = min(present, key=lambda key: statistics.median(turns[key]))
    middle, low, high, coverage = ratio(turns[best], turns[ours])
    return {"peer": best, "ratio": middle, "low": low, "high": high, "coverage": coverage}


def summarise_subject(entry, peaks):
    """Adds medians, winner and ratios to an entry, computed from its `turns` in seconds."""
    turns = entry["turns"]
    entry["seconds"] = {key: statistics.median(values) for key, values in turns.items()}
    entry["winner"] = min((key for key in turns if key == "rynd" or key in PEERS), key=entry["seconds"].get, default=None)
    entry["near32"] = against(turns, "rynd", PEERS)
    entry["strict"] = against(turns, "rynd.strict", DIRECT)
    entry["layouts"] = against(turns, "rynd.nhwc", ["rynd"])
    entry["igemm"] = against(turns, "rynd", ["rynd.igemm"])
    for accuracy, key in (("near32", "rynd"), ("strict", "rynd.strict")):
        known = peaks and entry["steps"] and key in turns
        entry[f"limit_{accuracy}"] = limit(entry["steps"], accuracy, peaks) / entry["seconds"][key] if known else None


def summarise(subjects):
    """Geometric means and the worst, by what they are of."""
    sets = {"layers": lambda s: s["group"] != "net", "dense layers": lambda s: s["group"] in DENSE,
            "depthwise layers": lambda s: s["group"] == "depthwise", "grouped layers": lambda s: s["group"] == "grouped",
            "networks": lambda s: s["group"] == "net"}
    rows = []
    for of, belongs in sets.items():
        for kind in KINDS:
            found = [s for s in subjects if belongs(s) and s[kind] and (kind != "igemm" or of == "depthwise layers")]
            if found:
                # Layouts should take the same time: the worst is the farthest from 1, to either side.
                worst = min(found, key=lambda s: -abs(math.log(s[kind]["ratio"])) if kind == "layouts" else s[kind]["ratio"])
                limits = [s[f"limit_{kind}"] for s in found if s.get(f"limit_{kind}")]
                rows.append({"of": of, "kind": kind, "count": len(found), "geomean": geomean([s[kind]["ratio"] for s in found]),
                             "worst": worst[kind]["ratio"], "worst_name": worst["name"],
                             "limit": statistics.median(limits) if limits else None})
    return rows


def peer_geomeans(subjects):
    """How many times slower than rynd each peer is, over layers and over networks: {peer: {"layers": x, "networks": x}}."""
    means = {}
    for key in PEERS:
        for of, is_net in (("layers", False), ("networks", True)):
            ratios = [s["seconds"][key] / s["seconds"]["rynd"] for s in subjects
                      if (s["group"] == "net") == is_net and key in s["seconds"] and "rynd" in s["seconds"]]
            if ratios:
                means.setdefault(key, {})[of] = geomean(ratios)
    return means


def differences(subjects):
    """How far a peer's output is from rynd's at most, and where: {peer: (relative RMS, name)}."""
    found = {}
    for entry in subjects:
        for key, value in entry["differs"].items():
            if key in PEERS and "rynd" in entry["differs"] and value >= found.get(key, (0, ""))[0]:
                found[key] = value, entry["name"]
    return found


def milliseconds(seconds):
    """Four digits."""
    ms = seconds * 1e3
    return f"{ms:.{0 if ms >= 1000 else 1 if ms >= 100 else 2 if ms >= 10 else 3 if ms >= 1 else 4}f}"


FORMS = {"rynd": "rynd", "rynd.strict": "strict", "rynd.nhwc": "nhwc", "rynd.igemm": "igemm"}
KINDS = {"near32": "rynd, best peer", "strict": "rynd strict, best of ONNX Runtime, OpenVINO, torch", "layouts": "rynd nhwc, rynd nchw",
         "igemm": "rynd, its own implicit GEMM with groups"}


def table_head(keys, width=18):
    cells = [f"{'':{width}}"] + [f"{(FORMS | PEERS)[key]:>11}" for key in keys]
    return "".join(cells) + f"  {'GFLOP/s':>7} {'limit':>5}  {'vs best peer':>12} {'95% interval':>13}  {'strict':>6} {'nchw/nhwc':>9}"


def table_line(entry, keys, width=18):
    """One line; the winner's time has a star."""
    cells = [f"{entry['name']:{width}}"]
    for key in keys:
        seconds = entry["seconds"].get(key)
        cells.append(f"{milliseconds(seconds) if seconds else '-':>10}" + ("*" if seconds and key == entry["winner"] else " "))
    ours = entry["seconds"].get("rynd")
    rate = f"{entry['flop'] / ours * 1e-9:.0f}" if ours and entry["flop"] else "-"
    share = f"{entry['limit_near32']:.0%}" if entry["limit_near32"] else "-"
    line = "".join(cells) + f"  {rate:>7} {share:>5}"
    if entry["near32"]:
        n = entry["near32"]
        span = f"{n['low']:.2f}..{n['high']:.2f}"
        line += f"  {n['ratio']:>11.2f}x {span:>13}"
    else:
        line += f"  {'-':>12} {'-':>13}"
    strict, layouts = entry["strict"], entry["layouts"]
    ratio_of = f"{strict['ratio']:.2f}x" if strict else "-"
    line += f"  {ratio_of:>6} " + (f"{layouts['ratio']:>9.2f}" if layouts else f"{'-':>9}")
    return line


def closing_lines(subjects):
    """Geometric means, and the worst."""
    lines = [f"{'':18} {'':52} {'n':>3} {'geomean':>8} {'worst':>7}"]
    for row in summarise(subjects):
        share = f", median of limit {row['limit']:.0%}" if row["limit"] and row["of"].endswith("layers") else ""
        lines.append(f"{row['of']:18} {KINDS[row['kind']]:52} {row['count']:>3} {row['geomean']:>7.2f}x {row['worst']:>6.2f}x  {row['worst_name']}{share}")
    apart = differences(subjects)
    for key, means in peer_geomeans(subjects).items():
        words = ", ".join(f"{of} {mean:.2f}x" for of, mean in means.items())
        if key in apart:
            words += f"; output differs from rynd's by {apart[key][0]:.1e} at most (relative RMS, {apart[key][1]})"
        lines.append(f"{PEERS[key]:18} time over rynd's: {words}")
    for entry in subjects:
        if "rynd" in entry.get("memory", {}):
            sizes = ", ".join(f"{(FORMS | PEERS)[key]} {size / 2**20:.0f}" for key, size in entry["memory"].items())
            lines.append(f"{entry['name']:18} MiB at most: {sizes}")
    lines += worst_lines(subjects)
    return lines


def worst_lines(subjects, count=20):
    """The subjects where rynd does worst."""
    found = sorted((s for s in subjects if s["near32"]), key=lambda s: s["near32"]["ratio"])[:count]
    lines = [f"{'worst':>7} {'interval':>13} {'rynd ms':>9} {'GFLOP/s':>8}  {'peer':10}"] if found else []
    for s in found:
        n, seconds = s["near32"], s["seconds"]["rynd"]
        span = f"{n['low']:.2f}..{n['high']:.2f}"
        lines.append(f"{n['ratio']:>6.2f}x {span:>13} {milliseconds(seconds):>9} {s['flop'] / seconds * 1e-9:>8.1f}  {PEERS[n['peer']]:10}  {s['name']}")
    return lines


def dominance(entries, key):
    """D_max of a sweep and the name of its point: the largest ratio of a point's time to the least time of a later point. Later points contain earlier ones."""
    times = [(entry["name"], statistics.median(entry["turns"][key])) for entry in entries if entry["turns"].get(key)]
    return max(((time / min(later for _, later in times[i:]), name) for i, (name, time) in enumerate(times)), default=None)


def dominance_lines(entries):
    """A line for each engine, the most even one first."""
    keys = dict.fromkeys(key for entry in entries for key in entry["turns"])
    found = sorted((dominance(entries, key), key) for key in keys)
    return [f"{'D_max':18} {'at':>8}"] + [f"{key:18} {name:>8} {value:6.2f}" for (value, name), key in found]
