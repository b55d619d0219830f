/* The time line of one run, and memory over the steps. */

/* Tracks of spans {step, begin, end}: threads of the real run, and below them the prediction. */
function listTracks() {
    const tracks = [];
    for (const span of data.spans || []) {
        let track = tracks.find(t => t.thread === span[1]);
        if (!track) tracks.push(track = { thread: span[1], name: `thread ${span[1]}`, spans: [] });
        track.spans.push({ step: steps[span[0]], begin: span[2], end: span[3], tasks: span[4] });
    }
    tracks.sort((a, b) => a.thread - b.thread);
    let at = 0;
    tracks.push({ name: "predicted", spans: steps.map(step => ({ step, begin: at, end: at += step.predicted.median })) });
    return tracks;
}

function drawTimeline() {
    const tracks = listTracks(), width = 1180, left = 84, right = 1170, row = 42;
    const end = most(tracks, t => most(t.spans, s => s.end)) || 1;
    const height = tracks.length * row + 34;
    let view = [0, end];

    function draw() {
        const svg = sheet("timeline", width, height), at = t => left + (right - left) * (t - view[0]) / (view[1] - view[0]);
        const clip = put(svg, "clipPath", { id: "track" });
        put(clip, "rect", { x: left, y: 0, width: right - left, height });
        const step = 10 ** Math.floor(Math.log10((view[1] - view[0]) / 2));
        const unit = (view[1] - view[0]) / step > 10 ? 2 * step : (view[1] - view[0]) / step < 4 ? step / 2 : step;
        for (let t = Math.ceil(view[0] / unit) * unit; t <= view[1]; t += unit) {
            put(svg, "line", { class: "axis", x1: at(t), x2: at(t), y1: 0, y2: height - 24 });
            put(svg, "text", { class: "soft", x: at(t), y: height - 8, "text-anchor": "middle" }, secondsText(t));
        }
        put(svg, "rect", { class: "plane", x: left, y: 0, width: right - left, height: height - 24 });
        const inside = put(svg, "g", { "clip-path": "url(#track)" });
        tracks.forEach((track, i) => {
            put(svg, "text", { x: left - 10, y: i * row + 24, "text-anchor": "end" }, track.name);
            for (const span of track.spans) {
                const x = at(span.begin), wide = at(span.end) - x;
                if (x > right || x + wide < left) continue;
                const bar = { x, y: i * row + 4, width: Math.max(0.4, wide - 0.5), height: row - 12, fill: colourOf(span.step) };
                const tasks = span.tasks ? `\non this thread ${secondsText(span.end - span.begin)}, tasks: ${span.tasks}` : "";
                link(put(inside, "rect", bar), span.step).dataset.tip = tipOf(span.step) + tasks;
                const text = cut(span.step.name, Math.floor((wide - 8) / 6.4));
                if (text.length > 9) put(inside, "text", { x: x + 4, y: i * row + 23, fill: "#fff", style: "fill:#fff;pointer-events:none" }, text);
            }
        });
    }

    function zoom(factor, centre) {
        const length = Math.min(end, Math.max(end / 5000, (view[1] - view[0]) * factor));
        const middle = centre === undefined ? (view[0] + view[1]) / 2 : centre;
        const begin = Math.max(0, Math.min(end - length, middle - length * (middle - view[0]) / (view[1] - view[0])));
        view = [begin, begin + length];
        draw();
    }

    const svg = byId("timeline"), timeAt = event => {
        const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * width / box.width;
        return view[0] + (view[1] - view[0]) * (x - left) / (right - left);
    };
    svg.addEventListener("wheel", event => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, timeAt(event));
    }, { passive: false });
    let held;
    svg.addEventListener("pointerdown", event => { held = timeAt(event); });
    addEventListener("pointerup", () => { held = undefined; });
    svg.addEventListener("pointermove", event => {
        if (held === undefined) return;
        const length = view[1] - view[0], begin = Math.max(0, Math.min(end - length, view[0] + held - timeAt(event)));
        view = [begin, begin + length];
        draw();
    });
    for (const [text, act] of [["+", () => zoom(0.5)], ["\u2212", () => zoom(2)], ["all", () => zoom(1e9)]]) {
        put(byId("zoom"), "button", {}, text).onclick = act;
    }
    byId("timeline-text").textContent = (measured ? "One real run, the fastest of seven, with a track for each thread; below it the prediction. " : "Predicted times, one step after another. ") +
        "Drag to move; the buttons, or the wheel with Ctrl or Shift, zoom.";
    draw();
}

/* Values in the arena: {step, last, offset, bytes, name}; `last` is the last step that reads it. */
function listValues() {
    const values = [];
    for (const step of steps) {
        for (const o of step.operands) {
            if (o.output && o.storage === "arena") values.push({ step, last: step.index, offset: o.offset, bytes: o.bytes, name: o.name });
        }
        for (const o of step.operands) {
            if (o.output || o.storage !== "arena") continue;
            for (const value of values) {
                const meets = value.offset < o.offset + o.bytes && o.offset < value.offset + value.bytes;
                if (meets && !values.some(v => v !== value && v.step.index > value.step.index && v.step.index < step.index &&
                    v.offset < value.offset + value.bytes && value.offset < v.offset + v.bytes)) value.last = step.index;
            }
        }
    }
    return values;
}

function drawMemory() {
    const width = 1180, box = { left: 84, right: 1170, top: 8, bottom: 268 }, svg = sheet("memory", width, 300);
    const values = listValues(), inUse = steps.map(s => s.activations + s.workspace);
    const top = Math.max(most(values, v => v.offset + v.bytes), most(inUse, b => b)) || 1;
    const x = i => box.left + (box.right - box.left) * i / steps.length, y = b => box.bottom - (box.bottom - box.top) * b / top;
    for (let i = 0; i <= 4; i++) {
        put(svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: y(top * i / 4), y2: y(top * i / 4) });
        put(svg, "text", { class: "soft", x: box.left - 8, y: y(top * i / 4) + 4, "text-anchor": "end" }, bytesText(top * i / 4));
    }
    for (const v of values) {
        const place = { x: x(v.step.index), y: y(v.offset + v.bytes), width: Math.max(1, x(v.last + 1) - x(v.step.index) - 0.6),
            height: Math.max(0.8, y(v.offset) - y(v.offset + v.bytes) - 0.6), fill: colourOf(v.step), "fill-opacity": 0.6 };
        link(put(svg, "rect", place), v.step).dataset.tip = `${v.name}\n${bytesText(v.bytes)} from step ${v.step.index + 1} to step ${v.last + 1}`;
    }
    let path = "";
    inUse.forEach((bytes, i) => { path += `${i ? "L" : "M"}${x(i)} ${y(bytes)}H${x(i + 1)}`; });
    put(svg, "path", { d: path, fill: "none", stroke: "var(--ink)", "stroke-width": 1.3 });
    put(svg, "text", { class: "soft", x: box.right, y: box.bottom + 20, "text-anchor": "end" }, `${steps.length} steps in their order`);
    byId("memory-text").textContent = `Rectangles are values between steps, at their place in the session's arena. The line is what is in use, ` +
        `workspace included: at most ${bytesText(most(inUse, b => b))}.`;
}
