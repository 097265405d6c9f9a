import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Observation } from '../../contracts/index.ts'
import { bodyChunks } from '../../core/kernel/index.ts'
import {
  createTemplatedKind,
  type EffectKind,
  type EffectKinds,
  type SqlConnections,
  type SqlValues,
} from '../../core/operations/index.ts'
import {
  codeOf,
  countLines,
  countOccurrences,
  createWalls,
  FILE_TEMPLATES,
  fileObjection,
  filePlace,
  LONGEST_TEXT,
  observationOf,
  textObjection,
  type Walls,
  type WallsOptions,
} from './fields.ts'
import { createFileReader, MOST_BYTES, type OpenFile, type ReadFile } from './file-reader.ts'

export interface EffectKindsOptions extends WallsOptions {
  /** The databases that the configuration names. */
  readonly connections: SqlConnections
}

/** The ready-made kinds of effects, by name. */
export function createEffectKinds({ connections, ...folders }: EffectKindsOptions): EffectKinds {
  const walls = createWalls(folders)
  const read = createFileReader(walls)
  const kinds = [
    fileWritten(walls, read),
    lineAppended(walls, read),
    fileDeleted(walls),
    rowPresent(connections),
    httpState(),
  ]
  return new Map(kinds.map(kind => [kind.kind, kind]))
}

/** More than a few rows are no witness of one call. */
const MOST_ROWS = 100
const MOST_PARAMETERS = 50

const RowFields = z.strictObject({
  connection: z.string().min(1),
  sql: z.string().min(1).max(10_000),
  parameters: z
    .array(z.union([z.string(), z.number(), z.boolean()]))
    .max(MOST_PARAMETERS)
    .default([]),
})
type RowFields = z.infer<typeof RowFields>

/** A query of a named database finds rows that it did not find before. */
function rowPresent(connections: SqlConnections): EffectKind {
  return createTemplatedKind<RowFields>({
    kind: 'rowPresent',
    schema: RowFields,
    templates: { parameters: { keepsType: true } },
    check: statementProblems,
    checkFilled: ({ parameters }) =>
      parameters.some(value => String(value).length > LONGEST_TEXT)
        ? `one of its "parameters" is longer than ${LONGEST_TEXT} characters.`
        : undefined,
    async look({ connection, sql, parameters }, { signal }) {
      const database = connections.get(connection)
      if (!database) return { seen: 'unclear', reason: `"connections" of the configuration has no "${connection}".` }
      const rows = await database.query(bounded(sql), parameters, { signal })
      if (rows.length > MOST_ROWS)
        return { seen: 'unclear', reason: `It finds more than ${MOST_ROWS} rows; ask for fewer.` }
      if (rows.length === 0) return { seen: 'absent', reason: 'There is no such row.' }
      return { seen: 'there', mark: digestOf(rows), count: rows.length }
    },
  })
}

/** Texts, quoted names and comments, in which a question mark is none. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\//g

function statementProblems({ sql, parameters }: RowFields): string[] {
  const bare = sql.replace(QUOTED, ' ')
  const gaps = bare.match(/\?/g)?.length ?? 0
  const problems = []
  if (!/^\s*(?:select|with)\b/i.test(bare)) problems.push('sql: must be one SELECT.')
  // This is the kind that may never end, and it outlives this process if that is killed meanwhile.
  if (/\brecursive\b/i.test(bare)) problems.push('sql: must not be recursive.')
  if (bare.includes(';')) problems.push('sql: must be one statement, without ";".')
  if (/\{(?:input|config|operationId)\b/.test(sql))
    problems.push('sql: takes values by "?" and "parameters", never in its text.')
  else if (gaps !== parameters.length)
    problems.push(`parameters: are ${parameters.length}, and sql has ${gaps} question marks.`)
  if (/\?\d|[:@$][A-Za-z]/.test(bare)) problems.push('sql: takes parameters by plain "?" alone.')
  return problems
}

/** The line break ends a comment that would swallow the rest. */
function bounded(sql: string): string {
  return `select * from (${sql}\n) as "found" limit ${MOST_ROWS + 1}`
}

