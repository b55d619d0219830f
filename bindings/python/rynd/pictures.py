# SPDX-License-Identifier: Apache-2.0
"""Plans and profiles as HTML with SVG in it, in notebooks and as files. No script, no file beside it."""

from html import escape

from .table import size_text

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


def _with_bars(heads, rows, summary, shares, numbers):
    """The table that printing shows, its columns `numbers` to the right, and a bar for each row."""
    cells = [[(_number if head in numbers else _cell)(text) for head, text in zip(heads, row)] + [f"<td>{_bar(share)}</td>"]
             for row, share in zip(rows, shares)]
    return _html_table(summary, [*heads, ""], cells)


def plan_html(plan):
    """A plan's memory over its steps, and the table that print(plan) shows, with a bar for each step's share of the slowest predicted time."""
    seconds = [plan.predict(step).median for step in plan.steps]
    slowest = max(seconds, default=0) or 1
    table = _with_bars(*plan._table(), [each / slowest for each in seconds], {"predicted", "Mflop"})
    return f'<div class="rynd">{_STYLE}{_memory_svg(plan.steps)}{table}</div>'


def profile_html(profile):
    """The table that print(profile) shows, in the order of the plan, with a bar for each step's share of the slowest."""
    seconds = [each for _, each in profile.steps]
    slowest = max(seconds, default=0) or 1
    table = _with_bars(*profile._table(range(len(seconds))), [each / slowest for each in seconds], {"time", "share", "min", "max", "predicted"})
    return f'<div class="rynd">{_STYLE}{table}</div>'
