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
import { insert, remove, type SealContext, type Sealer, type Store, update, type Write } from '../../store/index.ts'
import { type OperationRecord } from './operation-log.ts'
import { callerColumns, maskValues } from './operation-storage.ts'

/** What is large of a result. */
interface LargeResult {
  /** Pages of a result that was too large to be handed over at once. */
  readonly pages: readonly ResultPage[]
  /** As it stands in the operation's own row, where it is kept there. */
  readonly result?: ToolResult | undefined
}

/**
 * Puts the pages of a result on record, and how much room all of it takes. Pictures are in the operation's own row and have no
 * pages; they are counted here, in a page without text.
 */
export function resultWrites(
  { id, caller }: Pick<OperationRecord, 'id' | 'caller'>,
  { pages, result }: LargeResult,
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

/** Drops the pages of these operations for room. What stays is the word that there were some. */
export function droppedResults(operationIds: readonly string[]): readonly Write[] {
  const operationId = { in: operationIds }
  return [
    remove('results', { where: { operationId, offset: { above: 0 } }, rows: 'any' }),
    update('results', { where: { operationId }, set: { page: NO_PAGE, wholeBytes: null }, rows: 'any' }),
  ]
}

/** Drops the pictures of an operation for room, which stand in its own row. The words beside them stay, and say so. */
async function droppedPictures(store: Store, id: string): Promise<readonly Write[]> {
  const [row] = await store.find('operations', { where: { id }, columns: ['result'], limit: 1 })
  const result = row?.result && withoutBinaryParts(row.result)
  // An operation with a result runs no more, so no other process writes one.
  return result && result !== row.result ? [update('operations', { where: { id }, set: { result }, rows: 'any' })] : []
}

/** The page on record that this place is in, or the last one where the place is behind them all. Only of the caller's own. */
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

/** Keeps all results on record within their bound, unless it has to stop before. */
type ResultBudget = (isStopped: () => boolean) => Promise<void>

interface ResultBudgetDeps {
  readonly store: Store
  readonly clock: Pick<Clock, 'breathe'>
  readonly settings: Pick<Settings, 'storedResultsBytes'>
}

const BATCH = 500
/** One of them can have many megabytes, and a commit behind them waits. */
const DROPPED_AT_ONCE = 10

/** One row for each result, and none of its text. */
const COLUMNS = ['id', 'operationId', 'createdAt', 'wholeBytes'] as const
const ORDER = { by: ['createdAt', 'id'], direction: 'descending' } as const

export function createResultBudget({ store, clock, settings }: ResultBudgetDeps): ResultBudget {
  let newest: string | undefined

  const find = (options: { readonly after?: Place; readonly limit: number }) =>
    store.find('results', { where: { wholeBytes: { not: null } }, order: ORDER, columns: COLUMNS, ...options })

  /** From the newest on: once the bound is reached, whatever is older does not fit. */
  async function whatDoesNotFit(): Promise<string[]> {
    const old: string[] = []
    let total = 0
    for (let after: Place | undefined; ; await clock.breathe()) {
      const rows = await find({ limit: BATCH, ...(after && { after }) })
      for (const { operationId, wholeBytes } of rows) {
        total += wholeBytes ?? 0
        if (total > settings.storedResultsBytes) old.push(operationId)
      }
      const last = rows.at(-1)
      if (!last || rows.length < BATCH) return old
      after = [last.createdAt, last.id]
    }
  }

  /** One by one: each may have many megabytes, which are read to be dropped. */
  async function dropPictures(id: string): Promise<void> {
    const writes = await droppedPictures(store, id)
    if (writes.length === 0) return
    await store.commit(writes)
    await clock.breathe()
  }

  return async isStopped => {
    const [first] = await find({ limit: 1 })
    // Nothing came since the last look, and what has gone needs no room.
    if (!first || first.id === newest) return
    const old = await whatDoesNotFit()
    // The oldest first, so that a stop in between leaves the newer ones.
    for (const batch of batchesOf(old.toReversed())) {
      for (const id of batch) {
        if (isStopped()) return
        await dropPictures(id)
      }
      await store.commit(droppedResults(batch))
      await clock.breathe()
    }
    newest = first.id
  }
}

type Place = readonly (string | number)[]

function batchesOf(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / DROPPED_AT_ONCE)
  return Array.from({ length: count }, (_, i) => ids.slice(i * DROPPED_AT_ONCE, (i + 1) * DROPPED_AT_ONCE))
}

type Block = ToolResult['content'][number]

/**
 * A result that has pictures, sounds or files in it. Half a picture is none, and base64 is unreadable: they are handed over
 * whole or not at all, and are not part of the pages of what is too long.
 */
export interface BinaryParts {
  /** The result as it may be handed over, with words in place of what is too large. The same where nothing is. */
  readonly result: ToolResult
  /** All of it that is text and structure. */
  readonly words: ToolResult
  /** What stands beside the words where those are cut. */
  readonly blocks: readonly Block[]
}

interface BinaryOptions {
  readonly maxBytes: number
  /** Whether clients hold the structure against what its tool promises. */
  readonly isPromised: boolean
}

/** Takes a result apart, unless all of it is text. */
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

/** As many bytes as a result takes on record that has pictures, sounds or files in it; nothing for any other. */
function bytesWithBinary(result: ToolResult): number {
  return result.content.some(binaryIn) ? encoder.encode(JSON.stringify(result)).length : 0
}

/** A result whose pictures, sounds and files were dropped from the record; the same where it has none. */
function withoutBinaryParts(result: ToolResult): ToolResult {
  const pieces = piecesOf(result, { maxBytes: 0, say: dropped })
  // Whether a structure was promised is unknown here; a caller that has the tool says so.
  return pieces.some(({ words }) => words !== undefined) ? withLess(result, pieces, { isPromised: true }) : result
}

