# SPDX-License-Identifier: Apache-2.0
"""Plans and profiles as HTML with SVG in it, in notebooks and as files. No script, no file beside it."""

from html import escape

from .table import seconds_text, size_text

_STYLE = """<style>
.rynd { font: 13px system-ui, sans-serif; }
.rynd table { border-collapse: collapse; }
.rynd td, .rynd th { padding: 2px 8px; text-align: left; border-bottom: 1px solid #8883; white-space: nowrap; }
.rynd td.number { text-align: right; font-variant-numeric: tabular-nums; }
.rynd caption { text-align: left; padding: 4px 0; }
</style>"""

_BAR_WIDTH, _BAR_HEIGHT = 160, 11


def _bar(share):
    return (f'<svg width="{_BAR_WIDTH}" height="{_BAR_HEIGHT}" role="img" aria-label="{100 * share:.1f} %">'
            f'<rect width="{_BAR_WIDTH * share:.1f}" height="{_BAR_HEIGHT}" fill="#3b7dd8"/></svg>')


def _html_table(caption, heads, rows):
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join("<tr>" + "".join(row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"


def _cell(text):
    return f"<td>{escape(str(text))}</td>"


def _number(text):
    return f'<td class="number">{escape(str(text))}</td>'


_STEPS_WIDTH, _MEMORY_HEIGHT = 720, 120


def _area(heights, top, colour, name):
    """A stepped area under these heights, one a step, as a part of _MEMORY_HEIGHT."""
    wide = _STEPS_WIDTH / max(1, len(heights))
    points = [f"{i * wide + side * wide:.1f},{_MEMORY_HEIGHT * (1 - height / top):.1f}" for i, height in enumerate(heights) for side in (0, 1)]
    return (f'<polygon points="0,{_MEMORY_HEIGHT} {" ".join(points)} {_STEPS_WIDTH},{_MEMORY_HEIGHT}" fill="{colour}"><title>{escape(name)}</title>'
            "</polygon>")


def _memory_svg(steps):
    """Bytes in use over the steps: values between nodes, and on top of them what kernels need beside. Each step tells its own under the mouse."""
    values = [step.activations for step in steps]
    both = [step.activations + step.workspace for step in steps]
    top = max(both, default=0) or 1
    wide = _STEPS_WIDTH / max(1, len(steps))
    tips = "".join(
        f'<rect x="{i * wide:.1f}" width="{wide:.1f}" height="{_MEMORY_HEIGHT}" fill="transparent"><title>{escape(step.name)}: activations '
        f"{size_text(step.activations)}, workspace {size_text(step.workspace)}</title></rect>" for i, step in enumerate(steps))
    return (f'<p>Memory over the steps: activations, and workspace above them; at most {size_text(max(both, default=0))}</p>'
            f'<svg width="{_STEPS_WIDTH}" height="{_MEMORY_HEIGHT}" role="img" aria-label="memory over the steps">'
            + _area(both, top, "#e8a33d", "workspace") + _area(values, top, "#3b7dd8", "activations") + tips + "</svg>")


def plan_html(plan):
    """A plan's memory over its steps, and the steps with a bar for each one's share of the operations."""
    flop = [step.flop for step in plan.steps]
    most = max(flop, default=0) or 1
    rows = [[_cell(step.name), _cell(step.op), _cell(step.kernel), _cell(step.knobs), _cell(f"{step.layout_in} -> {step.layout_out}"),
             _cell(step.fused), _number(f"{step.flop / 1e6:,.2f}"), f"<td>{_bar(step.flop / most)}</td>"] for step in plan.steps]
    memory = plan.memory
    caption = (f"{len(rows)} steps, {sum(flop) / 1e9:,.3f} Gflop; memory: weights {size_text(memory.weights)}, activations "
               f"{size_text(memory.activations)}, workspace {size_text(memory.workspace)}")
    return f'<div class="rynd">{_STYLE}{_memory_svg(plan.steps)}' + _html_table(
        caption, ["step", "operator", "kernel", "knobs", "layouts", "fused", "Mflop", ""], rows) + "</div>"


def profile_html(profile):
    """Step times in the order of the plan, with a bar for each one's share of the slowest."""
    slowest = max((seconds for _, seconds in profile.steps), default=0) or 1
    rows = [[_cell(step.name), _cell(step.op), _cell(step.kernel), _number(seconds_text(seconds)),
             _number(f"{100 * seconds / (profile.seconds or 1):.1f} %"), f"<td>{_bar(seconds / slowest)}</td>"]
            for step, seconds in profile.steps]
    return f'<div class="rynd">{_STYLE}' + _html_table(
        f"{len(rows)} steps, {seconds_text(profile.seconds)}", ["step", "operator", "kernel", "time", "share", ""], rows) + "</div>"
