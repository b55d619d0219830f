/* Facts, bars by operator and kernel, the roofline, and predicted beside measured time. */
function fillFacts() {
    const facts = [];
    document.title = `${data.model}: ${data.kind}`;
    byId("title").textContent = data.model;
    byId("about").textContent = `${measured ? "Profile" : "Plan"} by rynd ${data.rynd} on ${data.device}, ${data.threads} ` +
        `${data.threads === 1 ? "thread" : "threads"}, ${data.isa}; rates of the machine: ${data.machine}`;
    if (measured) facts.push([secondsText(data.total.median), `measured, median of ${data.total.n} runs`]);
    facts.push([secondsText(data.predicted.median), `predicted (90%: ${secondsText(data.predicted.low)} to ${secondsText(data.predicted.high)})`]);
    const work = sum(steps, s => s.flop), limit = sum(steps, s => Math.max(0, s.limit || 0));
    facts.push([rateText(total > 0 ? work / total : 0), `${(work / 1e9).toFixed(2)} Gflop, ${measured ? "measured" : "predicted"}`]);
    if (steps.every(s => s.limit > 0 || s.seconds === 0)) facts.push([percent(total > 0 ? limit / total : 0), "of the roofline limit"]);
    facts.push([bytesText(data.memory.total), `memory: weights ${bytesText(data.memory.weights)}, between steps ${bytesText(data.memory.activations)}`]);
    facts.push([String(steps.length), `steps, ${steps.filter(s => s.problem.startsWith("copy ")).length} change layouts only`]);
    for (const [value, text] of facts) {
        const box = put(byId("facts"), "div", {});
        put(box, "b", {}, value);
        put(box, "span", {}, text);
    }
    for (const o of operators.slice(0, palette.length)) {
        const item = put(byId("legend"), "span", {});
        put(item, "i", { style: `background:${colours.get(o.op)}` });
        item.append(o.op);
    }
}

function groupsBy(key) {
    const groups = new Map();
    for (const step of steps) {
        const group = groups.get(step[key]) || { name: step[key], steps: [] };
        group.steps.push(step);
        groups.set(step[key], group);
    }
    return [...groups.values()].map(g => ({ ...g, seconds: sum(g.steps, s => s.seconds) })).sort((a, b) => b.seconds - a.seconds);
}

function drawGroups(key) {
    const groups = groupsBy(key).slice(0, 14), row = 24, left = 220, right = 190, width = 1180;
    const svg = sheet("groups", width, groups.length * row + 4), top = most(groups, g => g.seconds) || 1;
    groups.forEach((group, i) => {
        const y = i * row;
        let x = left;
        put(svg, "text", { x: left - 10, y: y + 15, "text-anchor": "end" }, cut(group.name, 34));
        for (const step of group.steps.slice().sort((a, b) => b.seconds - a.seconds)) {
            const wide = (width - left - right) * step.seconds / top;
            link(put(svg, "rect", { x, y: y + 3, width: Math.max(0.3, wide - 0.7), height: row - 8, fill: colourOf(step) }), step);
            x += wide;
        }
        const counted = `${group.steps.length} ${group.steps.length === 1 ? "step" : "steps"}`;
        put(svg, "text", { x: x + 8, y: y + 15 }, [secondsText(group.seconds), percent(total > 0 ? group.seconds / total : 0), counted].join(" \u00b7 "));
    });
    byId("groups-text").textContent = `${measured ? "Measured" : "Predicted"} time; each piece of a bar is a step.`;
    const box = byId("by");
    box.replaceChildren();
    for (const [name, text] of [["op", "operator"], ["kernel", "kernel"]]) {
        put(box, "button", { "aria-pressed": name === key }, text).onclick = () => drawGroups(name);
    }
}

/* Powers of ten from low to high, with the axis and its words. */
function logAxis(low, high, from, to) {
    const a = Math.log10(low), b = Math.log10(high);
    const at = value => from + (to - from) * (Math.log10(value) - a) / (b - a);
    const ticks = [];
    for (let e = Math.ceil(a - 1e-9); e <= b + 1e-9; e++) ticks.push(10 ** e);
    return { at, ticks };
}

function drawAxes(svg, x, y, box, words) {
    for (const tick of x.ticks) {
        put(svg, "line", { class: "axis", x1: x.at(tick), x2: x.at(tick), y1: box.top, y2: box.bottom });
        put(svg, "text", { class: "soft", x: x.at(tick), y: box.bottom + 16, "text-anchor": "middle" }, words.x(tick));
    }
    for (const tick of y.ticks) {
        put(svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) });
        put(svg, "text", { class: "soft", x: box.left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, words.y(tick));
    }
    put(svg, "text", { class: "soft", x: box.right, y: box.bottom + 32, "text-anchor": "end" }, words.below);
    put(svg, "text", { class: "soft", x: box.left, y: box.top - 8 }, words.above);
}

const plain = value => value >= 0.01 && value < 1e5 ? String(+value.toPrecision(3)) : value.toExponential(0);
const radius = step => 3 + 17 * Math.sqrt(step.share);

