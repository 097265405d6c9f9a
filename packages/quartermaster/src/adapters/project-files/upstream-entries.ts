import type { z } from 'zod'
import {
  HttpEntry,
  Name,
  type Problem,
  StdioEntry,
  type UpstreamConfig,
  type UpstreamEntry,
} from '../../contracts/index.ts'
import { consentPrefix, upstreamUnit } from '../../core/kernel/index.ts'
import { type Fault, toProblem } from './faults.ts'
import { FORBIDDEN_KEYS, type JsonDocument, keyOffsetOf, nodeAt, offsetOf, partOf } from './json-document.ts'
import { hasReference, type ReferenceSources } from './references.ts'
import { type CheckedDocument, checkDocument, checkSchema } from './schema-faults.ts'

/** The MCP servers of others that a configuration names. */
export interface UpstreamsRead {
  /** The valid entries, with references resolved, in the order of the file. */
  readonly configs: ReadonlyMap<string, UpstreamConfig>
  /** The wrong entries, with the first reason. */
  readonly leftOut: ReadonlyMap<string, LeftOutUpstream>
  /** Every text in them that no log may show. */
  readonly secrets: readonly string[]
}

/** An entry that cannot be used as it is written. */
export interface LeftOutUpstream {
  readonly transport: 'stdio' | 'http'
  readonly reason: string
}

/** Where the entries stand in the configuration. */
export const SERVERS = 'mcpServers'

/** Tool names are at most 64 characters long, and those of an upstream begin with its name. */
const LONGEST_NAME = 32

/** Reads every entry separately: a fault in one does not affect the others. */
export function readUpstreams(
  document: JsonDocument,
  { file, ...sources }: ReferenceSources & { file: string },
): { upstreams: UpstreamsRead; problems: Problem[] } {
  const configs = new Map<string, UpstreamConfig>()
  const leftOut = new Map<string, LeftOutUpstream>()
  const masks = createMaskList()
  const problems: Problem[] = []
  for (const name of entryNames(document)) {
    const part = partOf(document, [SERVERS, name])
    const seen = masks.begin()
    const checked = checkEntry(name, part, { ...sources, onValue: seen.onValue })
    const twin = [...configs.keys()].find(other => consentPrefix(other) === consentPrefix(name))
    const { value, faults } = twin === undefined ? checked : { value: undefined, faults: [sameAs(twin, part)] }
    const [first] = faults
    if (value) configs.set(name, seen.keep(value))
    else leftOut.set(name, { transport: transportOf(part.value), reason: first?.message ?? 'It is wrong.' })
    problems.push(...faults.map(fault => problemOf(name, fault, { file, text: document.text })))
  }
  return { upstreams: { configs, leftOut, secrets: masks.texts() }, problems }
}

/** Why no other may be called like this one: what is allowed for the one would be allowed for the other. */
export function tooMuchLike(twin: string): string {
  return `Its name is too much like that of "${twin}": they differ only in capital letters, or by a "u" in front.`
}

function sameAs(twin: string, part: JsonDocument): Fault {
  return { offset: keyOffsetOf(part, []), path: [], message: tooMuchLike(twin), fix: 'Give it another name.' }
}

/** The document without its entries, which are read one by one. */
export function withoutUpstreams(document: JsonDocument): JsonDocument {
  const { value, faults } = document
  if (!isRecord(value) || !isRecord(value[SERVERS])) return document
  return {
    ...document,
    value: { ...value, [SERVERS]: {} },
    faults: faults.filter(({ path }) => path[0] !== SERVERS || path.length < 2),
  }
}

/** Faults of an entry that do not depend on its references. */
export function entryFaults(name: string, document: JsonDocument): Fault[] {
  const part = partOf(document, [SERVERS, name])
  const isOpen = ({ path }: Fault) => {
    const node = nodeAt(part, path)
    return node?.type === 'string' && hasReference(node.value)
  }
  const misfit = misfitOf(name, part)
  const checked = misfit ? { faults: [misfit] } : checkSchema(schemaOf(part.value), part.value, part)
  const faults = [...part.faults, ...('faults' in checked ? checked.faults.map(fixed) : [])]
  return faults.filter(fault => !isOpen(fault))
}

function checkEntry(name: string, part: JsonDocument, sources: ReferenceSources): CheckedDocument<UpstreamConfig> {
  const misfit = misfitOf(name, part)
  if (misfit) return { faults: [misfit] }
  const { value, faults } = checkDocument(part, schemaOf(part.value), sources)
  return value ? { value: toConfig(value), faults } : { faults: faults.map(fixed) }
}

function entryNames({ value, faults }: JsonDocument): string[] {
  const written = isRecord(value) && isRecord(value[SERVERS]) ? Object.keys(value[SERVERS]) : []
  // A name that nothing may have is not among the values.
  const refused = faults
    .filter(({ path }) => path[0] === SERVERS && path.length === 2)
    .map(({ path }) => String(path[1]))
  return [...new Set([...written, ...refused])]
}

function schemaOf(entry: unknown): z.ZodType<UpstreamEntry> {
  return transportOf(entry) === 'http' ? HttpEntry : StdioEntry
}

/** How a server is reached by what its entry has. */
export function transportOf(entry: unknown): 'stdio' | 'http' {
  return isRecord(entry) && 'url' in entry ? 'http' : 'stdio'
}

function toConfig({ disabled = false, ...config }: UpstreamEntry): UpstreamConfig {
  return disabled ? { ...config, enabled: false } : config
}

