import type { PromptResult, Suggestions } from '../../../contracts/index.ts'
import type { Seat } from '../../agents/index.ts'
import type { CallRequest } from '../path/call-request.ts'
import type { ReadResult } from './reading-output.ts'

/** Who wants to read, and whom to tell meanwhile. */
export interface ReadingRequest extends Pick<CallRequest, 'signal' | 'ask' | 'canAnswer' | 'client' | 'onLog'> {
  readonly seat: Seat
}

/** One prompt to be filled in, as every adapter asks for it. */
export interface PromptRequest extends ReadingRequest {
  readonly name: string
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

/** One address to be read, as every adapter asks for it. */
export interface ResourceReadRequest extends ReadingRequest {
  readonly uri: string
}

/** A word that is being typed, as every adapter asks what it may become. */
export interface SuggestRequest extends Pick<ReadingRequest, 'seat' | 'signal' | 'client'> {
  /** What it is an argument of: a prompt, or the template of a resource. */
  readonly ref: { readonly prompt: string } | { readonly resource: string }
  readonly argument: { readonly name: string; readonly value: string }
  /** What the other arguments are so far. */
  readonly arguments?: Readonly<Record<string, string>> | undefined
}

/** The way to prompts and resources: one for every runtime, as the call path is for tools. */
export interface Readings {
  /** Fills in a prompt. Throws `AppError` when that was not possible, whosever fault it is. */
  renderPrompt(request: PromptRequest): Promise<PromptResult>
  /** Reads an address. Throws `AppError` when that was not possible, whosever fault it is. */
  readResource(request: ResourceReadRequest): Promise<ReadResult>
  /** What may stand for an argument; nothing where its definition does not help or cannot help now. */
  suggest(request: SuggestRequest): Promise<Suggestions>
  /** Takes nothing more, and ends what only waits; resolves when what runs has ended. */
  drain(): Promise<void>
  /** How many run now. */
  running(): number
  /** Ends what is under way with `STOPPING` and takes nothing more. */
  stop(): void
}
