import {
  AppError,
  type Caller,
  type KeptResult,
  type ResultPage,
  type Settings,
  SUCCEEDED_META,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type Clock, callerKey, inTurns, jsonTextInSteps, mostJsonBytes, type Steps } from '../../kernel/index.ts'
import type { StorageAccess } from '../record/operation-storage.ts'
import { type BinaryParts, binaryParts, storedPage } from '../record/stored-results.ts'
import { pageAt, restOfPage, type WholeResult, wholeOf } from './call-state.ts'

/**
 * Cuts results that are too large to hand over, and keeps the whole for paging: in memory, bounded in size and time. Of
 * operations it is on record too, written with their end.
 */
export interface KeptResults {
  /** The result as it may be handed over. At once, unless it is long; then others have their turn meanwhile. */
  limit(result: ToolResult, options: LimitOptions): LimitedResult | Promise<LimitedResult>
  /** A page of a kept result. Only the caller of that call can read it. Throws `RESULT_NOT_FOUND`. */
  page(caller: Caller, resultId: string, offset: number): Promise<ResultPage>
}

/** Where it is not all of it, also the whole. */
interface LimitedResult {
  readonly result: ToolResult
  readonly kept?: KeptResult
  readonly whole?: WholeResult
}

interface LimitOptions {
  /** Of text and structure. */
  readonly maxBytes: number
  /** Of pictures, sounds and files, as base64; that of the settings where there is none. */
  readonly maxBinaryBytes: number | undefined
  /** Whether the tool promises a structure. */
  readonly isPromised: boolean
  readonly caller: Caller
  readonly operationId: string
  readonly isRecorded: boolean
}

interface Kept {
  readonly owner: string
  readonly whole: WholeResult
  readonly until: number
}

interface KeptResultsDeps {
  readonly clock: Clock
  readonly storage: StorageAccess
  readonly settings: Pick<Settings, 'maxBinaryBytes' | 'keptResultBytes' | 'keptResultsBytes' | 'keptResultMinutes'>
}

export function createKeptResults({ clock, storage, settings }: KeptResultsDeps): KeptResults {
  const kept = new Map<string, Kept>()
  let keptBytes = 0

  function drop(id: string): void {
    keptBytes -= kept.get(id)?.whole.bytes.length ?? 0
    kept.delete(id)
  }

  function makeRoom(bytes: number): void {
    for (const [id, entry] of kept) {
      const isOld = entry.until <= clock.now()
      if (!isOld && keptBytes + bytes <= settings.keptResultsBytes) return
      drop(id)
    }
  }

  function keep(id: string, whole: WholeResult, owner: string): void {
    const until = clock.now() + settings.keptResultMinutes * 60_000
    makeRoom(whole.bytes.length)
    kept.set(id, { owner, whole, until })
    keptBytes += whole.bytes.length
    clock.after(until - clock.now(), () => makeRoom(0))
  }

  /** Of an operation whose result was written down, by this process or one before it. */
  async function onRecord(caller: Caller, resultId: string, offset: number): Promise<ResultPage> {
    const { store } = await storage.open()
    const page = await storedPage(store, caller, { resultId, offset })
    if (page === 'dropped') throw droppedForRoom(resultId)
    if (page) return restOfPage(page, offset)
    const long = `${settings.keptResultMinutes} minutes, that of an operation for as long as it is on record`
    throw new AppError('RESULT_NOT_FOUND', `No result "${resultId}" is kept. That of a call can be read for ${long}.`)
  }

  return {
    limit(result, options) {
      const {
        maxBytes,
        maxBinaryBytes = settings.maxBinaryBytes,
        isPromised,
        caller,
        operationId,
        isRecorded,
      } = options
      if (isShort(result, maxBytes)) return { result }
      // What would pass as text passes as a picture too.
      const parts = binaryParts(result, { maxBytes: Math.max(maxBinaryBytes, maxBytes), isPromised })
      const finish = (text: string | undefined): LimitedResult => {
        if (text === undefined) return { result: parts?.result ?? result }
        const most = Math.min(settings.keptResultBytes, settings.keptResultsBytes)
        const whole = wholeOf(text, { most, pageBytes: maxBytes })
        keep(operationId, whole, callerKey(caller))
        const first = pageAt(whole, 0)
        const info: KeptResult = {
          resultId: operationId,
          totalBytes: whole.totalBytes,
          keptBytes: whole.bytes.length,
          nextOffset: first.nextOffset ?? whole.bytes.length,
          ...(isRecorded ? { isRecorded } : {}),
        }
        const handed = { text: first.text, blocks: parts?.blocks, isPromised }
        return { result: cutResult(result, handed, info), kept: info, whole }
      }
      const steps = tooLong(parts?.words ?? result, maxBytes)
      const first = steps.next()
      return first.done ? finish(first.value) : inTurns(steps, clock).then(finish)
    },
    async page(caller, resultId, offset) {
      makeRoom(0)
      const entry = kept.get(resultId)
      if (entry?.owner === callerKey(caller)) return pageAt(entry.whole, offset)
      return await onRecord(caller, resultId, offset)
    },
  }
}

