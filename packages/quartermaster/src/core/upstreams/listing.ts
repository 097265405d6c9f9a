import { isStorable, type PinKind, type Problem } from '../../contracts/index.ts'
import { type Digest, isRecord, type Steps, upstreamUnit } from '../kernel/index.ts'

/** A server's lists as they came. An absent list could not be fetched; an empty one is empty. */
export interface Listing {
  /** `name`, `version`, `title`, `instructions`. */
  readonly server: unknown
  readonly tools?: readonly unknown[] | undefined
  readonly prompts?: readonly unknown[] | undefined
  readonly resources?: readonly unknown[] | undefined
  readonly templates?: readonly unknown[] | undefined
  /** Lists that have more pages than were read. */
  readonly cut?: readonly ListedField[] | undefined
}

type ListedField = 'tools' | 'prompts' | 'resources' | 'templates'

/** One definition of a server. */
export interface SeenDefinition {
  readonly kind: PinKind
  /** The server's own name for it; the address of a resource. */
  readonly name: string
  /** The definition as JSON with its original key order. */
  readonly text: string
  readonly hash: string
  /** The parsed text. */
  readonly value: Readonly<Record<string, unknown>>
}

/** What can be pinned of a listing, its kinds, and whether it was cut. */
export interface ReadListing {
  readonly definitions: readonly SeenDefinition[]
  readonly kinds: ReadonlySet<PinKind>
  readonly problems: readonly Problem[]
  readonly isCut: boolean
}

export interface ListingLimits {
  /** Of one upstream, all kinds together, without the server's own record. */
  readonly definitions: number
  readonly characters: number
  /** Of one definition. */
  readonly charactersOfOne: number
  /** Of definitions that are gone; kept by name alone. */
  readonly names: number
}

/** Real servers have dozens of definitions of a few kilobytes. */
export const LISTING_LIMITS: ListingLimits = {
  definitions: 2_000,
  characters: 8 * 1024 * 1024,
  charactersOfOne: 512 * 1024,
  names: 2_000,
}

/** The name of the server's own pin. */
export const SERVER_NAME = 'server'

/**
 * Takes what can be pinned from a listing. Nothing in it is trusted: not its types, names or size. In steps, because a large
 * one takes long.
 */
export function* readListing(
  upstream: string,
  listing: Listing,
  { digest, limits = LISTING_LIMITS }: { digest: Digest; limits?: ListingLimits },
): Steps<ReadListing> {
  const reader = createReader(upstream, digest, limits)
  reader.take('server', serverRecord(listing.server))
  // Its pin shows that the server was listed; without one, later additions would seem to have been there from the beginning.
  if (reader.isEmpty()) reader.take('server', {})
  for (const [kind, field] of LISTS) {
    for (const [index, value] of (listing[field] ?? []).entries()) {
      reader.take(kind, value, index)
      yield
    }
  }
  const listed = LISTS.filter(([, field]) => listing[field] !== undefined).map(([kind]) => kind)
  const { definitions, problems, isFull } = reader.end()
  const { cut = [] } = listing
  const allProblems = [...problems, ...cut.map(field => cutShort(upstream, field))]
  const isCut = isFull || cut.length > 0
  return { definitions, problems: allProblems, isCut, kinds: new Set<PinKind>(['server', ...listed]) }
}

const LISTS = [
  ['tool', 'tools'],
  ['prompt', 'prompts'],
  ['resource', 'resources'],
  ['template', 'templates'],
] as const satisfies readonly (readonly [PinKind, ListedField])[]

/** The field with the name of each kind. */
const NAME_FIELDS = {
  server: 'name',
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  template: 'uriTemplate',
} as const satisfies Record<PinKind, string>

const LONGEST_NAME = { server: 256, tool: 256, prompt: 256, resource: 2048, template: 2048 } as const

