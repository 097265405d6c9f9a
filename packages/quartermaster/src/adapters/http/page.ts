import { createHash } from 'node:crypto'

interface PageFacts {
  version: string
  generation: number
  ready: boolean
}

/** The page at `/`: what runs here and where to go on. It holds nothing that needs a credential. */
export function pageResponse(facts: PageFacts): Response {
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': POLICY }
  return new Response(render(facts), { headers })
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5d6873; --line: #dfe4e8; --paper: #fbfbf9; --good: #1a7f4b; --wait: #a86400 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebee; --soft: #97a3ae; --line: #2e363d; --paper: #14181c; --good: #4cc38a; --wait: #e5a33a } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { width: min(34rem, calc(100vw - 3rem)); padding: 2rem 0 }
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -.02em }
p { color: var(--soft); margin: .4rem 0 1.6rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .6rem 1.6rem; margin: 0; padding: 1.2rem 0; border: solid var(--line); border-width: 1px 0 }
dt { color: var(--soft) } dd { margin: 0 }
a { color: inherit } code { font: .92em ui-monospace, monospace }
.good { color: var(--good) } .wait { color: var(--wait) }
`

// The hash allows this one style and nothing else: no script, no image, no form, no frame.
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function render({ version, generation, ready }: PageFacts): string {
  const state = ready ? '<span class="good">ready</span>' : '<span class="wait">starting</span>'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Quartermaster</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Quartermaster</h1>
<p>Issues AI agents the tools they are allowed to have, in working order.</p>
<dl>
<dt>State</dt><dd>${state}</dd>
<dt>Version</dt><dd>${escape(version)}</dd>
<dt>Generation</dt><dd>${generation}</dd>
<dt>Health</dt><dd><a href="/health"><code>/health</code></a> and <a href="/ready"><code>/ready</code></a></dd>
<dt>Discovery</dt><dd><a href="/mcp/server-card"><code>/mcp/server-card</code></a> and <a href="/.well-known/ai-catalog.json"><code>/.well-known/ai-catalog.json</code></a></dd>
<dt>Control</dt><dd><code>quartermaster status</code> in the project folder</dd>
</dl>
</main>
</body>
</html>
`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
