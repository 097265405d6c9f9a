import { type DocKind, type Problem } from '../../contracts/index.ts'
import { type CatalogueCapability, type Knowledge, type Tool, type WithheldTool } from '../catalogue/index.ts'
import { markdownLines } from './markdown.ts'

/** Something that can be read about: a unit, a capability or a tool. */
export interface Entry {
  readonly path: string
  readonly kind: DocKind
  readonly title: string
  readonly summary: string
  readonly whenToUse: string
  readonly command: string | undefined
  readonly tools: readonly string[]
  readonly tags: readonly string[]
  readonly aliases: readonly string[]
  /** What it lies below beside its folder. */
  readonly parents: readonly string[]
  readonly seeAlso: readonly string[]
  readonly hash: string
  readonly of:
    | { readonly unit: Knowledge }
    | { readonly capability: CatalogueCapability }
    | { readonly tool: Tool }
    | { readonly withheld: WithheldEntry }
}

/** A tool that is not offered. What it says about itself is not shown: it may be the reason. */
interface WithheldEntry {
  /** The name it would be called by. */
  readonly name: string
  readonly capability: string
  readonly reason: string
}

// No unit has a colon in its path, so whatever a project writes hides no tool and no capability. A recheck names them alike.
export const toolPath = (name: string): string => `tool:${name}`
export const capabilityPath = (key: string): string => `capability:${key}`

/** The name of the tool that a path leads to, if it leads to one. */
export function toolAt(path: string): string | undefined {
  return path.startsWith('tool:') ? path.slice('tool:'.length) : undefined
}

export function unitEntry(unit: Knowledge): Entry {
  const { path, kind, title, summary = '', whenToUse = '', tools, tags, aliases, parents, seeAlso, hash } = unit
  // Only directions can be called by a command.
  const command = kind === 'directions' ? unit.command : undefined
  return { path, kind, title, summary, whenToUse, command, tools, tags, aliases, parents, seeAlso, hash, of: { unit } }
}

export function capabilityEntry(capability: CatalogueCapability): Entry {
  const { key, title, short, hash } = capability
  return {
    path: capabilityPath(key),
    kind: 'capability',
    title,
    summary: short,
    whenToUse: '',
    command: undefined,
    tools: capability.tools.map(({ name }) => name),
    tags: NONE,
    aliases: NONE,
    parents: NONE,
    seeAlso: NONE,
    hash,
    of: { capability },
  }
}

// Written out, and with the same fields in the same order: spreading others in takes fifteen times as long, and there may be
// ten thousand of these.
export function toolEntry(tool: Tool): Entry {
  const { name, title, short, whenToUse, capability, hash } = tool
  return {
    path: toolPath(name),
    kind: 'tool',
    title,
    summary: short,
    whenToUse,
    command: undefined,
    tools: NONE,
    tags: NONE,
    aliases: NONE,
    parents: [capabilityPath(capability)],
    seeAlso: NONE,
    hash,
    of: { tool },
  }
}

/** A tool that a capability has and does not offer. */
export function withheldEntry({ name, calledAs = name, reason }: WithheldTool, capability: string): Entry {
  return {
    path: toolPath(calledAs),
    kind: 'tool',
    title: calledAs,
    summary: '',
    whenToUse: '',
    command: undefined,
    tools: NONE,
    tags: NONE,
    aliases: NONE,
    parents: [capabilityPath(capability)],
    seeAlso: NONE,
    // All that is known of it is its name.
    hash: `withheld:${calledAs}`,
    of: { withheld: { name: calledAs, capability, reason } },
  }
}

const NONE: readonly string[] = []

/** Values by key, in the order they came. */
export function grouped<T>(pairs: readonly (readonly [string, T])[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const [key, value] of pairs) addTo(groups, key, value)
  return groups
}

export function addTo<T>(groups: Map<string, T[]>, key: string, value: T): void {
  const group = groups.get(key)
  if (group) group.push(value)
  else groups.set(key, [value])
}

/** What decides which units a reader sees. */
export interface UnitReader {
  /**
   * Whether the reader has a tool, working or not and withheld or not, gateway tools included. Directions often explain what to do
   * about a withheld tool.
   */
  has(tool: string): boolean
  /** Whether the reader is a remote agent, which does not see the project's own knowledge. */
  readonly isRemote: boolean
}

/**
 * Whether a reader sees a unit: by its path, included in another, as a prompt or as a skill. Directions that name a tool the reader
 * does not have would lead to a step it cannot take.
 */
export function seesUnit(
  { kind, tools, isBuiltin }: Pick<Knowledge, 'kind' | 'tools' | 'isBuiltin'>,
  { has, isRemote }: UnitReader,
): boolean {
  if (isRemote && !isBuiltin) return false
  return kind !== 'directions' || tools.every(has)
}

/** A path as a reader may write it: with the ending of the file, with slashes around it, with accents of either form. */
export function barePath(path: string): string {
  const whole = path
    .normalize('NFC')
    .trim()
    .replace(/^(?:\.?\/)+/, '')
  // Not by a pattern: one that looks for the last slashes looks from each slash on.
  let end = whole.length
  while (whole[end - 1] === '/') end -= 1
  return whole.slice(0, end).replace(/\.md$/i, '')
}

