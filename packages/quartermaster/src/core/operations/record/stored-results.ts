import {
  type Caller,
  type EffectFacts,
  EffectFinding,
  type EffectOutline,
  isAppError,
  KeptEffect,
  type OperationRow,
  type ResultPage,
  type Settings,
  SUCCEEDED_META,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type BinaryContent, binaryIn, type Clock, withoutBinary } from '../../kernel/index.ts'
import {
  insert,
  pagesOf,
  remove,
  type SealContext,
  type Sealer,
  type Store,
  update,
  type Write,
} from '../../store/index.ts'
import { type OperationRecord } from './operation-log.ts'
import { callerColumns } from './operation-storage.ts'

/**
 * Stores the pages of a result that was too large for one answer, and the size of all of it. Binary content is in `result`, the
 * operation's own column; it is counted here, in a page without text.
 */
export function resultWrites(
  { id, caller }: Pick<OperationRecord, 'id' | 'caller'>,
  { pages, result }: { readonly pages: readonly ResultPage[]; readonly result?: ToolResult | undefined },
  now: number,
): readonly Write[] {
  const all = { ...callerColumns(caller), operationId: id, createdAt: now }
  const binaryBytes = result ? bytesWithBinary(result) : 0
  const kept = pages.length > 0 || binaryBytes === 0 ? pages : [NO_PAGE]
  return kept.map(page => {
    const wholeBytes = page.offset === 0 ? bytesOf(pages) + binaryBytes : null
    return insert('results', { id: `${id}.${page.offset}`, ...all, offset: page.offset, page, wholeBytes })
  })
}

const NO_PAGE: ResultPage = { text: '', offset: 0, totalBytes: 0 }

const encoder = new TextEncoder()

function bytesOf(pages: readonly ResultPage[]): number {
  const last = pages.at(-1)
  return last ? last.offset + encoder.encode(last.text).length : 0
}

/** Drops the pages of these operations to free space. A row remains that says that there were some. */
export function droppedResults(operationIds: readonly string[]): readonly Write[] {
  const operationId = { in: operationIds }
  return [
    remove('results', { where: { operationId, offset: { above: 0 } }, rows: 'any' }),
    update('results', { where: { operationId }, set: { page: NO_PAGE, wholeBytes: null }, rows: 'any' }),
  ]
}

/** Drops the binary content of an operation to free space. The text beside it stays, with a note. */
async function droppedBinary(store: Store, id: string): Promise<readonly Write[]> {
  const [row] = await store.find('operations', { where: { id }, columns: ['result'], limit: 1 })
  const result = row?.result && withoutBinaryParts(row.result)
  // An operation with a result has ended, so no other process writes its result.
  return result && result !== row.result ? [update('operations', { where: { id }, set: { result }, rows: 'any' })] : []
}

/** The stored page that contains this offset, or the last one where the offset is behind them all. Only the caller's own. */
export async function storedPage(
  store: Store,
  caller: Caller,
  { resultId, offset }: { readonly resultId: string; readonly offset: number },
): Promise<ResultPage | 'dropped' | undefined> {
  const [row] = await store.find('results', {
    where: { ...callerColumns(caller), operationId: resultId, offset: { atMost: offset } },
    order: { by: ['offset'], direction: 'descending' },
    columns: ['offset', 'page', 'wholeBytes'],
    limit: 1,
  })
  if (row?.offset === 0 && row.wholeBytes === null) return 'dropped'
  return row?.page.totalBytes === 0 ? undefined : row?.page
}

const BATCH = 500
/** A result can have many megabytes, and the next commit waits. */
const DROPPED_AT_ONCE = 10

/** One row for each result, without its text. */
const SIZES = {
  where: { wholeBytes: { not: null } },
  order: { by: ['createdAt', 'id'], direction: 'descending' },
  columns: ['id', 'operationId', 'createdAt', 'wholeBytes'],
} as const

/** Keeps all stored results within `storedResultsBytes`, unless it is stopped before. */
export function createResultBudget(deps: {
  readonly store: Store
  readonly clock: Pick<Clock, 'breathe'>
  readonly settings: Pick<Settings, 'storedResultsBytes'>
}): (isStopped: () => boolean) => Promise<void> {
  const { store, clock, settings } = deps
  let newest: string | undefined

  /** From the newest on: once the limit is reached, all older results exceed it. */
  async function findExcess(): Promise<string[]> {
    const old: string[] = []
    let total = 0
    for await (const rows of pagesOf(store, 'results', { ...SIZES, limit: BATCH })) {
      for (const { operationId, wholeBytes } of rows) {
        total += wholeBytes ?? 0
        if (total > settings.storedResultsBytes) old.push(operationId)
      }
      await clock.breathe()
    }
    return old
  }

  /** One by one: each may have many megabytes, which are read to be dropped. */
  async function dropBinary(id: string): Promise<void> {
    const writes = await droppedBinary(store, id)
    if (writes.length === 0) return
    await store.commit(writes)
    await clock.breathe()
  }

  return async isStopped => {
    const [first] = await store.find('results', { ...SIZES, limit: 1 })
    // Nothing was added since the last time.
    if (!first || first.id === newest) return
    const old = await findExcess()
    // The oldest first, so that a stop in between leaves the newer ones.
    for (const batch of batchesOf(old.toReversed())) {
      for (const id of batch) {
        if (isStopped()) return
        await dropBinary(id)
      }
      await store.commit(droppedResults(batch))
      await clock.breathe()
    }
    newest = first.id
  }
}

function batchesOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / DROPPED_AT_ONCE)
  return Array.from({ length: count }, (_, i) => ids.slice(i * DROPPED_AT_ONCE, (i + 1) * DROPPED_AT_ONCE))
}

type Block = ToolResult['content'][number]

/** A result with images, audio or files. These are returned whole or left out, and are never part of the text pages. */
export interface BinaryParts {
  /** The result to return, with notes in place of content that is too large. The same object where none is. */
  readonly result: ToolResult
  /** The text and structure of it. */
  readonly words: ToolResult
  /** The binary blocks, returned beside text that is cut. */
  readonly blocks: readonly Block[]
}

interface BinaryOptions {
  readonly maxBytes: number
  /** Whether the tool has an output schema, which clients check the structure against. */
  readonly isPromised: boolean
}

/** Splits a result into text and binary content; nothing where all of it is text. */
export function binaryParts(result: ToolResult, options: BinaryOptions): BinaryParts | undefined {
  const { maxBytes } = options
  const pieces = piecesOf(result, { maxBytes, say: binary => tooLarge(binary, maxBytes) })
  if (pieces.every(({ binary }) => !binary)) return undefined
  const { content } = result
  const handed = pieces.map(({ block }) => block)
  const words = handed.filter((_, at) => !pieces[at]?.binary)
  return {
    result: handed.some((block, at) => block !== content[at]) ? withLess(result, pieces, options) : result,
    words: withParts(
      result,
      words,
      repeated(pieces, ({ binary }) => binary && named(binary)),
    ),
    blocks: handed.filter((_, at) => pieces[at]?.binary),
  }
}

/** The stored size of a result with binary content; 0 for any other. */
function bytesWithBinary(result: ToolResult): number {
  return result.content.some(binaryIn) ? encoder.encode(JSON.stringify(result)).length : 0
}

/** The result without its binary content; the same object where it has none. */
function withoutBinaryParts(result: ToolResult): ToolResult {
  const pieces = piecesOf(result, { maxBytes: 0, say: dropped })
  // Whether the tool has an output schema is unknown here, so it is assumed.
  return pieces.some(({ words }) => words !== undefined) ? withLess(result, pieces, { isPromised: true }) : result
}

/** A block to return: unchanged, or a note (`words`) in its place. */
interface Piece {
  readonly block: Block
  readonly binary: BinaryContent | undefined
  readonly words: string | undefined
}

function piecesOf(
  { content }: ToolResult,
  { maxBytes, say }: { maxBytes: number; say: (binary: BinaryContent) => string },
): Piece[] {
  let left = maxBytes
  return content.map(block => {
    const binary = binaryIn(block)
    if (!binary) return { block, binary, words: undefined }
    const bytes = binary.data.length + JSON.stringify(withoutBinary(block)).length
    if (bytes <= left) {
      left -= bytes
      return { block, binary, words: undefined }
    }
    const words = say(binary)
    return { block: { type: 'text', text: words }, binary, words }
  })
}

/** Notes for base64 that may be repeated in the structure. */
function repeated(pieces: readonly Piece[], say: (piece: Piece) => string | undefined): ReadonlyMap<string, string> {
  const said = pieces.flatMap((piece): [string, string][] => {
    const words = say(piece)
    const isLong = piece.binary !== undefined && piece.binary.data.length >= LEAST_REPEATED
    return isLong && words !== undefined ? [[piece.binary.data, words]] : []
  })
  return new Map(said)
}

/** A shorter text may equal a value of the structure by chance. */
const LEAST_REPEATED = 256

function withParts(result: ToolResult, content: Block[], texts: ReadonlyMap<string, string>): ToolResult {
  const { structuredContent } = result
  if (structuredContent === undefined) return { ...result, content }
  return { ...result, content, structuredContent: replaceBase64(structuredContent, texts) }
}

