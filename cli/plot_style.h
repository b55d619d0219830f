/* SPDX-License-Identifier: Apache-2.0 */
/* How plots look, on light and on dark. Classes, a letter each: b background, t title, s other
 * texts, g grid, a axis, v intervals, m line, d dashed, r a group's line, p a point, c a step that
 * is marked, o a ring, l its label, k0 ... colours of groups (of which neighbours differ in
 * lightness, too). */
#ifndef CLI_PLOT_STYLE_H
#define CLI_PLOT_STYLE_H

#define CLI_PLOT_COLOURS 8

#define CLI_PLOT_STYLE                                                                       \
    "text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"          \
    "fill:#1f2328}\n"                                                                        \
    "text.t{font-size:15px;font-weight:600}\n"                                               \
    "text.s{fill:#59636e}\n"                                                                 \
    "text.l{fill:#cf222e;font-size:11px;font-weight:600}\n"                                  \
    ".b{fill:#ffffff}\n"                                                                     \
    ".g{stroke:#d1d9e0;stroke-width:1}\n"                                                    \
    ".a{stroke:#59636e;stroke-width:1}\n"                                                    \
    ".v{fill:#818b98;fill-opacity:.15}\n"                                                    \
    ".m{fill:none;stroke:#818b98;stroke-width:1}\n"                                          \
    ".d{stroke-dasharray:5 4}\n"                                                             \
    ".r{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}\n"             \
    ".p{fill:currentColor}\n"                                                                \
    ".c{fill:#cf222e;fill-opacity:.14}\n"                                                    \
    ".o{fill:none;stroke:#cf222e;stroke-width:1.8}\n"                                        \
    ".k0{color:#0969da}.k1{color:#bc4c00}.k2{color:#1a7f37}.k3{color:#8250df}"               \
    ".k4{color:#9a6700}.k5{color:#bf3989}.k6{color:#0a7b83}.k7{color:#424a53}\n"             \
    "@media (prefers-color-scheme:dark){\n"                                                  \
    "text{fill:#f0f6fc}text.s{fill:#9198a1}text.l{fill:#ff7b72}\n"                           \
    ".b{fill:#0d1117}.g{stroke:#2f363d}.a{stroke:#9198a1}.v{fill:#9198a1}.m{stroke:#656c76}" \
    "\n.c{fill:#f85149;fill-opacity:.22}.o{stroke:#ff7b72}\n"                                \
    ".k0{color:#58a6ff}.k1{color:#f0883e}.k2{color:#3fb950}.k3{color:#bc8cff}"               \
    ".k4{color:#d4a72c}.k5{color:#f778ba}.k6{color:#39c5cf}.k7{color:#c9d1d9}\n}\n"

#endif
