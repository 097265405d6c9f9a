import { AppError } from '../../contracts/index.ts'
import { type CatalogueCapability, type Tool } from '../catalogue/index.ts'
import { type Clock, commandUsage, inTurns, line, paragraphs, type Steps } from '../kernel/index.ts'
import { type Entry } from './entry.ts'
import { withIncludes } from './includes.ts'
import { type Library, type Reader } from './library.ts'
import { schemaTable } from './schema-table.ts'

interface PageParts {
  readonly library: Library
  readonly reader: Reader
}

/** The page of an entry in Markdown, as this reader may see it. */
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
  const [head, rest] = splitTitle(text) ?? [`# ${line(title)}`, text]
  return [head, ...factsOf(entry, reader), rest]
}

/** The title that a text begins with, if any, and the rest. */
function splitTitle(text: string): [string, string] | undefined {
  const whole = text.trimStart()
  if (!whole.startsWith('# ')) return undefined
  const end = whole.indexOf('\n')
  return end < 0 ? [whole, ''] : [whole.slice(0, end).trimEnd(), whole.slice(end + 1).replace(/^(?:[ \t]*\r?\n)+/, '')]
}

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

/** About 10,000 tokens: as much as a model reads with care. */
export const MOST_PAGE_CHARACTERS = 40_000
/** For people. Few pages are longer. */
const MOST_WHOLE_CHARACTERS = 1_000_000

/** `nextOffset` is absent at the end of the text. */
type PageText = { readonly text: string; readonly nextOffset?: number }

const BETWEEN = '\n---\n\n'

/**
 * Joins pages, from an offset into the whole text on. Pages are built one at a time and no further than shown, because all of them
 * with their includes may not fit into memory. Yields to other work.
 */
export function pageText(
  pages: Iterable<() => string>,
  options: {
    readonly offset?: number | undefined
    readonly isWhole?: boolean | undefined
    readonly clock: Pick<Clock, 'now' | 'breathe'>
  },
): Promise<PageText> {
  const { offset = 0, isWhole = false, clock } = options
  return inTurns(cutFrom(pages, offset, isWhole ? MOST_WHOLE_CHARACTERS : MOST_PAGE_CHARACTERS), clock)
}

function* cutFrom(pages: Iterable<() => string>, offset: number, most: number): Steps<PageText> {
  let shown = ''
  let length = 0
  for (const page of pages) {
    const piece = length === 0 ? page() : `${BETWEEN}${page()}`
    shown += piece.slice(Math.max(0, offset - length), Math.max(0, offset + most + 1 - length))
    length += piece.length
    if (shown.length > most) {
      // A cut never splits a surrogate pair.
      const end = /[\ud800-\udbff]/.test(shown.charAt(most - 1)) ? most - 1 : most
      return { text: shown.slice(0, end), nextOffset: offset + end }
    }
    yield
  }
  if (offset > 0 && offset >= length)
    throw new AppError('INPUT_INVALID', `The text has ${length} characters, and none from offset ${offset} on.`)
  return { text: shown }
}

/** The reference page of a tool, in Markdown, made from its definition. */
export function toolPage(tool: Tool): string {
  const parts = [
    `# ${line(tool.title)} (\`${tool.name}\`)`,
    line(tool.short),
    paragraphs(tool.whenToUse),
    tool.body,
    `## Input\n\n${schemaTable(tool.inputSchema)}`,
    tool.outputSchema && `## Output\n\n${schemaTable(tool.outputSchema)}`,
    `## Safety\n\n${safetyLines(tool).join('\n')}`,
    `## Command line\n\n${commandText(tool)}`,
    tool.examples.length > 0 && `## Examples\n\n${tool.examples.map(exampleBlock).join('\n\n')}`,
  ]
  return `${parts.filter(part => typeof part === 'string' && part !== '').join('\n\n')}\n`
}

function safetyLines(tool: Tool): string[] {
  const consent = tool.consent.length === 0 ? 'needs no approval' : `asks for consent: ${tool.consent.join(', ')}`
  return [
    `- ${changes(tool)}; ${tool.idempotent ? 'doing it twice is the same as once' : 'doing it twice does it twice'}; ${consent}.`,
    `- ends after ${tool.timeoutMs / 1000} s at the latest; answers with at most ${tool.maxResultBytes.toLocaleString('en')} bytes at once.`,
    ...RETRIES[tool.retry],
    ...tool.effects.map(({ name, kind }) => `- has an effect that is checked: ${line(name)} (${kind}).`),
    ...TASKS[tool.asTask],
    ...(tool.requires.length === 0
      ? []
      : [`- is disabled where one of these is missing: ${tool.requires.join(', ')}.`]),
  ]
}

function changes({ mutates, mcp }: Tool): string {
  if (!mutates) return 'changes nothing'
  return mcp?.annotations?.destructiveHint === false ? 'changes something, and nothing is lost' : 'may change something'
}

const RETRIES: Readonly<Record<Tool['retry'], readonly string[]>> = {
  manual: [],
  replay: ['- is retried automatically when its outcome is unknown.'],
  verifyFirst: ['- when its outcome is unknown, its effects are checked before it is retried.'],
}

const TASKS: Readonly<Record<Tool['asTask'], readonly string[]>> = {
  never: [],
  whenPossible: ['- may take long: a caller that can follow tasks gets one instead of waiting.'],
  always: ['- takes long: callers that can follow tasks call it as one.'],
}

function commandText(tool: Tool): string {
  const { name, command } = tool
  const usage = commandUsage(tool)
  if (usage) return `\`quartermaster do ${usage.words}\``
  const why = 'none' in command ? ` ${line(command.none)}` : ''
  return `It is no command of its own.${why} Call it by its name: \`quartermaster call ${name}\`.`
}

function exampleBlock({ query, input }: Tool['examples'][number]): string {
  return `${line(query)}\n\n\`\`\`json\n${JSON.stringify(input, null, 2)}\n\`\`\``
}
