import { isDeepStrictEqual } from 'node:util'
import { type AddedUpstream, AppError, HttpEntry, StdioEntry } from '../../contracts/index.ts'
import { canonicalJson, isRecord } from '../../core/kernel/index.ts'
import { type ProgramCall, programIdentity, withVersionsOf } from '../../core/shell/index.ts'
import { problemsError, toProblem } from './faults.ts'
import { type JsonDocument, parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange, changesBetween, printLines } from './json-edit.ts'
import { SERVERS, transportOf } from './upstream-entries.ts'

/** Names and values as they are written. */
export type Fields = Readonly<Record<string, unknown>>

/** A configuration that is about to be changed. */
interface ConfigText {
  /** All of it. */
  readonly fields: Fields
  /** The entries of `mcpServers`. */
  readonly servers: Fields
  /** The text with these entries instead, everything else as it was written. */
  withServers(servers: Fields): string
}

/** Reads a configuration for a change; nothing stands in one that is not there yet. Throws `CONFIG_INVALID`. */
export function configText(current: string | undefined, file: string): ConfigText {
  if (current === undefined) return { fields: {}, servers: {}, withServers: freshText }
  const { mark, text } = splitByteOrderMark(current)
  const fields = readable(text, file).value as Fields
  return { fields, servers: serversOf(fields), withServers: servers => mark + changedText(text, fields, servers) }
}

function freshText(servers: Fields): string {
  const after = plain({ [SERVERS]: servers })
  return verified(`${printLines(after, { unit: '  ', eol: '\n' })}\n`, after)
}

function readable(text: string, file: string): JsonDocument {
  const document = parseDocument(text)
  const { value, faults } = document
  if (faults.length === 0 && typeof value === 'object' && value !== null && !Array.isArray(value)) return document
  const problems = faults.map(fault => toProblem(fault, { file, text, code: 'CONFIG_INVALID' }))
  throw problemsError('CONFIG_INVALID', `${file} cannot be edited until it is one JSON object again:`, problems)
}

function serversOf(fields: Fields): Fields {
  const servers = fields[SERVERS] ?? {}
  if (typeof servers === 'object' && !Array.isArray(servers)) return servers as Fields
  throw new AppError('CONFIG_INVALID', `"${SERVERS}" must be an object of names and servers. Correct it first.`)
}

function changedText(text: string, before: Fields, servers: Fields): string {
  const after = plain({ ...before, [SERVERS]: servers })
  return verified(changesBetween({ written: before, before, after }).reduce(applyChange, text), after)
}

/** Refuses values that JSON has no form for, mainly `undefined`. */
function plain(value: Fields): Fields {
  return JSON.parse(JSON.stringify(value)) as Fields
}

/** Reads the new text back before it is written, and refuses it unless it has the wanted value. */
function verified(text: string, wanted: Fields): string {
  if (isDeepStrictEqual(parseDocument(text).value, wanted)) return text
  throw new AppError(
    'INTERNAL',
    'The configuration is written in a way that this change cannot be put into. Edit it by hand; nothing was written.',
  )
}

/** The present entry, split by the entry that replaces it. */
export interface EntryParts {
  /** Settings that the new entry has as well, and replaces. */
  readonly stated: Fields
  /** Settings that only the owner wrote. They stay. */
  readonly kept: Fields
  /** Settings of the owner that go all the same, because what is reached in the new way has none such, by what they are called. */
  readonly gone: Fields
}

/** Splits a replaced entry into settings that stay and settings that go. Absent if there is none. */
export type Succession = Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'>

/** How a server is reached. An entry that names one of these replaces all of them: what it leaves out is gone. */
const REACH: ReadonlySet<string> = new Set(['type', 'command', 'args', 'env', 'cwd', 'url', 'headers'])

