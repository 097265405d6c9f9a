import type { CatalogueCapability } from '../catalogue/index.ts'
import { line } from '../kernel/index.ts'
import type { Entry } from './entry.ts'
import { withIncludes } from './includes.ts'
import type { Library } from './library.ts'
import type { Reader } from './reader.ts'
import { schemaTable } from './schema-table.ts'
import { toolPage } from './tool-page.ts'

/** What a page is made from beside its entry. */
export interface PageParts {
  readonly library: Library
  readonly reader: Reader
}

/** All there is about an entry, in Markdown, as this reader may see it. */
export function pageOf(entry: Entry, parts: PageParts): string {
  const blocks = [...bodyOf(entry, parts), relatedLines(entry, parts).join('\n')]
  return `${blocks.filter(block => block !== '').join('\n\n')}\n`
}

function bodyOf(entry: Entry, { library, reader }: PageParts): string[] {
  const { of, title, summary } = entry
  const state = stateLine(entry, reader)
  if ('tool' in of) return [toolPage(of.tool).trimEnd(), state]
  if ('withheld' in of) return [`# \`${line(title)}\``, state]
  if ('capability' in of)
    return [`# ${line(title)} (\`${of.capability.key}\`)`, line(summary), state, configOf(of.capability, reader)]
  const { text } = withIncludes(of.unit, path => {
    const found = library.entries.get(path)
    return found && 'unit' in found.of && reader.sees(found) ? found.of.unit : undefined
  })
  const [head, rest] = partTitle(text) ?? [`# ${line(title)}`, text]
  return [head, ...factsOf(entry, reader), rest]
}

/** A text that begins with a title of its own, and what comes below it. */
function partTitle(text: string): [string, string] | undefined {
  const whole = text.trimStart()
  if (!whole.startsWith('# ')) return undefined
  const end = whole.indexOf('\n')
  return end < 0 ? [whole, ''] : [whole.slice(0, end).trimEnd(), whole.slice(end + 1).replace(/^(?:[ \t]*\r?\n)+/, '')]
}

/** How it is configured is for whoever writes agents' files. */
function configOf({ configSchema }: CatalogueCapability, { isOwner }: Reader): string {
  return isOwner && configSchema ? `## Configuration\n\n${schemaTable(configSchema)}` : ''
}

function factsOf(entry: Entry, reader: Reader): string[] {
  const { summary, whenToUse, command } = entry
  const tools = reader.toolsOf(entry)
  const lines = [
    whenToUse && `- When to use it: ${line(whenToUse)}`,
    command && `- Command: \`/${command}\``,
    tools.length > 0 && `- Tools: ${tools.map(name => `\`${name}\``).join(', ')}`,
  ].filter(fact => typeof fact === 'string' && fact !== '')
  return [summary, lines.join('\n')]
}

function stateLine(entry: Entry, reader: Reader): string {
  const { state, reason } = reader.stateOf(entry) ?? {}
  if (state === undefined) return ''
  return `State: ${state}.${reason === undefined ? '' : ` ${line(reason)}`}`
}

/** Where to read on. A capability's tools are below it. */
function relatedLines(entry: Entry, { library, reader }: PageParts): string[] {
  const listed = (label: string, entries: readonly Entry[]) => {
    const seen = entries.filter(one => one !== entry && reader.sees(one))
    const names = seen.slice(0, MOST_RELATED).map(one => `- \`${one.path}\`: ${line(one.title)}${note(one, reader)}`)
    const more = seen.length > MOST_RELATED ? [`- and ${seen.length - MOST_RELATED} more: scope "${entry.path}"`] : []
    return seen.length === 0 ? [] : [`${label}:`, '', ...names, ...more, '']
  }
  const also = entry.seeAlso.flatMap(path => library.entries.get(path) ?? [])
  const lines = [
    ...listed('Above it', library.above(entry)),
    ...listed('Below it', library.below(entry)),
    ...listed('See also', also),
    ...listed('Told of in', library.referring(entry)),
  ]
  return lines.length === 0 ? [] : ['---', '', ...lines.slice(0, -1)]
}

const MOST_RELATED = 100

function note(entry: Entry, reader: Reader): string {
  return reader.stateOf(entry)?.state === 'disabled' ? ' [disabled]' : ''
}