function digestOf(rows: readonly SqlValues[]): string {
  const text = JSON.stringify(rows, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
    return typeof value === 'bigint' ? String(value) : value
  })
  return createHash('sha256').update(text).digest('hex')
}

/** More of an answer is not read. */
const MAX_ANSWER_BYTES = 1024 * 1024

const Status = z.number().int().min(200).max(599)

const HttpFields = z.strictObject({
  url: z.string().min(1).max(8_192),
  /** Literal, and the only ones that are ever asked: a URL whose gaps come from outside cannot lead anywhere else. */
  hosts: z
    .array(
      z
        .string()
        .regex(
          /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/,
          'must be a host, such as "api.example.com" or "localhost:8080"',
        ),
    )
    .min(1),
  method: z.enum(['GET', 'HEAD']).default('GET'),
  status: z.union([Status, z.array(Status).min(1)]).optional(),
  contains: z.string().min(1).optional(),
})
type HttpFields = z.infer<typeof HttpFields>

/** A resource answers as it did not before. */
function httpState(): EffectKind {
  return createTemplatedKind<HttpFields>({
    kind: 'httpState',
    schema: HttpFields,
    templates: {
      url: { write: (value, root) => (root === 'config' ? value : encodeURIComponent(value)) },
      contains: {},
    },
    check: ({ status, contains, method }) => [
      ...(status === undefined && contains === undefined ? ['needs "status" or "contains".'] : []),
      ...(contains !== undefined && method === 'HEAD' ? ['contains: an answer to HEAD has no text.'] : []),
    ],
    checkFilled: ({ url, hosts, contains }) => urlObjection(url, hosts) ?? textObjection({ contains }),
    async look(fields, { signal }) {
      const objection = urlObjection(fields.url, fields.hosts)
      if (objection !== undefined) return { seen: 'unclear', reason: `It cannot be asked: ${objection}` }
      try {
        return await ask(fields, signal)
      } catch (error) {
        return { seen: 'unclear', reason: `It did not answer (${codeOf(error) ?? 'the connection failed'}).` }
      }
    },
  })
}

