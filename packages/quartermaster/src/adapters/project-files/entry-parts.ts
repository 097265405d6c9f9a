import { type AddedUpstream, HttpEntry, StdioEntry } from '../../contracts/index.ts'
import { canonicalJson, isRecord, type ProgramCall, withVersionsOf } from '../../core/kernel/index.ts'
import type { Fields } from './config-text.ts'
import { transportOf } from './upstream-entries.ts'

/** What stands in the place of an entry that is to be written, as that one sees it. */
export interface EntryParts {
  /** What the new one speaks of as well, and takes the place of. */
  readonly stated: Fields
  /** What only the owner says. It stays. */
  readonly kept: Fields
  /** Settings of the owner that go all the same, because what is reached in the new way has none such. */
  readonly gone: readonly string[]
}

/** What of an entry goes over into the one that takes its place, and what does not. Absent where there is none. */
export type Succession = Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'>

/** How a server is reached. Whoever names one says all of that: what is not said of it, it does not have. */
const REACH: ReadonlySet<string> = new Set(['type', 'command', 'args', 'env', 'cwd', 'url', 'headers'])

/** Tells what an entry would replace from what it leaves alone. */
export function partsOf(present: unknown, entry: Fields): EntryParts {
  const fields = Object.entries(isRecord(present) ? present : {})
  const parts = fields.map(([key, value]) => [key, fieldParts(key, value, { present, entry })] as const)
  return {
    stated: Object.fromEntries(parts.flatMap(([key, { stated }]) => (stated === undefined ? [] : [[key, stated]]))),
    kept: Object.fromEntries(parts.flatMap(([key, { kept }]) => (kept === undefined ? [] : [[key, kept]]))),
    gone: parts.flatMap(([, { gone = [] }]) => gone),
  }
}

/** The entry with what stays beside it. */
export function withKept(entry: Fields, kept: Fields): Fields {
  const shared = Object.entries(kept).flatMap(([key, own]) => {
    const said = entry[key]
    return isRecord(own) && isRecord(said) ? [[key, { ...own, ...said }]] : []
  })
  return { ...kept, ...entry, ...Object.fromEntries(shared) }
}

/** What the settings are called that stay beside an entry, and those that go. */
export function settingsIn({ kept, gone }: EntryParts, entry: Fields): Succession {
  const names = Object.entries(kept).flatMap(([key, own]) =>
    isRecord(own) && Object.hasOwn(entry, key) ? Object.keys(own).map(part => `${key}.${part}`) : [key],
  )
  return { ...(names.length > 0 && { keptSettings: names }), ...(gone.length > 0 && { goneSettings: [...gone] }) }
}

/** Whether what is stated is what an entry says, in whatever words. */
export function isSameServer(stated: Fields, entry: Fields): boolean {
  return canonicalJson(inFewWords(stated)) === canonicalJson(inFewWords(entry))
}

/** The entry with the versions that its packages have here already, where it names none. */
export function withPresentVersions(entry: Fields, present: unknown): { entry: Fields } & Succession {
  const [call, before] = [programCall(entry), programCall(present)]
  if (!call || !before) return { entry }
  const { args, versions } = withVersionsOf(call, before)
  return Object.keys(versions).length > 0 ? { entry: { ...entry, args }, keptVersions: { ...versions } } : { entry }
}

interface FieldParts {
  readonly stated?: unknown
  readonly kept?: unknown
  readonly gone?: readonly string[]
}

interface Sides {
  readonly present: unknown
  readonly entry: Fields
}

function fieldParts(key: string, value: unknown, sides: Sides): FieldParts {
  const { entry } = sides
  if (REACH.has(key)) return { stated: value }
  const isMoved = isElsewhere(sides)
  if (Object.hasOwn(entry, key)) return key === 'oauth' && !isMoved ? loginParts(value, entry[key]) : { stated: value }
  const [before, now] = [transportOf(sides.present), transportOf(entry)]
  if (isMoved && key === 'oauth') return { gone: [key] }
  if (key in SHAPES[before] && !(key in SHAPES[now])) return { gone: [key] }
  if (key === 'agents' && (isMoved || before !== now)) return credentialParts(value, CREDENTIALS[before])
  return { kept: value }
}