/** Tells what an entry would replace from what it leaves alone. */
export function partsOf(present: unknown, entry: Fields): EntryParts {
  const fields = Object.entries(isRecord(present) ? present : {})
  const parts = fields.map(([key, value]) => [key, fieldParts(key, value, { present, entry })] as const)
  return {
    stated: Object.fromEntries(parts.flatMap(([key, { stated }]) => (stated === undefined ? [] : [[key, stated]]))),
    kept: Object.fromEntries(parts.flatMap(([key, { kept }]) => (kept === undefined ? [] : [[key, kept]]))),
    gone: Object.assign({}, ...parts.map(([, { gone }]) => gone)),
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

/** The names of the settings that stay and of those that go. */
export function settingsIn({ kept, gone }: EntryParts, entry: Fields): Succession {
  const names = Object.entries(kept).flatMap(([key, own]) =>
    isRecord(own) && Object.hasOwn(entry, key) ? Object.keys(own).map(part => `${key}.${part}`) : [key],
  )
  const lost = Object.keys(gone)
  return { ...(names.length > 0 && { keptSettings: names }), ...(lost.length > 0 && { goneSettings: lost }) }
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
  readonly gone?: Fields
}

interface Sides {
  readonly present: unknown
  readonly entry: Fields
}

function fieldParts(key: string, value: unknown, sides: Sides): FieldParts {
  const { entry } = sides
  if (REACH.has(key)) return { stated: value }
  const isMoved = isElsewhere(sides)
  if (Object.hasOwn(entry, key)) return key === 'oauth' ? loginParts(value, entry[key], { isMoved }) : { stated: value }
  const [before, now] = [transportOf(sides.present), transportOf(entry)]
  if (isMoved && key === 'oauth') return { gone: { [key]: value } }
  if (key in SHAPES[before] && !(key in SHAPES[now])) return { gone: { [key]: value } }
  if (key === 'agents' && (isMoved || before !== now)) return credentialParts(value, CREDENTIALS[before])
  return { kept: value }
}

/** Whether it is another server, or one at another place: what was given out for the one before is not for it to see. */
function isElsewhere({ present, entry }: Sides): boolean {
  const [before, now] = [present, entry].map(one => placeOf(isRecord(one) ? one : {}))
  return before !== undefined && now !== undefined && before !== now
}

function placeOf({ url, command, args, cwd }: Fields): string | undefined {
  if (typeof command !== 'string') return originOf(url)
  const words = Array.isArray(args) ? args.filter(word => typeof word === 'string') : []
  return programIdentity({ command, args: words, cwd })
}

/** As far as it can be told; an address that is not complete yet is taken as it is written. */
function originOf(url: unknown): string | undefined {
  if (typeof url !== 'string') return undefined
  return URL.canParse(url) ? new URL(url).origin : url
}

const SHAPES = { stdio: StdioEntry.shape, http: HttpEntry.shape } as const

/** A source knows only some of what can be said of signing in. The secret of one client is no use to another. */
function loginParts(value: unknown, said: unknown, { isMoved }: { readonly isMoved: boolean }): FieldParts {
  if (!isRecord(value) || !isRecord(said)) return { stated: value }
  const isOther = Object.hasOwn(said, 'clientId') && said['clientId'] !== value['clientId']
  const isStated = (key: string) => Object.hasOwn(said, key) || (isOther && key === 'clientSecret')
  const pick = (is: boolean) => Object.entries(value).filter(([key]) => isStated(key) === is)
  const [stated, own] = [Object.fromEntries(pick(true)), pick(false)]
  if (isMoved) return { stated, gone: Object.fromEntries(own.map(([key, one]) => [`oauth.${key}`, one])) }
  return { stated, ...(own.length > 0 && { kept: Object.fromEntries(own) }) }
}

/** Agents' credentials: variables for programs, headers for addresses. */
const CREDENTIALS = { stdio: 'env', http: 'headers' } as const

/** Without the credentials of this kind. */
function credentialParts(agents: unknown, alien: 'env' | 'headers'): FieldParts {
  if (!isRecord(agents)) return { kept: agents }
  const gone: Record<string, unknown> = {}
  const kept = Object.entries(agents).flatMap(([agent, credentials]) => {
    if (!isRecord(credentials) || !Object.hasOwn(credentials, alien)) return [[agent, credentials]]
    const { [alien]: shown, ...rest } = credentials
    gone[`agents.${agent}.${alien}`] = shown
    return Object.keys(rest).length > 0 ? [[agent, rest]] : []
  })
  return { ...(kept.length > 0 && { kept: Object.fromEntries(kept) }), gone }
}

/** Without default values. */
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