function droppedForRoom(resultId: string): AppError {
  const message = `The result "${resultId}" was dropped to make room for newer ones. Its operation is still on record, so look at what it did before you call it again.`
  return new AppError('RESULT_NOT_FOUND', `${message} The owner can keep more with the setting \`storedResultsBytes\`.`)
}

const encoder = new TextEncoder()

/** Whether a result is certainly within the limit. Most are, and need not be written as JSON to know. */
function isShort(result: ToolResult, maxBytes: number): boolean {
  const plain = plainText(result)
  if (plain !== undefined) return plain.length * MOST_IN_TEXT <= maxBytes
  return mostJsonBytes(result, maxBytes) <= maxBytes
}

/** The text of a result that exceeds the limit. */
function* tooLong(result: ToolResult, maxBytes: number): Steps<string | undefined> {
  const plain = plainText(result) ?? wrappedText(result)
  if (plain !== undefined) return isLonger(plain, maxBytes) ? plain : undefined
  const json = yield* jsonTextInSteps(result)
  return isLonger(json, maxBytes) ? yield* pagedText(result, json) : undefined
}

/** The text of a result that is nothing else. */
function plainText(result: ToolResult): string | undefined {
  const [only] = result.content
  if (result.content.length !== 1 || Object.keys(result).length !== 1 || !only) return undefined
  return isBareText(only) ? only.text : undefined
}

/** The text of a result that has it once more as all of its structure, as many servers give what they read. */
function wrappedText({ structuredContent, ...rest }: ToolResult): string | undefined {
  const text = plainText(rest)
  if (text === undefined || typeof structuredContent !== 'object' || structuredContent === null) return undefined
  const [only, ...others] = Object.entries(structuredContent)
  return only && others.length === 0 && only[0].length <= LONGEST_WRAP && only[1] === text ? text : undefined
}

/** The name under which it has it is not counted. */
const LONGEST_WRAP = 64

/** Most texts need not be counted. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * MOST_IN_TEXT > maxBytes && encoder.encode(text).length > maxBytes
}

/** Bytes that a character takes as it is, at most. */
const MOST_IN_TEXT = 3

/** As many times as long as its text a result is as JSON that has the same as its structure. */
const MOST_AS_JSON = 10

/** What is paged: the text when that is all there is to know, else everything as JSON. */
function* pagedText(result: ToolResult, json: string): Steps<string> {
  const { structuredContent, isError: _isError, content, ...more } = result
  const text = Object.keys(more).length === 0 ? yield* bareText(content) : undefined
  if (text === undefined) return json
  if (structuredContent === undefined) return text
  // All of it holds the text, with its signs escaped, and the structure: what is so much longer has another structure.
  if (text.length * MOST_AS_JSON < json.length) return json
  return text === (yield* jsonTextInSteps(structuredContent)) ? text : json
}

/** As many parts of a content are looked at between two steps. */
const LOOKS = 4_096

/** The text of a content that is made of texts alone. */
function* bareText(content: ToolResult['content']): Steps<string | undefined> {
  const texts: string[] = []
  for (const block of content) {
    if (!isBareText(block)) return undefined
    texts.push(block.text)
    if (texts.length % LOOKS === 0) yield
  }
  return texts.length > 0 ? texts.join('\n') : undefined
}

function isBareText(block: ToolResult['content'][number]): block is ToolResult['content'][number] & { type: 'text' } {
  return block.type === 'text' && typeof block.text === 'string' && Object.keys(block).length === 2
}

interface Handed {
  readonly text: string
  readonly blocks: BinaryParts['blocks'] | undefined
  readonly isPromised: boolean
}

function cutResult(
  result: ToolResult,
  { text, blocks = [], isPromised }: Handed,
  { resultId, totalBytes, nextOffset }: KeptResult,
): ToolResult {
  const note = `[Cut at ${nextOffset} of ${totalBytes} bytes. The rest is kept as result "${resultId}" from offset ${nextOffset}.]`
  return {
    ...(result.isError ? { isError: true } : {}),
    content: [{ type: 'text', text }, { type: 'text', text: note }, ...blocks],
    ...(isPromised && !result.isError ? { _meta: { [SUCCEEDED_META]: true } } : {}),
  }
}