/** A block as it is handed over: as it is, or words in its place. */
interface Piece {
  readonly block: Block
  readonly binary: BinaryContent | undefined
  readonly words: string | undefined
}

interface Leaving {
  readonly maxBytes: number
  /** What is said in place of what does not fit. */
  say(binary: BinaryContent): string
}

function piecesOf({ content }: ToolResult, { maxBytes, say }: Leaving): Piece[] {
  let room = maxBytes
  return content.map(block => {
    const binary = binaryIn(block)
    if (!binary) return { block, binary, words: undefined }
    const bytes = binary.data.length + JSON.stringify(withoutBinary(block)).length
    if (bytes > room) return leftOut(binary, say(binary))
    room -= bytes
    return { block, binary, words: undefined }
  })
}

function leftOut(binary: BinaryContent, words: string): Piece {
  return { block: { type: 'text', text: words }, binary, words }
}

/** What is said for base64 that may stand in the structure as well. */
function repeated(pieces: readonly Piece[], say: (piece: Piece) => string | undefined): ReadonlyMap<string, string> {
  const said = pieces.flatMap((piece): [string, string][] => {
    const words = say(piece)
    const isLong = piece.binary !== undefined && piece.binary.data.length >= LEAST_REPEATED
    return isLong && words !== undefined ? [[piece.binary.data, words]] : []
  })
  return new Map(said)
}

/** A shorter text may equal the structure by chance, and belongs to the text. */
const LEAST_REPEATED = 256

function withParts(result: ToolResult, content: Block[], texts: ReadonlyMap<string, string>): ToolResult {
  const { structuredContent } = result
  if (structuredContent === undefined) return { ...result, content }
  return { ...result, content, structuredContent: retold(structuredContent, texts) }
}

/** A structure with words in it need not be what was promised any more: it is told as text then, and the result says so. */
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

/** A structure with words in place of base64 that stands in the content as well; the same where it has none. */
function retold(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (texts.size === 0) return value
  if (typeof value === 'string') return texts.get(base64In(value)) ?? value
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  if (Array.isArray(value)) {
    const items = value.map(item => retold(item, texts))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  const entries = Object.entries(value).map(([key, item]) => [key, retold(item, texts), item] as const)
  return entries.every(([, told, item]) => told === item) ? value : Object.fromEntries(entries)
}

/** Of an address that holds what it leads to, that. */
function base64In(text: string): string {
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
}

function named({ data, mimeType }: BinaryContent): string {
  return `[${mimeType} of ${data.length} bytes, as base64]`
}

function tooLarge({ data, mimeType }: BinaryContent, maxBytes: number): string {
  const what = `${mimeType} of ${data.length} bytes, as base64, is left out`
  const next = 'Ask for a smaller one; the operator of this server can raise "maxBinaryBytes".'
  return `[${what}: all that a result has of the kind may have ${maxBytes} bytes. ${next}]`
}

function dropped({ data, mimeType }: BinaryContent): string {
  return `[${mimeType} of ${data.length} bytes, as base64, was dropped to make room for newer results. The owner can keep more with the setting \`storedResultsBytes\`.]`
}

/** Effects as they come out of a record: check each before use. */
export type OpenedEffects = readonly Readonly<Record<string, unknown>>[]

type EffectColumns = Pick<OperationRow, 'effects' | 'sealedEffects'>

/** What the row of an operation keeps of its effects: what they are known by may be as private as its arguments. */
export function sealEffects(id: string, effects: readonly KeptEffect[], sealer: Sealer): EffectColumns {
  return {
    effects: effects.map(outlineOf),
    sealedEffects: sealer.seal(JSON.stringify(effects), effectsOf(id)),
  }
}

/** The effects with all that it takes to look for them; none when that is forgotten. Throws when they cannot be opened. */
export function openEffects(
  { id, sealedEffects }: Pick<OperationRow, 'id' | 'sealedEffects'>,
  sealer: Sealer,
): OpenedEffects {
  if (sealedEffects === null) return []
  // Older stores kept them as they are. A sealed text never begins like a list.
  return JSON.parse(sealedEffects.startsWith('[') ? sealedEffects : sealer.open(sealedEffects, effectsOf(id)))
}

/** The effects as an operation is shown with; nothing where there are none. */
export function effectFactsOf(row: OperationRow, sealer: Sealer): EffectFacts[] | undefined {
  const kept = openedIfPossible(row, sealer)
  const outlines = row.effects.length > 0 ? row.effects : kept.map(outlineOf)
  if (outlines.length === 0) return undefined
  const findings = findingsOf(row)
  return outlines.map(outline => ({ ...outline, ...thingOf(outline, kept), ...findings(outline.name) }))
}

/** What is sealed with a key that is gone is no reason not to show the rest. */
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

function thingOf({ name }: EffectOutline, kept: readonly KeptEffect[]): Pick<EffectFacts, 'fields'> {
  const effect = kept.find(one => one.name === name)
  return effect ? { fields: maskValues(effect.fields) } : {}
}

/** What the record says about whether each is there: a call only succeeds when all are, and one in doubt tells what it saw. */
function findingsOf({ state, error }: OperationRow): (name: string) => Pick<EffectFacts, 'state' | 'reason'> {
  if (state === 'succeeded') return () => ({ state: 'verified' })
  const { data: found = [] } = EffectFinding.array().safeParse(error?.details?.effects)
  return name => {
    const finding = found.find(one => one.name === name)
    return finding ? { state: finding.state, reason: finding.reason } : {}
  }
}

function effectsOf(id: string): SealContext {
  return { table: 'operations', id, column: 'sealedEffects' }
}