/** Without the version: an update that lists the same needs no review. */
function serverRecord(server: unknown): Record<string, unknown> {
  const given = isRecord(server) ? server : {}
  const fields = ['name', 'title', 'instructions'].filter(field => given[field] !== undefined)
  return Object.fromEntries(fields.map(field => [field, given[field]]))
}

function createReader(upstream: string, digest: Digest, limits: ListingLimits) {
  const definitions: SeenDefinition[] = []
  const taken = new Set<string>()
  const problems: Problem[] = []
  let characters = 0
  let unread = 0
  const leaveOut = (subject: string, message: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(refused(upstream, subject, message))
  }

  /** The server's record comes before them. */
  const definitionCount = () => definitions.length - 1

  /** Checks the size last, because the other checks cost next to nothing. */
  function take(kind: PinKind, value: unknown, index = 0): void {
    if (definitionCount() >= limits.definitions || characters >= limits.characters) return void unread++
    const name = nameOf(kind, value)
    if (name === undefined) return leaveOut(kind, nameless(kind, value, index))
    const subject = `${kind}:${name}`
    if (taken.has(subject)) return leaveOut(subject, `The ${kind} "${name}" is listed twice. The first one counts.`)
    const text = textOf(value)
    if (text === undefined || text.length > limits.charactersOfOne)
      return leaveOut(subject, `The definition of the ${kind} "${name}" is too large or nests too deep.`)
    if (characters + text.length > limits.characters) return void unread++
    characters += text.length
    taken.add(subject)
    definitions.push({ kind, name, text, hash: digest(text), value: value as Record<string, unknown> })
  }

  function end() {
    if (unread > 0) problems.push(refused(upstream, undefined, tooMany(unread, definitionCount())))
    return { definitions, problems, isFull: unread > 0 }
  }
  return { take, end, isEmpty: () => definitions.length === 0 }
}

/** Of a thousand like these a person reads no more. */
const MOST_PROBLEMS = 20

function nameOf(kind: PinKind, value: unknown): string | undefined {
  if (!isRecord(value)) return undefined
  if (kind === 'server') return SERVER_NAME
  const name = value[NAME_FIELDS[kind]]
  return typeof name === 'string' && nameFault(kind, name) === undefined ? name : undefined
}

/** What keeps everybody from going by this name. */
function nameFault(kind: PinKind, name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return 'it has none'
  if (name.length > LONGEST_NAME[kind]) return `it is longer than ${LONGEST_NAME[kind]} characters`
  return isStorable(name) ? undefined : 'it holds NUL or half a character'
}

/** By its place, because it cannot be found by its name. */
function nameless(kind: PinKind, value: unknown, index: number): string {
  const fault = nameFault(kind, isRecord(value) ? value[NAME_FIELDS[kind]] : undefined)
  return `The ${kind} at place ${index + 1} of those listed has no usable name: ${fault}.`
}

/**
 * The value as it was received, as far as that can be known once it is parsed: keys keep their order, so a definition that
 * was merely rearranged counts as another one. Spaces between them, and all but the last of a key that comes twice, are
 * gone; no model ever reads those.
 */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // Nested so deep that the stack does not reach: it is refused like anything else that is too large.
    return undefined
  }
}

function tooMany(unread: number, read: number): string {
  return `The server lists too much: ${read} definitions are used, ${unread} are not. Ask for fewer, or use another server.`
}

const LISTED = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  templates: 'templates of resources',
} as const

/** What was not read is not offered, and a person who misses it should know why. */
function cutShort(upstream: string, field: ListedField): Problem {
  const message = `The list of the ${LISTED[field]} of "${upstream}" has no end, or one too far away. What was read of it is used.`
  return refused(upstream, undefined, message)
}

function refused(upstream: string, subject: string | undefined, message: string): Problem {
  const problem: Problem = { severity: 'warning', code: 'DEFINITION_INVALID', where: upstreamUnit(upstream), message }
  return subject === undefined ? problem : { ...problem, subject }
}
