"use strict";
/* Data, units, colours, and the link between all pictures: a step under the pointer is marked everywhere. */
const data = JSON.parse(document.getElementById("data").textContent);
const steps = data.steps, measured = data.kind === "profile";
const byId = id => document.getElementById(id);
const sum = (list, of) => list.reduce((all, item) => all + of(item), 0);
const most = (list, of) => list.reduce((all, item) => Math.max(all, of(item)), 0);

steps.forEach((step, i) => {
    step.index = i;
    step.seconds = measured ? step.time.median : step.predicted.median;
    step.work = Math.min(step.flop, step.kernel_flop);
    step.error = measured && step.predicted.median > 0 ? step.seconds / step.predicted.median : 0;
    step.fraction = step.limit > 0 && step.seconds > 0 ? step.limit / step.seconds : 0;
});
const total = sum(steps, s => s.seconds);
steps.forEach(step => { step.share = total > 0 ? step.seconds / total : 0; });

function scaled(value, factor, units) {
    let i = 0;
    while (i + 1 < units.length && Math.abs(value) >= factor) { value /= factor; i++; }
    const digits = value === 0 || i === 0 && factor === 1024 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
    return value.toFixed(Math.min(digits, 2)) + " " + units[i];
}
const secondsText = s => s <= 0 ? "0 s" : scaled(s * 1e9, 1000, ["ns", "us", "ms", "s"]);
const bytesText = b => scaled(b, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const rateText = f => scaled(f, 1000, ["flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s"]);
const percent = x => (100 * x).toFixed(x < 0.0995 ? 1 : 0) + "%";

const palette = ["#3b7dd8", "#e8893d", "#3aa676", "#9b6ad4", "#d8577c", "#2ba8b5", "#c2a02b", "#7d8a3f", "#8c6d5b"];
const operators = [...new Set(steps.map(s => s.op))]
    .map(op => ({ op, seconds: sum(steps.filter(s => s.op === op), s => s.seconds) }))
    .sort((a, b) => b.seconds - a.seconds);
const colours = new Map(operators.map((o, i) => [o.op, palette[i] || "#98a2b3"]));
const colourOf = step => colours.get(step.op);

function put(parent, name, attributes, text) {
    const svg = parent instanceof SVGElement;
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
}

function sheet(id, width, height) {
    const svg = byId(id);
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return svg;
}

/* Text that fits into `room` characters: names begin and end with what tells them apart. */
function cut(text, room) {
    if (text.length <= room) return text;
    if (room < 5) return "";
    const first = Math.floor((room - 3) / 2);
    return text.slice(0, first) + "..." + text.slice(text.length - (room - 3 - first));
}

function tipOf(step) {
    const lines = [step.name, `${step.op}, ${step.kernel}`];
    lines.push(`${measured ? "measured" : "predicted"} ${secondsText(step.seconds)} (${percent(step.share)})`);
    if (measured) lines.push(`predicted ${secondsText(step.predicted.median)}`);
    if (step.fraction > 0) lines.push(`${percent(step.fraction)} of the limit`);
    return lines.join("\n");
}

function showTip(event, text) {
    const tip = byId("tip");
    tip.textContent = text;
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const y = event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
    tip.style.left = x + "px";
    tip.style.top = y + "px";
}

/* Makes an element stand for a step. */
function link(element, step) {
    element.dataset.step = step.index;
    return element;
}

function mark(index) {
    document.querySelectorAll(".hot").forEach(e => e.classList.remove("hot"));
    if (index !== undefined) document.querySelectorAll(`[data-step="${index}"]`).forEach(e => e.classList.add("hot"));
}

function showDetail(step) {
    const box = byId("detail"), shape = o => `${o.dtype} [${o.shape.join(", ")}]`;
    box.replaceChildren();
    box.hidden = false;
    put(box, "button", { "aria-label": "close" }, "\u00d7").onclick = () => { box.hidden = true; };
    put(box, "b", {}, step.name);
    const list = put(box, "dl", {});
    const row = (name, text) => { if (text) { put(list, "dt", {}, name); put(list, "dd", {}, text); } };
    row("operator", step.op);
    row("kernel", step.kernel + (step.reference ? " (reference: slow)" : ""));
    row("knobs", step.knobs);
    row("reason", step.reason);
    if (measured) row("measured", `${secondsText(step.seconds)} (${step.time.n} runs, ${secondsText(step.time.min)} to ${secondsText(step.time.max)})`);
    const p = step.predicted;
    row("predicted", `${secondsText(p.median)} (90%: ${secondsText(p.low)} to ${secondsText(p.high)})`);
    row("parts", `arithmetic ${secondsText(p.arithmetic)}, memory ${secondsText(p.memory)}, overhead ${secondsText(p.overhead)}`);
    row("limit", step.limit > 0 ? `${secondsText(step.limit)}, reached to ${percent(step.fraction)}` : "");
    row("work", `${(step.flop / 1e6).toFixed(2)} Mflop, ${bytesText(step.bytes)}`);
    row("layouts", `${step.layout_in} \u2192 ${step.layout_out}`);
    row("fused", step.fused);
    row("batches", step.micro_batches > 1 ? `${step.micro_batches} micro-batches` : "");
    step.operands.filter(o => o.dtype).forEach(o => row(o.output ? "writes" : "reads", `${o.name} ${shape(o)}, ${o.storage}`));
    row("problem", step.problem);
}

document.addEventListener("pointermove", event => {
    const at = event.target.closest ? event.target.closest("[data-step]") : null;
    const tip = at && at.dataset.tip;
    if (at) {
        mark(at.dataset.step);
        showTip(event, tip || tipOf(steps[at.dataset.step]));
    } else {
        mark();
        byId("tip").hidden = true;
    }
});
document.addEventListener("click", event => {
    const at = event.target.closest("[data-step]");
    if (at) showDetail(steps[at.dataset.step]);
});