/** A link in a text to a place in the same folder of files, or in the same text. */
export interface LocalLink {
  readonly target: string
  /** Without the `#`. */
  readonly anchor: string | undefined
  readonly line: number
}

// In angle brackets it may have spaces, and outside of them brackets that are closed again.
const TARGET = String.raw`(?:<([^<>]*)>|((?:\\[!-/:-@[-\x60{-~]|[^\s()<>\\]|\([^\s()]*\))+))`
const TITLE = String.raw`(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*`
// What is linked may be words, or a picture that was looked at before.
const WORDS = String.raw`(?<!\\)\[(?:\\.|[^[\]\\])*\]|(?<=\))\]`
// A note at the foot is no address.
const NAMED = String.raw`^ {0,3}\[(?!\^)[^[\]]+\]:\s*`
const LINK = new RegExp(String.raw`(?:${WORDS})\(\s*${TARGET}${TITLE}\)|${NAMED}${TARGET}${TITLE}$`, 'g')

/** The links of a text that lead neither to another server nor to an address of any other kind. */
export function localLinks(text: string): LocalLink[] {
  return markdownLines(text).flatMap(({ prose, number }) =>
    [...prose.matchAll(LINK)].flatMap(([, ...targets]) => {
      const address = (targets.find(target => target !== undefined) ?? '').replace(/\\([!-/:-@[-`{-~])/g, '$1')
      if (address === '' || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address)) return []
      // A placeholder.
      if (address.includes('{')) return []
      const [place = '', anchor] = address.split('#')
      // What is asked behind a question mark changes nothing about where the file is.
      const [target = ''] = place.split('?')
      return [{ target: decoded(target), anchor: anchor && decoded(anchor), line: number }]
    }),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not written in percent signs, so it is meant as it stands.
    return text
  }
}

/** A hand-written text: a unit, or the text of a declared tool. */
export interface WrittenText extends Pick<Knowledge, 'unit' | 'lines' | 'body' | 'isBuiltin'> {
  readonly of: 'unit' | 'tool'
  /** The path of the unit, or the name of the tool. */
  readonly path: string
}

export function unitText({ path, unit, lines, body, isBuiltin }: Knowledge): WrittenText {
  return { of: 'unit', path, unit, lines, body, isBuiltin }
}

export function toolText({ name, unit, lines, body = '' }: Tool): WrittenText {
  return { of: 'tool', path: name, unit, lines, body, isBuiltin: false }
}

/** Something that is wrong with a text, and where in it. */
export interface Fault {
  readonly severity: Problem['severity']
  readonly text: WrittenText
  readonly field?: string
  /** The line of its body. */
  readonly bodyLine?: number
  readonly message: string
}

/** Told with the file and, where it was read from one, the line: editors and terminals open what looks like this. */
export function toProblem({ severity, text, field, bodyLine, message }: Fault): Problem {
  const line = lineOf({ text, field, bodyLine })
  return {
    severity,
    code: 'DEFINITION_INVALID',
    where: line === undefined ? text.unit : `${text.unit}:${line}`,
    subject: `${text.of}:${text.path}`,
    ...(field === undefined ? {} : { field }),
    message,
  }
}

function lineOf({
  text: { lines },
  field,
  bodyLine,
}: {
  text: Fault['text']
  field: string | undefined
  bodyLine: number | undefined
}): number | undefined {
  if (lines === undefined) return undefined
  if (bodyLine !== undefined) return lines.body + bodyLine - 1
  return field === undefined ? undefined : lines.fields[field]
}

/** What brings what is written in a project. Where the whole of it cannot be read, that is told under this name. */
export const KNOWLEDGE_SOURCE = 'knowledge'

/** A file, perhaps with the line. */
const MARKDOWN_PLACE = /\.md(?::\d+)?$/i

/** Of everything that is wrong with definitions, what is about something written in Markdown. */
export function writtenProblems(problems: readonly Problem[]): Problem[] {
  return problems.filter(({ where }) => where === KNOWLEDGE_SOURCE || MARKDOWN_PLACE.test(where))
}

/** The file of a place, without the line. */
export const fileOf = (where: string): string => where.replace(/:\d+$/, '')

/** More of one file than this is not fixed at once. */
const MOST_OF_FILE = 20

/** In order of file and line, and at most a readable number per file. */
export function fewOfEach(problems: readonly Problem[]): Problem[] {
  const byFile = new Map<string, Problem[]>()
  for (const problem of problems.toSorted(byPlace)) {
    const file = fileOf(problem.where)
    const group = byFile.get(file)
    if (group) group.push(problem)
    else byFile.set(file, [problem])
  }
  return [...byFile].flatMap(([file, group]) => {
    const more = group.slice(MOST_OF_FILE)
    return more.length === 0 ? group : [...group.slice(0, MOST_OF_FILE), rest(file, more)]
  })
}

function rest(file: string, more: readonly Problem[]): Problem {
  const severity = more.some(one => one.severity === 'error') ? 'error' : 'warning'
  const message = `There are ${more.length} more things that are wrong with it. Fix these first.`
  return { severity, code: 'DEFINITION_INVALID', where: file, message }
}

/** By number where there are numbers: line 5 comes before line 10. */
function byPlace(one: Problem, other: Problem): number {
  return one.where.localeCompare(other.where, 'en', { numeric: true })
}
