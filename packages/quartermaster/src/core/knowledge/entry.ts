import type { DocKind } from '../../contracts/index.ts'
import type { CatalogueCapability, Knowledge, Tool, WithheldTool } from '../catalogue/index.ts'
import type { Digest } from '../kernel/index.ts'

/** An entry of the docs: a unit, a capability or a tool. */
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
  /** Paths above it, beside its folder. */
  readonly parents: readonly string[]
  readonly seeAlso: readonly string[]
  readonly hash: string
  readonly of:
    | { readonly unit: Knowledge }
    | { readonly capability: CatalogueCapability }
    | { readonly tool: Tool }
    // A withheld tool is known by the name it would be called by. What it says about itself may be why it is withheld.
    | { readonly withheld: { readonly name: string; readonly capability: string; readonly reason: string } }
}

// The path of a unit has no colon, so a unit of the project hides no tool and no capability.
export const toolPath = (name: string): string => `tool:${name}`
export const capabilityPath = (key: string): string => `capability:${key}`

/** The name of the tool at a path, if it is the path of a tool. */
export function toolAt(path: string): string | undefined {
  return path.startsWith('tool:') ? path.slice('tool:'.length) : undefined
}

type Facts = Pick<Entry, 'path' | 'kind' | 'title' | 'hash' | 'of'> &
  Partial<Omit<Entry, 'command'>> & { readonly command?: string | undefined }

const NONE: readonly string[] = []

// Fields are listed: with ten thousand tools, spreading takes fifteen times as long.
function toEntry({
  path,
  kind,
  title,
  summary = '',
  whenToUse = '',
  command,
  tools = NONE,
  tags = NONE,
  aliases = NONE,
  parents = NONE,
  seeAlso = NONE,
  hash,
  of,
}: Facts): Entry {
  return { path, kind, title, summary, whenToUse, command, tools, tags, aliases, parents, seeAlso, hash, of }
}

export function unitEntry(unit: Knowledge): Entry {
  const { path, kind, title, summary = '', whenToUse = '', tools, tags, aliases, parents, seeAlso, hash } = unit
  // Only directions can be called by a command.
  const command = kind === 'directions' ? unit.command : undefined
  const of = { unit }
  return toEntry({ path, kind, title, summary, whenToUse, command, tools, tags, aliases, parents, seeAlso, hash, of })
}

export function capabilityEntry(capability: CatalogueCapability): Entry {
  const { key, title, short, hash } = capability
  const tools = capability.tools.map(({ name }) => name)
  return toEntry({
    path: capabilityPath(key),
    kind: 'capability',
    title,
    summary: short,
    tools,
    hash,
    of: { capability },
  })
}

export function toolEntry(tool: Tool): Entry {
  const { name, title, short, whenToUse, capability, hash } = tool
  const parents = [capabilityPath(capability)]
  return toEntry({ path: toolPath(name), kind: 'tool', title, summary: short, whenToUse, parents, hash, of: { tool } })
}

/** A tool that a capability has but does not offer. */
export function withheldEntry({ name, calledAs = name, reason }: WithheldTool, capability: string): Entry {
  return toEntry({
    path: toolPath(calledAs),
    kind: 'tool',
    title: calledAs,
    parents: [capabilityPath(capability)],
    hash: `withheld:${calledAs}`,
    of: { withheld: { name: calledAs, capability, reason } },
  })
}

/** Values by key, in their order. */
export function grouped<T>(pairs: readonly (readonly [string, T])[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const [key, value] of pairs) {
    const group = groups.get(key)
    if (group) group.push(value)
    else groups.set(key, [value])
  }
  return groups
}

/** The facts about a reader that decide which units it sees. */
export interface UnitReader {
  /** Whether the reader has a tool, working, withheld or of the gateway: directions often explain what to do about a withheld one. */
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

/** A path as readers write it, without the ending of the file and slashes around it, and with accents in one form. */
export function barePath(path: string): string {
  const whole = path
    .normalize('NFC')
    .trim()
    .replace(/^(?:\.?\/)+/, '')
  // A pattern for the slashes at the end would take quadratic time.
  let end = whole.length
  while (whole[end - 1] === '/') end -= 1
  return whole.slice(0, end).replace(/\.md$/i, '')
}

/** Directions in the format of agent skills: one file, `SKILL.md`. */
export interface Skill {
  readonly uri: string
  readonly frontmatter: { readonly name: string; readonly description: string }
  /** The file. Made on each read, because most are never read. */
  text(): string
  /** What a client verifies the file with. The SHA-256 is in hexadecimal. */
  measure(): SkillMeasure
}

type SkillMeasure = { readonly sha256: string; readonly bytes: number }

/** The limit of the format. */
const MOST_DESCRIPTION = 1_024

/** Makes a skill of directions. `body` is their text with its includes, and `hash` changes with it. */
export function createSkill(
  directions: Directions,
  { body, hash, digest }: { body(): string; readonly hash: string; readonly digest: Digest },
): Skill {
  const { command: name } = directions
  const description = descriptionOf(directions)
  // A JSON string is a YAML string too. Without quotes, the word "true" would be a boolean.
  const text = () =>
    `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(description)}\n---\n\n${body()}\n`
  return {
    uri: `skill://${name}/SKILL.md`,
    frontmatter: { name, description },
    text,
    measure() {
      const before = measures.get(directions)?.get(hash)
      if (before) return before
      const whole = text()
      const made = { sha256: digest(whole), bytes: new TextEncoder().encode(whole).length }
      remember(directions, hash, made)
      return made
    },
  }
}

// Measures are kept across generations, because lists need them; texts are not.
const measures = new WeakMap<Directions, Map<string, SkillMeasure>>()
// There are several for one unit, because agents see different includes, and more after each edit of an include.
const MOST_MEASURES = 16

function remember(directions: Directions, hash: string, measure: SkillMeasure): void {
  const known = measures.get(directions) ?? new Map<string, SkillMeasure>()
  if (known.size >= MOST_MEASURES) known.clear()
  measures.set(directions, known.set(hash, measure))
}

// A model decides by it whether to read on. "When to use" is left out if it does not fit: half a condition would mislead.
function descriptionOf({ summary, whenToUse }: Directions): string {
  const whole = `${summary} ${whenToUse}`
  return whole.length <= MOST_DESCRIPTION ? whole : summary
}

/** A unit with steps to follow, called by a command. */
export interface Directions extends Knowledge {
  readonly kind: 'directions'
  readonly command: string
  readonly summary: string
  readonly whenToUse: string
}

export function isDirections(unit: Knowledge): unit is Directions {
  return unit.kind === 'directions'
}