/** Whether it is another server, or one at another place: what was given out for the one before is not for it to see. */
function isElsewhere({ present, entry }: Sides): boolean {
  const [before, now] = [present, entry].map(one => placeOf(isRecord(one) ? one : {}))
  return before !== undefined && now !== undefined && before !== now
}

function placeOf({ url, command, args, cwd }: Fields): string | undefined {
  return typeof command === 'string' ? programIn(command, args, cwd) : originOf(url)
}

/**
 * Which program that is. What only runs what it is given is another one with other arguments, but for the exact version of a package:
 * which of them says what is run, nobody can tell for all of them.
 */
function programIn(command: string, args: unknown, cwd: unknown): string {
  const words = Array.isArray(args) ? args.filter(word => typeof word === 'string') : []
  const run = RUNNER.test(command) ? [cwd, ...words.map(word => word.replace(VERSION, ''))] : []
  return canonicalJson([command, ...run.map(word => word ?? null)])
}

const RUNNER =
  /(?:^|[\\/])(?:node(?:js)?|npm|npx|pnpm|pnpx|yarn|bunx?|deno|tsx|uvx?|pipx?|python[\d.]*|py|ruby|perl|php|java|dotnet|go|cargo|(?:ba|z|fi|da|k)?sh|env|cmd|powershell|pwsh|sudo|ssh|wsl|docker|podman)(?:\.exe|\.cmd)?$/i

const VERSION = /(?<=[\w-])(?:@|={2,3})v?\d+(?:\.\d+)+[\w.+-]*$/

/** As far as it can be told; an address that is not complete yet is taken as it is written. */
function originOf(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined
  return URL.canParse(url) ? new URL(url).origin : url
}

const SHAPES = { stdio: StdioEntry.shape, http: HttpEntry.shape } as const

/** A source knows only some of what can be said of signing in. The secret of one client is no use to another. */
function loginParts(value: unknown, said: unknown): FieldParts {
  if (!isRecord(value) || !isRecord(said)) return { stated: value }
  const isOther = Object.hasOwn(said, 'clientId') && said['clientId'] !== value['clientId']
  const isStated = (key: string) => Object.hasOwn(said, key) || (isOther && key === 'clientSecret')
  const pick = (is: boolean) => Object.entries(value).filter(([key]) => isStated(key) === is)
  const kept = pick(false)
  return { stated: Object.fromEntries(pick(true)), ...(kept.length > 0 && { kept: Object.fromEntries(kept) }) }
}

/** What agents show: programs are given variables, and addresses headers. */
const CREDENTIALS = { stdio: 'env', http: 'headers' } as const

/** Without the credentials of this kind. */
function credentialParts(agents: unknown, alien: 'env' | 'headers'): FieldParts {
  if (!isRecord(agents)) return { kept: agents }
  const gone: string[] = []
  const kept = Object.entries(agents).flatMap(([agent, credentials]) => {
    if (!isRecord(credentials) || !Object.hasOwn(credentials, alien)) return [[agent, credentials]]
    gone.push(`agents.${agent}.${alien}`)
    const { [alien]: _alien, ...rest } = credentials
    return Object.keys(rest).length > 0 ? [[agent, rest]] : []
  })
  return { ...(kept.length > 0 && { kept: Object.fromEntries(kept) }), gone }
}

/** Without what goes without saying. */
function inFewWords({ type, ...fields }: Fields): Fields {
  const isUsual = SHAPES[transportOf(fields)].type.safeParse(type).success
  const said = Object.entries(fields).filter(([key, value]) => !(USUALLY_EMPTY.has(key) && isEmpty(value)))
  return { ...Object.fromEntries(said), ...(!isUsual && { type }) }
}

const USUALLY_EMPTY: ReadonlySet<string> = new Set(['args', 'env', 'headers'])

function isEmpty(value: unknown): boolean {
  return (isRecord(value) || Array.isArray(value)) && Object.keys(value).length === 0
}

function programCall(entry: unknown): ProgramCall | undefined {
  if (!isRecord(entry)) return undefined
  const { command, args } = entry
  const isCall = typeof command === 'string' && Array.isArray(args) && args.every(word => typeof word === 'string')
  return isCall ? { command, args } : undefined
}
