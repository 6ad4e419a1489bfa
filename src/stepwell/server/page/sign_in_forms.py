"""The HTML for signing in: two small pages without scripts. All inserted text is escaped."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 26rem; margin: 4rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
label { display: block; font-weight: 600; margin-bottom: .5rem }
input, button { font: inherit; padding: .5rem; width: 100%; box-sizing: border-box }
button { margin-top: 1rem; background: #0b5; color: #000; border: 2px solid #063; cursor: pointer }
input:focus, button:focus, a:focus { outline: 3px solid #05c; outline-offset: 2px }
.fault { border-left: 4px solid #b00; padding-left: .75rem }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #161616 } a { color: #8bf } }
"""


def sign_in_page(go_to: str, fault: str, *, with_provider: bool) -> str:
    """The form; `fault` says what was wrong with the last attempt."""
    alert = f'<p class="fault" role="alert" id="fault">{escape(fault)}</p>' if fault else ""
    wrong = ' aria-invalid="true" aria-describedby="fault"' if fault else ""
    provider = (
        f'<p><a href="/login/oidc?next={escape(quote(go_to))}">Sign in with your identity provider</a></p>'
        if with_provider
        else ""
    )
    return _page(
        "Sign in",
        f"""{alert}
<form method="post" action="/login">
<label for="key">API key</label>
<input id="key" name="key" type="password" required autocomplete="current-password" autofocus{wrong}>
<input type="hidden" name="next" value="{escape(go_to)}">
<button type="submit">Sign in</button>
</form>
{provider}""",
    )


def signed_in_page(go_to: str) -> str:
    """Shown after the identity provider: redirects automatically, with a link for browsers that block that."""
    head = f'<meta http-equiv="refresh" content="0; url={escape(go_to)}">'
    return _page("Signed in", f'<p>You are signed in. <a href="{escape(go_to)}">Continue</a></p>', head)


def _page(title: str, body: str, head: str = "") -> str:
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">{head}
<title>{title} - Stepwell</title><style>{_STYLE}</style></head>
<body><main><h1>{title}</h1>
{body}
</main></body>
</html>
"""