function drawRoofline() {
    const box = { left: 52, right: 560, top: 24, bottom: 370 }, svg = sheet("roofline", 570, 408);
    const dots = steps.filter(s => s.work > 0 && s.bytes > 0 && s.seconds > 0);
    const peak = data.roofline.f32, levels = data.roofline.levels.filter(l => l.bandwidth > 0);
    if (!dots.length || !(peak > 0)) return;
    const reach = Math.max(most(dots, s => s.work / s.bytes), peak / (levels.length ? levels[levels.length - 1].bandwidth : peak));
    const x = logAxis(Math.min(...dots.map(s => s.work / s.bytes), 0.25) / 1.5, reach * 2, box.left, box.right);
    const slowest = Math.min(...dots.map(s => s.work / s.seconds));
    const y = logAxis(Math.min(slowest, peak / 50) / 1.5, Math.max(peak, data.roofline.int8 || 0) * 1.6, box.bottom, box.top);
    drawAxes(svg, x, y, box, { x: plain, y: v => plain(v / 1e9), below: "operations per byte", above: "Gflop/s" });
    const clip = put(svg, "clipPath", { id: "inside" });
    put(clip, "rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
    const roofs = put(svg, "g", { "clip-path": "url(#inside)" });
    const low = 1e-4, high = 1e6;
    const peaks = [["f32", peak]];
    if (data.roofline.int8 > 0 && steps.some(s => s.problem.startsWith("qconv "))) peaks.push(["int8", data.roofline.int8]);
    for (const [name, flops] of peaks) {
        put(roofs, "path", { class: "roof", d: `M${x.at(low)} ${y.at(flops)}H${x.at(high)}` });
        put(svg, "text", { class: "soft", x: box.right - 4, y: y.at(flops) - 5, "text-anchor": "end" }, `${name} peak ${rateText(flops)}`);
    }
    for (const level of levels) {
        const ends = peak / level.bandwidth;
        put(roofs, "path", { class: "roof", "stroke-dasharray": "4 3", d: `M${x.at(low)} ${y.at(low * level.bandwidth)}L${x.at(ends)} ${y.at(peak)}` });
        const name = { x: x.at(ends) - 4, y: y.at(peak) + 14, "text-anchor": "end", class: "soft" };
        name.transform = `rotate(-38 ${name.x} ${name.y})`;
        put(roofs, "text", name, level.name);
    }
    for (const step of dots.sort((a, b) => b.seconds - a.seconds)) {
        const place = { cx: x.at(step.work / step.bytes), cy: y.at(step.work / step.seconds), r: radius(step), fill: colourOf(step), "fill-opacity": 0.75 };
        const dot = link(put(svg, "circle", place), step);
        dot.dataset.tip = `${tipOf(step)}\n${rateText(step.work / step.seconds)}, ${plain(step.work / step.bytes)} operations per byte`;
    }
}

/* Without measurements: the parts of the predicted time. */
function drawParts() {
    const names = [["arithmetic", palette[0]], ["memory", palette[1]], ["overhead", palette[4]]], width = 570;
    const list = steps.slice().sort((a, b) => b.seconds - a.seconds).slice(0, 18), row = 20, left = 190;
    const svg = sheet("agreement", width, list.length * row + 30);
    byId("agreement-title").textContent = "Parts of the predicted time";
    byId("agreement-text").textContent = "The slowest steps: arithmetic, memory and overhead of threads. They overlap in part.";
    const longest = most(list, s => sum(names, n => s.predicted[n[0]])) || 1;
    list.forEach((step, i) => {
        let x = left;
        put(svg, "text", { x: left - 8, y: i * row + 14, "text-anchor": "end" }, cut(step.name, 28));
        for (const [name, colour] of names) {
            const wide = (width - left - 10) * step.predicted[name] / longest;
            link(put(svg, "rect", { x, y: i * row + 3, width: wide, height: row - 6, fill: colour }), step);
            x += wide;
        }
    });
    names.forEach(([name, colour], i) => {
        put(svg, "rect", { x: left + 110 * i, y: list.length * row + 10, width: 11, height: 11, rx: 3, fill: colour });
        put(svg, "text", { class: "soft", x: left + 110 * i + 16, y: list.length * row + 20 }, name);
    });
}

function drawAgreement() {
    if (!measured) {
        drawParts();
        return;
    }
    const box = { left: 60, right: 560, top: 24, bottom: 370 }, svg = sheet("agreement", 570, 408);
    const dots = steps.filter(s => s.seconds > 0 && s.predicted.median > 0);
    const within = sum(dots, s => s.error < 1.1 && s.error > 1 / 1.1 ? s.seconds : 0);
    byId("agreement-title").textContent = "Predicted beside measured";
    byId("agreement-text").textContent = `Above the line a step is slower than predicted. Steps within 10% take ${percent(total > 0 ? within / total : 0)} of the time.`;
    if (!dots.length) return;
    const all = dots.flatMap(s => [s.seconds, s.predicted.median]);
    const low = Math.min(...all) / 1.6, high = Math.max(...all) * 1.6;
    const x = logAxis(low, high, box.left, box.right), y = logAxis(low, high, box.bottom, box.top);
    drawAxes(svg, x, y, box, { x: secondsText, y: secondsText, below: "predicted", above: "measured" });
    put(svg, "path", { class: "roof", d: `M${x.at(low)} ${y.at(low)}L${x.at(high)} ${y.at(high)}` });
    for (const step of dots.sort((a, b) => b.seconds - a.seconds)) {
        const place = { cx: x.at(step.predicted.median), cy: y.at(step.seconds), r: radius(step), fill: colourOf(step), "fill-opacity": 0.75 };
        link(put(svg, "circle", place), step).dataset.tip = `${tipOf(step)}\nmeasured over predicted: ${step.error.toFixed(2)}`;
    }
}