/** Faults that prevent a closer check of an entry. */
function misfitOf(name: string, part: JsonDocument): Fault | undefined {
  const fault = (message: string, fix: string, offset = offsetOf(part, [])): Fault => ({
    offset,
    path: [],
    message,
    fix,
  })
  if (part.root === undefined) return part.faults[0] ?? fault('It is not there.', 'Add it.')
  if (FORBIDDEN_KEYS.has(name)) {
    const message = `An upstream cannot be named "${name}": that is a reserved word.`
    return fault(message, 'Rename it.', keyOffsetOf(part, []))
  }
  if (!Name.safeParse(name).success || name.length > LONGEST_NAME) {
    const message = `An upstream's name must be 1 to ${LONGEST_NAME} of the characters A–Z a–z 0–9 _ -, because its tools begin with it.`
    return fault(message, 'Rename it.', keyOffsetOf(part, []))
  }
  const { value } = part
  if (!isRecord(value)) return fault('Expected an object.', 'Write { "command": … } or { "url": … }.')
  const [hasCommand, hasUrl] = ['command' in value, 'url' in value]
  if (hasCommand && hasUrl) {
    return fault(
      'It has both "command" and "url".',
      'Keep "command" for a program here, or "url" for a server elsewhere.',
    )
  }
  if (value['type'] === 'sse') return fault(SSE, SSE_FIX, offsetOf(part, ['type']))
  if (hasCommand || hasUrl) return undefined
  return fault(
    'It has neither "command" nor "url".',
    'Say how it is started ("command", "args"), or where it is ("url").',
  )
}

const SSE = 'The older transport "sse" is not spoken here.'
const SSE_FIX =
  'Most such servers speak streamable HTTP too: give that address, often ending in /mcp, and "type": "http".'

/** Fields of other clients are told apart from mistyped ones. */
function fixed(fault: Fault): Fault {
  const [key, ...deeper] = fault.path
  const fix = deeper.length === 0 && fault.message.includes('is not known here') ? foreignFix(String(key)) : undefined
  return fix === undefined ? fault : { ...fault, message: `"${String(key)}" means nothing here.`, fix }
}

function problemOf(name: string, fault: Fault, { file, text }: { file: string; text: string }): Problem {
  const whole = { ...fault, path: [SERVERS, name, ...fault.path] }
  return toProblem(whole, { file, text, code: 'CONFIG_INVALID', subject: upstreamUnit(name) })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Our setting for a field of other clients. */
function foreignFix(key: string): string | undefined {
  return Object.hasOwn(FIXES, key) ? FIXES[key] : undefined
}

const CONSENT = 'Remove it; what needs a person is said per tool: "tools": { "NAME": { "consent": [] } }.'
const TRANSPORT = 'Remove it; "command" or "url" says how the server is reached.'

const FIXES: Readonly<Record<string, string>> = {
  autoApprove: CONSENT,
  alwaysAllow: CONSENT,
  trust: CONSENT,
  disabledTools: 'Write "leaveOut" with the same list.',
  excludeTools: 'Write "leaveOut" with the same list.',
  enabledTools: 'Write "offer" with the same list.',
  includeTools: 'Write "offer" with the same list.',
  timeout: 'Write "timeoutMs" for calls, in milliseconds, or "startSeconds" for starting.',
  transport: TRANSPORT,
  transportType: TRANSPORT,
  gallery: 'Remove it.',
  description: 'Write "short".',
  name: 'Remove it; the name stands before the entry. A title for people is "title".',
  envFile:
    'Remove it, and put its variables into "env", secrets into secrets.json in the data folder; `quartermaster import` does both.',
  serverUrl: 'Write "url".',
  httpUrl: 'Write "url".',
  auth: 'Write "oauth" with "clientId", "clientSecret" and "scope".',
  headersHelper: 'Write "headers" with ${env:NAME} or ${secret:NAME}.',
}

/** Collects the texts of upstreams that no log may show. */
interface MaskList {
  /** Begins with one entry. */
  begin(): {
    readonly onValue: (value: string, kind: 'env' | 'secret') => void
    /** The entry is good: what it holds is to be masked. */
    keep(config: UpstreamConfig): UpstreamConfig
  }
  texts(): string[]
}

/** Shorter ones stand in every other line, and masking them would leave nothing to read. */
const SHORTEST_SECRET = 4
const SHORTEST_OTHER = 8

function createMaskList(): MaskList {
  const texts = new Set<string>()
  const add = (text: string) => {
    // A credential is logged with its scheme or without.
    for (const one of [text, ...text.split(/\s+/)]) if (isTelling(one)) texts.add(one)
  }
  return {
    begin() {
      const referred: [string, 'env' | 'secret'][] = []
      return {
        onValue: (value, kind) => void referred.push([value, kind]),
        keep(config) {
          for (const [value, kind] of referred) {
            if (kind === 'secret' && value.length >= SHORTEST_SECRET) texts.add(value)
            else if (kind === 'env') add(value)
          }
          credentialsOf(config).forEach(add)
          return config
        },
      }
    },
    texts: () => [...texts],
  }
}

function credentialsOf(config: UpstreamConfig): string[] {
  const own = 'url' in config ? config.headers : config.env
  const oauth = 'url' in config ? config.oauth?.clientSecret : undefined
  const ofAgents = Object.values(config.agents).flatMap(({ env = {}, headers = {} }) => [env, headers])
  return [...[own, ...ofAgents].flatMap(texts => Object.values(texts)), ...(oauth === undefined ? [] : [oauth])]
}

/** Folders, plain addresses and plain words are what logs are made of, and tell nothing. */
function isTelling(text: string): boolean {
  if (text.length < SHORTEST_OTHER) return false
  return !/^(?:~|\.{0,2}\/|[A-Za-z]:\\)/.test(text) && !/^https?:\/\/[^\s@?]*$/.test(text) && !/^[a-z]+$/i.test(text)
}
