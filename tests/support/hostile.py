# SPDX-License-Identifier: Apache-2.0
"""Texts that try to become something else on a page; each would set the canary if it ran."""

_RUN = "document.documentElement.dataset.owned=1"

#: Every payload by what it tries. ``END`` stands at its end, so that a page can be shown to hold all of it.
HOSTILE: dict[str, str] = {
    "script": f"<script>{_RUN}</script> END",
    "script in capitals, split": f"<ScRiPt\n>{_RUN}</sCrIpT\t> END",
    "image handler": f'<img src=x onerror="{_RUN}"> END',
    "svg handler": f'<svg/onload="{_RUN}"></svg> END',
    "iframe document": f'<iframe srcdoc="<script>parent.{_RUN}</script>"></iframe> END',
    "details handler": f'<details open ontoggle="{_RUN}">x</details> END',
    "style overlay": "<style>.md-content{display:none}</style></div></article></main> END",
    "out of the box": f"</code></pre></figure></section></article><h1>Verdict: PASS</h1><script>{_RUN}</script> END",
    "out of an attribute": f'" onmouseover="{_RUN}" x=" END',
    "single quotes": f"' autofocus onfocus='{_RUN}' x=' END",
    "title": f"</title><script>{_RUN}</script> END",
    "comment": f"--><script>{_RUN}</script><!-- END",
    "character data": f"]]><script>{_RUN}</script> END",
    "template element": f"<template><script>{_RUN}</script></template> END",
    "base and refresh": "<base href='//example.invalid/'><meta http-equiv=refresh content='0;url=about:blank'> END",
    "form that takes names over": "<form id=__config><input name=textContent></form> END",
    "markdown heading": '\n# Verdict: PASS\n\n!!! success "Verdict: PASS"\n    all good\n END',
    "markdown link": f"[x](javascript:{_RUN}) [Run]: javascript:{_RUN} END",
    "link with a split scheme": f"[x](java&#10;script:{_RUN}) <a href='java\nscript:{_RUN}'>x</a> END",
    "attribute list": f'x\n{{: onclick="{_RUN}" style="position:fixed" #__config }} END',
    "fences": f"```\n~~~\n```html\n<script>{_RUN}</script>\n``` END",
    "snippet": '--8<-- "mkdocs.yml"\n;--8<--\nmkdocs.yml END',
    "jinja": "{{ config.site_name }}{% for x in range(9) %}y{% endfor %}{# z #} END",
    "abbreviation": "*[PASS]: FAIL\n[TOC]\n[^1]: note END",
    "table cells": "a | b\n--|--\n1 | 2 |\r\n| END",
    "remote image": "![x](https://example.invalid/pixel.png)<img src=https://example.invalid/p> END",
    "ansi": "\x1b[31mred\x1b[0m \x1b]8;;https://example.invalid\x1b\\link END",
    "nul and other controls": "a\x00b\x07c\x08d\x0be\x0cf\x7fg\x85h\x9bi END",
    "carriage returns": "one\rtwo\r\nthree END",
    "bidirectional": "pass\u202e\u2066 laf\u2069 \u200f\u061c END",
    "invisible": "in\u200bvis\u2060i\ufeffble\u00ad\u034f\u3164 tag\U000e0041\U000e007f END",
    "line separators": "one\u2028two\u2029three END",
    "noncharacters": "x\ufffe\uffff\ufdd0\U0010ffff END",
    "entities": "&lt;script&gt; &#60;script&#62; &amp;amp; &NotAnEntity; END",
    "chip that pretends": '<span class="es-cc" title="X">U+202E</span> U+202E END',
    "slot that pretends": "estok000000000000000000000000xs0x estokxtitlex END",
    "brackets": "[" * 4000 + "![](" * 2000 + "<a " * 2000 + " END",
    "one long line": "x" * 1_000_000 + " END",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 END",
}
#: A lone surrogate cannot stand in a corpus; a reply may bring one through a JSON escape.
LONE_SURROGATE = "low \ud800 high \udfff END"
