/* The graph of the steps in their order, and the table. */

/* Edges {from, to, lane}: neighbours have lane 0; longer ones get the first lane that is free. */
function listEdges() {
    const edges = [], ends = [];
    for (const step of steps) {
        const seen = new Set();
        for (const o of step.operands) {
            if (o.output || o.producer === null || seen.has(o.producer)) continue;
            seen.add(o.producer);
            edges.push({ from: o.producer, to: step.index, lane: 0 });
        }
    }
    for (const edge of edges.filter(e => e.to > e.from + 1).sort((a, b) => a.from - b.from || a.to - b.to)) {
        let lane = 0;
        while (ends[lane] > edge.from) lane++;
        ends[lane] = edge.to;
        edge.lane = lane + 1;
    }
    return edges;
}

function drawGraph() {
    const row = 34, edges = listEdges(), lanes = most(edges, e => e.lane), gap = Math.min(12, 150 / (lanes || 1));
    const left = 24 + gap * lanes, width = 1180, edge = 900, bars = 190;
    const svg = sheet("graph", width, steps.length * row + 8);
    const top = most(steps, s => Math.max(s.seconds, measured ? s.predicted.median : 0)) || 1;
    const middle = i => i * row + row / 2;
    svg.style.minWidth = "900px";
    for (const e of edges) {
        const x = left - 8 - gap * e.lane, bend = Math.min(8, gap * e.lane);
        const d = e.lane === 0 ? `M${left + 3} ${middle(e.from) + 12}V${middle(e.to) - 12}`
            : `M${left} ${middle(e.from) + 5}H${x + bend}q${-bend} 0 ${-bend} ${bend}V${middle(e.to) - 5 - bend}q0 ${bend} ${bend} ${bend}H${left}`;
        link(put(svg, "path", { class: "edge", d }), steps[e.from]).dataset.tip = `${steps[e.from].name}\n\u2192 ${steps[e.to].name}`;
    }
    steps.forEach((step, i) => {
        const y = i * row + 5, group = put(svg, "g", {});
        link(put(group, "rect", { x: left, y, width: edge - left, height: row - 10, rx: 5, fill: "var(--ground)", stroke: "var(--line)" }), step);
        put(group, "rect", { x: left, y, width: 6, height: row - 10, rx: 3, fill: colourOf(step) });
        const changes = step.layout_in !== step.layout_out, out = step.operands.find(o => o.output);
        const layouts = changes ? `${step.layout_in} \u2192 ${step.layout_out}` : step.layout_out;
        const room = (edge - left) / 6.6, places = [0, 0.27, 0.5, 0.73];
        [step.name, step.kernel, step.fused && "+ " + step.fused, layouts].forEach((text, k) => {
            const x = left + 16 + places[k] * (edge - left), style = k === 3 && changes ? "font-weight:600" : "";
            put(group, "text", { x, y: y + 16, style }, cut(text, Math.floor(room * ((places[k + 1] || 0.9) - places[k]) - 2)));
        });
        put(group, "text", { class: "soft", x: edge - 8, y: y + 16, "text-anchor": "end" }, out ? out.shape.join("x") : "");
        group.style.pointerEvents = "none";
        group.firstChild.style.pointerEvents = "auto";
        const bar = seconds => Math.max(1, bars * seconds / top);
        link(put(svg, "rect", { x: edge + 10, y: y + 3, width: bar(step.seconds), height: measured ? 9 : 18, fill: colourOf(step) }), step);
        if (measured) link(put(svg, "rect", { x: edge + 10, y: y + 14, width: bar(step.predicted.median), height: 6, fill: "var(--roof)" }), step);
        const longest = measured ? Math.max(step.seconds, step.predicted.median) : step.seconds;
        put(svg, "text", { class: "soft", x: edge + 16 + bar(longest), y: y + 16 }, secondsText(step.seconds));
    });
    byId("graph-text").textContent = "Steps in their order, with kernel, fused operators, layout and shape of the output. " +
        (measured ? "Bars: measured time, and in grey the prediction." : "Bars: predicted time.");
}

const columns = [
    { name: "#", of: s => s.index + 1, right: true },
    { name: "step", of: s => s.name },
    { name: "operator", of: s => s.op },
    { name: "kernel", of: s => s.kernel },
    { name: "time", of: s => s.seconds, text: s => secondsText(s.seconds), right: true },
    { name: "share", of: s => s.share, text: s => percent(s.share), bar: true },
    ...(measured ? [
        { name: "cv", title: "coefficient of variation", of: s => s.time.cv, text: s => percent(s.time.cv), right: true },
        { name: "predicted", of: s => s.predicted.median, text: s => secondsText(s.predicted.median), right: true },
        { name: "ratio", title: "measured over predicted", of: s => s.error, text: s => s.error.toFixed(2), right: true },
    ] : []),
    { name: "Gflop/s", of: s => s.seconds > 0 ? s.flop / s.seconds : 0, text: s => (s.seconds > 0 ? s.flop / s.seconds / 1e9 : 0).toFixed(1), right: true },
    { name: "of limit", of: s => s.fraction, text: s => s.fraction > 0 ? percent(s.fraction) : "-", right: true },
    { name: "bytes", of: s => s.bytes, text: s => bytesText(s.bytes), right: true },
    { name: "layouts", of: s => s.layout_in === s.layout_out ? s.layout_out : `${s.layout_in} \u2192 ${s.layout_out}` },
    { name: "fused", of: s => s.fused },
];
let sorted = { column: columns[0], down: false };

function fillTable() {
    const words = byId("filter").value.toLowerCase().split(" ").filter(w => w), body = byId("table").tBodies[0];
    const shown = steps.filter(s => words.every(w => `${s.name} ${s.op} ${s.kernel} ${s.fused}`.toLowerCase().includes(w)));
    const { column, down } = sorted;
    shown.sort((a, b) => {
        const p = column.of(a), q = column.of(b), order = p < q ? -1 : p > q ? 1 : a.index - b.index;
        return down ? -order : order;
    });
    body.replaceChildren();
    for (const step of shown) {
        const line = link(put(body, "tr", {}), step);
        for (const c of columns) {
            const cell = put(line, "td", c.right ? { class: "right" } : {}, c.bar ? "" : c.text ? c.text(step) : c.of(step));
            if (!c.bar) continue;
            put(cell, "span", { class: "bar", style: `width:${Math.max(1, 70 * step.share / (most(steps, s => s.share) || 1))}px` });
            cell.append(` ${c.text(step)}`);
        }
    }
}

function makeTable() {
    const head = put(byId("table").tHead, "tr", {});
    for (const column of columns) {
        const cell = put(head, "th", { class: column.right ? "right" : "", title: column.title || "" }, column.name);
        cell.onclick = () => {
            sorted = { column, down: sorted.column === column ? !sorted.down : column.right || column.bar };
            for (const th of head.children) th.removeAttribute("aria-sort");
            cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
            fillTable();
        };
    }
    byId("filter").oninput = fillTable;
    fillTable();
}

fillFacts();
drawGroups("op");
drawRoofline();
drawAgreement();
drawTimeline();
drawMemory();
drawGraph();
makeTable();
document.documentElement.dataset.ready = steps.length;
