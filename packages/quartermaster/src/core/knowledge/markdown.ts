import { fromMarkdown } from 'mdast-util-from-markdown'

/** The facts about a Markdown text that a check needs. Loaded on demand: loading the parser takes longer than most commands. */
export interface ParsedPage {
  readonly links: readonly LocalLink[]
  /** Whether `#…` leads to a heading, as GitHub has it, or to an element of HTML with a name. */
  hasAnchor(anchor: string): boolean
  /** The lines on which `{{include:` stands in prose. */
  readonly includeLines: readonly number[]
  /** A fence, comment or element that never ends, and hides everything below it. */
  readonly unclosed: { readonly line: number; readonly mark: string } | undefined
}

/** A link to another file, or to a heading of the same one. */
export interface LocalLink {
  readonly target: string
  /** Without the `#`. */
  readonly anchor: string | undefined
  readonly line: number
}

type Root = ReturnType<typeof fromMarkdown>
type Node = Root | Root['children'][number]

/** Parses a text and collects what a check needs. */
export function parsePage(text: string): ParsedPage {
  const nodes = [...nodesIn(fromMarkdown(text))]
  const anchors = anchorsIn(nodes)
  return {
    links: nodes.flatMap(localLink),
    hasAnchor: anchor => anchors.has(plainAnchor(anchor)),
    includeLines: nodes.flatMap(includeLinesOf),
    unclosed: nodes.map(node => unclosedMark(node, text.trimEnd())).find(found => found !== undefined),
  }
}

/** All nodes below one in the order of the text. Without recursion, because lists nest as deep as an author likes. */
function* nodesIn(root: Node): Generator<Node> {
  const stack = [root]
  for (let node = stack.pop(); node; node = stack.pop()) {
    yield node
    if ('children' in node) for (const child of node.children.toReversed()) stack.push(child)
  }
}

const lineOf = (node: Node): number => node.position?.start.line ?? 1

function localLink(node: Node): LocalLink[] {
  if (node.type !== 'link' && node.type !== 'image' && node.type !== 'definition') return []
  // A footnote is no address.
  if (node.type === 'definition' && node.label?.startsWith('^')) return []
  const isPlaceholder = node.url.includes('{')
  if (node.url === '' || isPlaceholder || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(node.url)) return []
  const [path = '', anchor] = node.url.split('#')
  const [target = ''] = path.split('?')
  return [{ target: decoded(target), anchor: anchor && decoded(anchor), line: lineOf(node) }]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not percent-encoded, so it is meant as it stands.
    return text
  }
}

/** The form in which anchors are compared: links are written in either case and Unicode form. */
const plainAnchor = (anchor: string): string => anchor.normalize('NFC').toLowerCase()

function anchorsIn(nodes: readonly Node[]): ReadonlySet<string> {
  const anchors = new Set<string>()
  const counts = new Map<string, number>()
  for (const node of nodes) {
    if (node.type === 'html') for (const name of namesIn(node.value)) anchors.add(plainAnchor(name))
    if (node.type !== 'heading') continue
    const first = headingAnchor(node)
    let anchor = first
    // Of equal headings, each later one has a number.
    for (let count = counts.get(first) ?? 0; anchors.has(anchor); anchor = `${first}-${count}`)
      counts.set(first, (count += 1))
    anchors.add(anchor)
  }
  return anchors
}

function headingAnchor(heading: Node): string {
  const words = [...nodesIn(heading)].map(node =>
    node.type === 'text' || node.type === 'inlineCode' ? node.value : '',
  )
  return plainAnchor(words.join('').trim())
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\s-]/gu, '')
    .replace(/\s/g, '-')
}

const NAMED = /<[a-z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s<>]+)/gi

function namesIn(html: string): string[] {
  if (html.startsWith('<!--')) return []
  return [...html.matchAll(NAMED)].map(([, name = '']) => name)
}

function includeLinesOf(node: Node): number[] {
  if (node.type !== 'text' || !node.value.includes('{{')) return []
  const lines = node.value.split('\n').map((line, index) => ({ line, number: lineOf(node) + index }))
  return lines.flatMap(({ line, number }) => (/\{\{[ \t]*include:/.test(line) ? [number] : []))
}

function unclosedMark(node: Node, text: string): ParsedPage['unclosed'] {
  if ((node.type !== 'code' && node.type !== 'html') || !node.position) return undefined
  const { start, end } = node.position
  if ((end.offset ?? 0) < text.length) return undefined
  const mark = node.type === 'code' ? unclosedFence(text.slice(start.offset)) : unclosedElement(node.value)
  return mark === undefined ? undefined : { line: start.line, mark }
}

function unclosedFence(code: string): string | undefined {
  const fence = /^(?:`{3,}|~{3,})/.exec(code)?.[0]
  if (fence === undefined) return undefined
  const [, ...lines] = code.split('\n')
  const last =
    lines
      .at(-1)
      ?.replace(/^[\s>]+/, '')
      .trimEnd() ?? ''
  const isClosed = last.length >= fence.length && last === fence.charAt(0).repeat(last.length)
  return isClosed ? undefined : fence
}

function unclosedElement(html: string): string | undefined {
  if (html.startsWith('<!--')) return html.includes('-->') ? undefined : '<!--'
  const name = /^<(pre|script|style|textarea)\b/i.exec(html)?.[1]?.toLowerCase()
  return name === undefined || html.toLowerCase().includes(`</${name}>`) ? undefined : `<${name}>`
}
