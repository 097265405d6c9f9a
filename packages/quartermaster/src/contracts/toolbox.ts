import type { AgentView } from './agent.ts'
import type { Answer, PersonQuestion, Progress, ResultPage, ToolResult, UrlQuestion } from './call.ts'
import { AppError } from './errors.ts'
import type { WhenDisabled } from './operation.ts'

/** A tool for an agent runtime. */
export interface ToolboxTool {
  readonly name: string
  readonly title: string
  /** The description for models: `short`, word for word. */
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** JSON Schema of the structured content, if the tool has one. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  readonly mutates: boolean
  readonly idempotent: boolean
}

export interface ToolboxCallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal | undefined
  /** A repeat under the same key gets the first answer, and nothing is done twice. */
  readonly idempotencyKey?: string | undefined
  /** For a disabled tool; the call fails when absent. `run` needs `runDisabled` in the agent's file. */
  readonly whenDisabled?: WhenDisabled | undefined
  onProgress?: ((progress: Progress) => void) | undefined
}

export interface ToolboxOptions {
  /** Answers questions of tools. Without it, a tool that must ask fails. */
  ask?: ((question: PersonQuestion | UrlQuestion, signal: AbortSignal) => Promise<Answer>) | undefined
}

/**
 * The tools of one agent, in this process or behind a running `up`, with the same answers either way. Every framework's tools
 * are derived from it.
 */
export interface Toolbox {
  /** The agent's tools in order. The same array until something changes. */
  tools(): Promise<readonly ToolboxTool[]>
  /** The tools and more in words, with disabled ones and the reasons; prompts are made from it. */
  view(): Promise<AgentView>
  /**
   * Calls a tool through the whole call path. A call that could not run is a result too: `isError`, words for the model, and
   * the error in `_meta["quartermaster/error"]`. Throws only for a tool that the agent does not have, where a question or an
   * approval gets no answer, and `CANCELLED` once the signal aborts.
   */
  call(name: string, input: unknown, options?: ToolboxCallOptions): Promise<ToolResult>
  /** Calls back when the tools have changed. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** An open toolbox. */
export interface OpenToolbox extends Toolbox {
  /**
   * A page of a cut result: `_meta["quartermaster/kept"]` of such a result has the `resultId` and the first offset, and each
   * page the next one. Throws `RESULT_NOT_FOUND` for a deleted result or another agent's.
   */
  page(resultId: string, offset: number): Promise<Pick<ResultPage, 'text' | 'nextOffset'>>
}

/** The resource with an agent's own view. It is in no list: programs ask for it, and models have their prompt. */
export const VIEW_URI = 'quartermaster://view'

/**
 * The resource with an agent's tools and their state; with a name behind it, all facts about one tool. Commands are made from
 * it.
 */
export const VIEW_TOOLS_URI = `${VIEW_URI}/tools`

/** The `_meta` key that says that a tool succeeded although its result is marked as an error for its size. */
export const SUCCEEDED_META = 'quartermaster/succeeded'

/** The `_meta` key of `read_docs` with the data behind its text: a `DocsAnswer` without `text`. */
export const DOCS_META = 'quartermaster/docs'

export function closedToolbox(): AppError {
  return new AppError('STOPPING', 'This toolbox is closed. Open another.')
}

// Without schemas: a bridge needs these, and loads nothing else of the contracts.

/** The `_meta` key of an idempotency key; over HTTP there is also a header. */
export const IDEMPOTENCY_META = 'quartermaster/idempotencyKey'
export const IDEMPOTENCY_HEADER = 'idempotency-key'

/** The most attachments of one message. */
export const MOST_ATTACHMENTS = 32

/** `att_8f2c` */
export const ATTACHMENT_ID = /^att_[\w-]{1,124}$/

export function isAttachmentId(reference: string): boolean {
  return ATTACHMENT_ID.test(reference)
}
