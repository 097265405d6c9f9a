import type { AppError, ErrorBody, ToolResult } from '../../src/contracts/index.ts'
import { errorResult, type ModelPiece, modelPieces } from '../../src/core/kernel/index.ts'

/** The outcome of a call, as one runtime tells its caller. */
export interface Told {
  /** It was done, the tool said no, it waits for something, or one of our codes. */
  readonly kind: string
  /** Whether the wire has it marked as an error. */
  readonly isMarked: boolean
  readonly text: string
  readonly files: readonly FileTold[]
  /** Only where the runtime carries it. */
  readonly structured?: unknown
  readonly error?: ErrorBody | undefined
}

export interface FileTold {
  readonly mimeType: string
  readonly data: string
}

/** A whole result. */
export function toldOf(result: ToolResult): Told {
  const error = result._meta?.['quartermaster/error'] as ErrorBody | undefined
  const waiting = result._meta?.['quartermaster/waiting'] as { for: string } | undefined
  const isMarked = result.isError === true
  const kind = waiting ? `waits for ${waiting.for}` : (error?.code ?? (isMarked ? 'no' : 'done'))
  return { kind, isMarked, error, structured: result.structuredContent, ...read(modelPieces(result)) }
}

/** What was thrown, where errors are thrown. */
export function toldOfError(error: AppError): Told {
  return toldOf(errorResult(error))
}

/** What is left where a runtime hands over words and files and no mark for errors. */
export function toldInWords({ text, files }: Pick<Told, 'text' | 'files'>): Told {
  const [, said] = /^Error: ([^]*)$/.exec(text) ?? []
  const code = /^([A-Z]+(?:_[A-Z]+)*): /.exec(said ?? '')?.[1]
  const isMarked = said !== undefined
  return { kind: code ?? (isMarked ? 'no' : 'done'), isMarked, text: said ?? text, files }
}

/** The same of what was told in full. */
export function inWords({ kind, isMarked, text, files }: Told): Told {
  const isWaiting = kind.startsWith('waits')
  return { kind: isWaiting ? (isMarked ? 'no' : 'done') : kind, isMarked, text, files }
}

/** Words and files apart, from blocks of any runtime. */
export function read(pieces: readonly ModelPiece[]): Pick<Told, 'text' | 'files'> {
  const files: FileTold[] = []
  const words: string[] = []
  for (const piece of pieces)
    if (piece.kind === 'text') words.push(piece.text)
    else files.push({ mimeType: piece.mimeType, data: piece.data })
  return { text: words.join('\n'), files }
}

/** What is left of the structure where a failure and a handle to wait for are handed over beside the result: none of it stands there too. */
export function withoutOwnStructure({ structured, ...told }: Told): Told {
  return { ...told, structured: /^(done|no)$/.test(told.kind) ? structured : undefined }
}

/** What is said at the end of a cut result: how to read on is another thing for clients of MCP and for the models of frameworks. */
const REST = /\n\[(Read on at the resource|It goes on)[^]*$/

/** The same where the rest is told beside the result. */
export function withoutRest({ text, ...told }: Told): Told {
  return { ...told, text: text.replace(/\n\[REST\]$/, '') }
}

/** An id of anything, with its kind. */
export const ID = /\b(op|ws|att|msg|mem|conv|task|chat)_[\w-]{8,}/g

/**
 * All that may differ between two runtimes, in one place: ids and times are new each time, each runtime has agents and a folder
 * of its own, two cores have two addresses, and definitions are counted each time they are loaded.
 */
export function normalized(told: Told, fixture: string): Told {
  return leveled(told, text =>
    text
      .replace(REST, '\n[REST]')
      .replaceAll(`-${fixture}`, '')
      .replaceAll(`desks/${fixture}`, 'desk')
      .replaceAll(/\bagreement-\w+/g, 'project')
      .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, '')
      .replaceAll(ID, '$1_…')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
      .replaceAll(/("(?:\w*At|\w*Ms|since|generation)":)[\d.]+/g, '$1"NUMBER"')
      .replaceAll(/\b\d+(\.\d+)? (ms|s|seconds?)\b/g, 'TIME'),
  ) as Told
}

function leveled(value: unknown, words: (text: string) => string): unknown {
  if (typeof value === 'string') return words(value)
  if (Array.isArray(value)) return value.map(one => leveled(one, words))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [
    key,
    typeof one === 'number' && /^(\w*At|\w*Ms|since|generation)$/.test(key) ? 'NUMBER' : leveled(one, words),
  ])
  return Object.fromEntries(entries)
}
