import {
  AppError,
  type Caller,
  type KeptResult,
  type ResultPage,
  type Settings,
  type ToolResult,
} from '../../../contracts/index.ts'
import type { Clock } from '../../kernel/index.ts'

/** Cuts results that are too large to hand over, and keeps the whole for paging, bounded in size and time. */
export interface KeptResults {
  /** The result as it may be handed over. */
  limit(
    result: ToolResult,
    options: { maxBytes: number; caller: Caller; operationId: string },
  ): { result: ToolResult; kept?: KeptResult }
  /** A page of a kept result. Only whoever made the call can read it. Throws `RESULT_NOT_FOUND`. */
  page(caller: Caller, resultId: string, offset: number): ResultPage
}

interface Kept {
  readonly owner: string
  readonly bytes: Uint8Array
  readonly totalBytes: number
  readonly pageBytes: number
  readonly until: number
}

export interface KeptResultsDeps {
  readonly clock: Clock
  readonly settings: Pick<Settings, 'keptResultBytes' | 'keptResultsBytes' | 'keptResultMinutes'>
}

export function createKeptResults({ clock, settings }: KeptResultsDeps): KeptResults {
  const kept = new Map<string, Kept>()
  let keptBytes = 0

  function drop(id: string): void {
    keptBytes -= kept.get(id)?.bytes.length ?? 0
    kept.delete(id)
  }

  function makeRoom(bytes: number): void {
    for (const [id, entry] of kept) {
      const isOld = entry.until <= clock.now()
      if (!isOld && keptBytes + bytes <= settings.keptResultsBytes) return
      drop(id)
    }
  }

  function keep(id: string, text: string, owner: string, pageBytes: number): Kept {
    const whole = encoder.encode(text)
    const end = cutAt(whole, Math.min(settings.keptResultBytes, settings.keptResultsBytes))
    const entry = {
      owner,
      bytes: whole.slice(0, end),
      totalBytes: whole.length,
      pageBytes,
      until: clock.now() + settings.keptResultMinutes * 60_000,
    }
    makeRoom(end)
    kept.set(id, entry)
    keptBytes += end
    clock.after(entry.until - clock.now(), () => makeRoom(0))
    return entry
  }

  return {
    limit(result, { maxBytes, caller, operationId }) {
      const text = tooLong(result, maxBytes)
      if (text === undefined) return { result }
      const entry = keep(operationId, text, ownerOf(caller), maxBytes)
      const first = pageOf(entry, 0)
      const info: KeptResult = {
        resultId: operationId,
        totalBytes: entry.totalBytes,
        keptBytes: entry.bytes.length,
        nextOffset: first.nextOffset ?? entry.bytes.length,
      }
      return { result: cutResult(result, first.text, info), kept: info }
    },
    page(caller, resultId, offset) {
      makeRoom(0)
      const entry = kept.get(resultId)
      if (!entry || entry.owner !== ownerOf(caller)) {
        throw new AppError(
          'RESULT_NOT_FOUND',
          `No result "${resultId}" is kept. Results can be read for ${settings.keptResultMinutes} minutes; call the tool again.`,
        )
      }
      if (offset > entry.bytes.length)
        throw new AppError('INPUT_INVALID', `The result ends at ${entry.bytes.length}; offset ${offset} is behind it.`)
      return pageOf(entry, offset)
    },
  }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** The text of a result that exceeds the limit. Most are short, and need not be written as JSON to know. */
function tooLong(result: ToolResult, maxBytes: number): string | undefined {
  const [only] = result.content
  const isPlain = Object.keys(result).length === 1 && result.content.length === 1
  if (isPlain && only && isBareText(only)) return isLonger(only.text, maxBytes) ? only.text : undefined
  if (mostBytes(result, maxBytes) <= maxBytes) return undefined
  const json = JSON.stringify(result)
  return isLonger(json, maxBytes) ? pagedText(result, json) : undefined
}

/** A character takes three bytes at most, so most texts need not be counted. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && encoder.encode(text).length > maxBytes
}

/** As many bytes as a value can take as JSON at most; counting ends soon after the limit. */
function mostBytes(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length * MOST_PER_CHARACTER + 2
  if (typeof value !== 'object' || value === null) return MOST_PER_LEAF
  if ('toJSON' in value) return Number.POSITIVE_INFINITY
  let bytes = 2
  for (const [key, one] of Object.entries(value)) {
    bytes += key.length * MOST_PER_CHARACTER + 4 + mostBytes(one, limit - bytes)
    if (bytes > limit) break
  }
  return bytes
}

/** `\u001f`: what JSON writes for a character that cannot stand there as it is. */
const MOST_PER_CHARACTER = 6
/** A number, `false`, `null`. */
const MOST_PER_LEAF = 25

/** What is paged: the text when that is all there is to know, else everything as JSON. */
function pagedText(result: ToolResult, json: string): string {
  const { structuredContent, isError: _isError, content, ...more } = result
  const texts = content.flatMap(block => (isBareText(block) ? [block.text] : []))
  const text = texts.join('\n')
  const isAll = texts.length > 0 && texts.length === content.length && Object.keys(more).length === 0
  const isSame = structuredContent === undefined || text === JSON.stringify(structuredContent)
  return isAll && isSame ? text : json
}

function isBareText(block: ToolResult['content'][number]): block is ToolResult['content'][number] & { type: 'text' } {
  return block.type === 'text' && typeof block.text === 'string' && Object.keys(block).length === 2
}

function cutResult(result: ToolResult, text: string, { resultId, totalBytes, nextOffset }: KeptResult): ToolResult {
  const note = `[Cut at ${nextOffset} of ${totalBytes} bytes. The rest is kept as result "${resultId}" from offset ${nextOffset}.]`
  return {
    ...(result.isError ? { isError: true } : {}),
    content: [
      { type: 'text', text },
      { type: 'text', text: note },
    ],
  }
}

function pageOf(entry: Kept, offset: number): ResultPage {
  const start = alignedStart(entry.bytes, offset)
  const end = cutAt(entry.bytes, start + entry.pageBytes)
  const page: ResultPage = {
    text: decoder.decode(entry.bytes.subarray(start, end)),
    offset: start,
    totalBytes: entry.totalBytes,
  }
  return end < entry.bytes.length ? { ...page, nextOffset: end } : page
}

/** The last place at or before `limit` that does not split a character. */
function cutAt(bytes: Uint8Array, limit: number): number {
  if (limit >= bytes.length) return bytes.length
  let end = limit
  while (end > 0 && isContinuation(bytes[end])) end--
  return end
}

function alignedStart(bytes: Uint8Array, offset: number): number {
  let start = offset
  while (start < bytes.length && isContinuation(bytes[start])) start++
  return start
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function ownerOf({ kind, name }: Caller): string {
  return `${kind}:${name}`
}