/** A structure with notes in it may no longer match the output schema: it becomes text then, and the result is marked. */
function withLess(
  whole: ToolResult,
  pieces: readonly Piece[],
  { isPromised }: Pick<BinaryOptions, 'isPromised'>,
): ToolResult {
  const handed = pieces.map(({ block }) => block)
  const less = withParts(
    whole,
    handed,
    repeated(pieces, ({ words }) => words),
  )
  if (!isPromised || whole.isError) return less
  const { structuredContent, ...rest } = less
  if (structuredContent === whole.structuredContent) return less
  const content: Block[] = [...less.content, { type: 'text', text: JSON.stringify(structuredContent) }]
  return { ...rest, content, _meta: { ...less._meta, [SUCCEEDED_META]: true } }
}

/** The structure with notes in place of base64 that is in the content as well; the same value where it has none. */
function replaceBase64(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (texts.size === 0) return value
  if (typeof value === 'string') return texts.get(base64In(value)) ?? value
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  if (Array.isArray(value)) {
    const items = value.map(item => replaceBase64(item, texts))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const entries = Object.entries(value).map(([key, item]) => [key, replaceBase64(item, texts), item] as const)
  return entries.every(([, replaced, item]) => replaced === item) ? value : Object.fromEntries(entries)
}

/** The data of a data URL. */
function base64In(text: string): string {
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
}

function named({ data, mimeType }: BinaryContent): string {
  return `[${mimeType} of ${data.length} bytes, as base64]`
}

function tooLarge({ data, mimeType }: BinaryContent, maxBytes: number): string {
  const what = `${mimeType} of ${data.length} bytes, as base64, is left out`
  const next = 'Ask for a smaller one; the operator of this server can raise "maxBinaryBytes".'
  return `[${what}: a result may have ${maxBytes} bytes of such content in all. ${next}]`
}

function dropped({ data, mimeType }: BinaryContent): string {
  return `[${mimeType} of ${data.length} bytes, as base64, was dropped to make room for newer results. The owner can keep more with the setting \`storedResultsBytes\`.]`
}

/** Effects as read from a record: parse each before use. */
export type OpenedEffects = readonly Readonly<Record<string, unknown>>[]

type EffectColumns = Pick<OperationRow, 'effects' | 'sealedEffects'>

/** The effect columns of an operation. How an effect is identified may be as private as the arguments. */
export function sealEffects(id: string, effects: readonly KeptEffect[], sealer: Sealer): EffectColumns {
  return {
    effects: effects.map(outlineOf),
    sealedEffects: sealer.seal(JSON.stringify(effects), effectsOf(id)),
  }
}

/** The effects, ready to be verified; none once they are erased. Throws when they cannot be opened. */
export function openEffects(
  { id, sealedEffects }: Pick<OperationRow, 'id' | 'sealedEffects'>,
  sealer: Sealer,
): OpenedEffects {
  if (sealedEffects === null) return []
  // Older stores did not seal them. A sealed text never begins with a bracket.
  return JSON.parse(sealedEffects.startsWith('[') ? sealedEffects : sealer.open(sealedEffects, effectsOf(id)))
}

/** The effects as they are shown; nothing where there are none. */
export function effectFactsOf(row: OperationRow, sealer: Sealer): EffectFacts[] | undefined {
  const kept = openedIfPossible(row, sealer)
  const outlines = row.effects.length > 0 ? row.effects : kept.map(outlineOf)
  if (outlines.length === 0) return undefined
  const findings = findingsOf(row)
  return outlines.map(outline => ({ ...outline, ...fieldsOf(outline, kept), ...findings(outline.name) }))
}

/** Effects sealed with a lost key are no reason not to show the rest. */
function openedIfPossible(row: OperationRow, sealer: Sealer): readonly KeptEffect[] {
  try {
    return openEffects(row, sealer).flatMap(one => KeptEffect.safeParse(one).data ?? [])
  } catch (error) {
    if (isAppError(error)) return []
    throw error
  }
}

function outlineOf({ name, kind, baseline }: KeptEffect): EffectOutline {
  return { name, kind, before: baseline.seen }
}

function fieldsOf({ name }: EffectOutline, kept: readonly KeptEffect[]): Pick<EffectFacts, 'fields'> {
  const effect = kept.find(one => one.name === name)
  return effect ? { fields: maskValues(effect.fields) } : {}
}

/** The findings on record: a call only succeeds when all effects are verified; otherwise its error has them. */
function findingsOf({ state, error }: OperationRow): (name: string) => Pick<EffectFacts, 'state' | 'reason'> {
  if (state === 'succeeded') return () => ({ state: 'verified' })
  const { data: found = [] } = EffectFinding.array().safeParse(error?.details?.effects)
  return name => {
    const finding = found.find(one => one.name === name)
    return finding ? { state: finding.state, reason: finding.reason } : {}
  }
}

const MASK = '•••'

/** The names in an object without their values. Deeper names could be data themselves, so they are not shown. */
export function maskValues(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.keys(value).map(name => [name, MASK]))
}

function effectsOf(id: string): SealContext {
  return { table: 'operations', id, column: 'sealedEffects' }
}