function urlObjection(text: string, hosts: readonly string[]): string | undefined {
  if (!URL.canParse(text)) return 'its "url" is none.'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'its "url" is not one of http: or https:.'
  if (url.username !== '' || url.password !== '') return 'its "url" has a name or password in it.'
  const named = new Set(hosts.map(host => host.toLowerCase()))
  if (!named.has(url.hostname) && !named.has(`${url.hostname}:${portOf(url)}`)) return 'its host is not one of "hosts".'
  // A value of ".." would be a step up, encoded or not.
  const isClimbing = /[/\\](?:\.|%2e){1,2}(?:$|[/\\])/i.test(text.replace(/[?#].*$/s, ''))
  return isClimbing ? 'its "url" has a step up in it.' : undefined
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

async function ask({ url, method, status, contains }: HttpFields, signal: AbortSignal): Promise<Observation> {
  const response = await fetch(url, {
    method,
    signal,
    // A redirect leads to an address that the effect did not name.
    redirect: 'manual',
    headers: { accept: '*/*', 'user-agent': 'quartermaster', 'cache-control': 'no-cache', connection: 'close' },
  })
  const isWanted = status === undefined ? response.ok : [status].flat().includes(response.status)
  if (!isWanted || contains === undefined) {
    await response.body?.cancel()
    return isWanted ? { seen: 'there' } : otherStatus(response)
  }
  return lookForTextInAnswer(response, contains, signal)
}

/** Only an answer about the resource itself says that it is not so: trouble, a login or a detour says nothing about it. */
function otherStatus({ status, ok }: Response): Observation {
  const seen = ok || status === 404 || status === 410 ? 'absent' : 'unclear'
  return { seen, reason: `It answered with status ${status}.` }
}

async function lookForTextInAnswer(response: Response, contains: string, signal: AbortSignal): Promise<Observation> {
  const counter = countOccurrences(contains)
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of bodyChunks(response, signal)) {
    counter.add(chunk.subarray(0, MAX_ANSWER_BYTES - size))
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) break
  }
  const { count } = counter
  if (count > 0) return { seen: 'there', mark: String(count), count }
  if (size > MAX_ANSWER_BYTES) return { seen: 'unclear', reason: 'The text is not in the first MiB of the answer.' }
  return { seen: 'absent', reason: 'The answer does not have the text.' }
}

const DeletedFields = z.strictObject(filePlace)
type DeletedFields = z.infer<typeof DeletedFields>

/** A file that was there is gone. */
function fileDeleted(walls: Walls): EffectKind {
  return createTemplatedKind<DeletedFields>({
    kind: 'fileDeleted',
    witness: 'absence',
    schema: DeletedFields,
    templates: FILE_TEMPLATES,
    checkFilled: fields => fileObjection(walls, fields),
    async look(place) {
      const located = await walls.locate(place)
      if (located.at === 'unclear') return observationOf(located)
      return { seen: located.at }
    },
  })
}

const WrittenFields = z.strictObject({
  ...filePlace,
  contains: z.string().min(1).optional(),
  sha256: z.string().optional(),
})
type WrittenFields = z.infer<typeof WrittenFields>

const SHA256 = /^[0-9a-f]{64}$/i

/** A file was written: it has a text, has a hash, or is another one than before. */
function fileWritten(walls: Walls, read: ReadFile): EffectKind {
  return createTemplatedKind<WrittenFields>({
    kind: 'fileWritten',
    schema: WrittenFields,
    templates: { ...FILE_TEMPLATES, contains: {}, sha256: {} },
    check: ({ contains, sha256 }) =>
      contains !== undefined && sha256 !== undefined ? ['"contains" and "sha256" are two witnesses; give one.'] : [],
    checkFilled({ sha256, ...texts }) {
      if (sha256 !== undefined && !SHA256.test(sha256)) return 'its "sha256" is no SHA-256 in hexadecimal.'
      return fileObjection(walls, texts)
    },
    look: ({ contains, sha256, ...place }, { signal }) =>
      read(place, signal, file => (contains === undefined ? lookAtHash(file, sha256) : lookForText(file, contains))),
  })
}

/** A text that was there before proves nothing, so its occurrences are counted. */
async function lookForText(file: OpenFile, contains: string): Promise<Observation> {
  const counter = countOccurrences(contains)
  for await (const chunk of file.chunks(MOST_BYTES)) counter.add(chunk)
  const { count } = counter
  if (count === 0) return { seen: 'absent', reason: 'The file does not have the text.' }
  return { seen: 'there', mark: String(count), count }
}

async function lookAtHash(file: OpenFile, wanted: string | undefined): Promise<Observation> {
  const hash = createHash('sha256')
  for await (const chunk of file.chunks()) hash.update(chunk)
  const mark = hash.digest('hex')
  if (wanted !== undefined && mark !== wanted.toLowerCase())
    return { seen: 'absent', reason: 'The file has another SHA-256.' }
  return { seen: 'there', mark }
}

const LineFields = z.strictObject({ ...filePlace, line: z.string().min(1) })
type LineFields = z.infer<typeof LineFields>

/** A file has one more of a line than before. */
function lineAppended(walls: Walls, read: ReadFile): EffectKind {
  return createTemplatedKind<LineFields>({
    kind: 'lineAppended',
    schema: LineFields,
    templates: { ...FILE_TEMPLATES, line: {} },
    checkFilled: fields =>
      /[\r\n]/.test(fields.line) ? 'its "line" is more than one line.' : fileObjection(walls, fields),
    look: ({ line, ...place }, { signal }) =>
      read(place, signal, async file => {
        const counter = countLines(line)
        for await (const chunk of file.chunks(MOST_BYTES)) counter.add(chunk)
        const count = counter.end()
        if (count === 0) return { seen: 'absent', reason: 'The file does not have the line.' }
        return { seen: 'there', mark: String(count), count }
      }),
  })
}
