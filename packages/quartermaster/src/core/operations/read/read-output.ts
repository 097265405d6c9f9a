import {
  AppError,
  isAppError,
  issueText,
  messageOf,
  PromptResult,
  ResourceContents,
  stackOf,
} from '../../../contracts/index.ts'
import { kindOf, type Prompt, type Resource } from '../../catalogue/index.ts'
import { blamedIn, type Health, type Needing } from '../../health/index.ts'
import { type BinaryContent, binaryIn, type FoundIssue, firstIssues, type Log, toBase64 } from '../../kernel/index.ts'
import type { Deadline } from '../path/deadline.ts'
import { listFault, messageFault, resourceFault, within } from '../path/run-tool.ts'

/** Who gave an output, and how large it may be. */
export interface OutputSource {
  /** As messages name it: `prompt "review"`. */
  readonly what: string
  readonly maxBytes: number
  /** The limit of images, audio and files, as base64. */
  readonly maxBinaryBytes: number
}

/** Turns the output of a prompt into a result. */
export function toPromptResult({ short }: Prompt, output: unknown, place: OutputSource): PromptResult {
  if (kindOf(output) === 'passed')
    return passed(output as PromptResult, { list: 'messages', faultOf: messageFault }, place)
  const parsed = PromptResult.safeParse({ description: short, ...promptParts(output) })
  if (!parsed.success) throw outputInvalid(place, parsed.error.issues)
  refuseLarge(parsed.data, parsed.data.messages, place)
  return parsed.data
}

function promptParts(output: unknown): object {
  if (typeof output === 'string') return { messages: [{ role: 'user', content: { type: 'text', text: output } }] }
  return Array.isArray(output) ? { messages: output } : Object(output)
}

/** The contents of a resource, and its server's metadata. */
export interface ReadResult {
  readonly contents: readonly ResourceContents[]
  readonly _meta?: Record<string, unknown>
}

/** Turns the output of a resource into a result. */
export function toReadResult(
  resource: Resource,
  { uri, output }: { uri: string; output: unknown },
  place: OutputSource,
): ReadResult {
  if (kindOf(output) === 'passed')
    return passed(output as ReadResult, { list: 'contents', faultOf: resourceFault }, place)
  return { contents: toContents(resource, { uri, output }, place) }
}

/** JSON from an upstream server is passed on unchanged, after checking its list and its size. */
function passed<T extends object>(
  output: T,
  { list, faultOf }: { list: keyof T & string; faultOf: typeof messageFault },
  place: OutputSource,
): T {
  const items: unknown = output[list]
  if (!Array.isArray(items)) throw outputInvalid(place, [{ path: [list], message: 'must be a list.' }])
  const odd = within(list, listFault(items, faultOf))
  if (odd) throw outputInvalid(place, [odd])
  refuseLarge(output, items, place)
  return output
}

function toContents(
  { mimeType }: Resource,
  { uri, output }: { uri: string; output: unknown },
  place: OutputSource,
): ResourceContents[] {
  if (typeof output === 'string') {
    if (isLonger(output, place.maxBytes)) throw tooLarge(place)
    return [{ uri, mimeType: mimeType ?? 'text/plain', text: output }]
  }
  if (output instanceof Uint8Array) {
    const contents = [{ uri, mimeType: mimeType ?? 'application/octet-stream', blob: toBase64(output) }]
    refuseLarge(contents, contents, place)
    return contents
  }
  const parsed = ResourceContents.array().safeParse(Array.isArray(output) ? output : [output])
  if (!parsed.success) throw outputInvalid(place, parsed.error.issues)
  refuseLarge(parsed.data, parsed.data, place)
  return parsed.data
}

function jsonOf(value: unknown, place: OutputSource): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    const message = `What ${place.what} gave cannot be written as JSON.`
    throw new AppError('OUTPUT_INVALID', message, { cause: error })
  }
}

/** An output that is too large is refused, not cut: half a prompt says something else than the whole. */
function refuseLarge(value: unknown, items: readonly object[], place: OutputSource): void {
  const binary = items.reduce((sum, item) => sum + (binaryAt(item)?.data.length ?? 0), 0)
  if (binary > Math.max(place.maxBinaryBytes, place.maxBytes)) throw tooMuchBinary(place)
  if (isLonger(jsonOf(value, place), place.maxBytes + binary)) throw tooLarge(place)
}

/** The binary content of a resource, or of a prompt's message. */
function binaryAt(item: object): BinaryContent | undefined {
  const { content = item } = item as { content?: unknown }
  return typeof content === 'object' && content !== null ? binaryIn(content) : undefined
}

/** A character takes at most three bytes, so most texts need not be counted. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).length > maxBytes
}

function tooLarge({ what, maxBytes }: OutputSource): AppError {
  const message = `What ${what} gave is larger than ${maxBytes} bytes. Let it give less, or raise the setting "maxResultBytes".`
  return new AppError('LIMIT_EXCEEDED', message, { details: { maxBytes } })
}

function tooMuchBinary({ what, maxBinaryBytes: maxBytes }: OutputSource): AppError {
  const message = `The pictures, sounds or files that ${what} gave are larger than ${maxBytes} bytes as base64. Let it give less, or raise the setting "maxBinaryBytes".`
  return new AppError('LIMIT_EXCEEDED', message, { details: { maxBytes } })
}

function outputInvalid({ what }: OutputSource, issues: readonly FoundIssue[]): AppError {
  const lines = firstIssues(issues).map(issueText)
  const message = `What ${what} gave is not what a definition of its kind may give. ${lines.join(' ')}`
  return new AppError('OUTPUT_INVALID', message, { details: { issues: lines } })
}

interface DefinitionRun {
  readonly address: string
  readonly item: Needing
  readonly deadline: Deadline
}

interface DefinitionRunDeps {
  readonly health: Pick<Health, 'reportFailure'>
  readonly log: Log
}

/** Runs a prompt or resource within its deadline. A thrown value becomes an error that names the definition. */
export async function runDefinition(
  run: DefinitionRun,
  deps: DefinitionRunDeps,
  work: () => unknown,
): Promise<unknown> {
  try {
    return await run.deadline.race((async () => work())())
  } catch (error) {
    throw failureOf(error, run, deps)
  }
}

function failureOf(error: unknown, { address, item, deadline }: DefinitionRun, { health, log }: DefinitionRunDeps) {
  const reason = deadline.reason()
  if (reason) return reason
  if (!isAppError(error)) {
    // Unlike a tool, it has no result that could report the failure. The stack is for the author of the definition.
    log.warn('a definition threw', { definition: address, error: stackOf(error) })
    const reason = messageOf(error) || 'it did not say why.'
    return new AppError('READING_FAILED', `"${address}" failed: ${reason}`, { cause: error })
  }
  const blamed = blamedIn(error, item)
  if (blamed !== undefined) health.reportFailure(blamed, error.message)
  return error
}
