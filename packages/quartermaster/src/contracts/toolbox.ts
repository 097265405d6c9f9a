import type { AgentView } from './agent.ts'
import type { Answer, PersonQuestion, Progress, ResultPage, ToolResult, UrlQuestion } from './call.ts'
import { AppError } from './errors.ts'
import type { WhenDisabled } from './operation.ts'

/** A tool as a runtime is told of it. */
export interface ToolboxTool {
  readonly name: string
  readonly title: string
  /** What a model reads about it: `short`, word for word. */
  readonly description: string
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** JSON Schema of the structured content, where the tool promises one. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  readonly mutates: boolean
  readonly idempotent: boolean
}

export interface ToolboxCallOptions {
  /** Ends the call where it runs. */
  readonly signal?: AbortSignal | undefined
  /** The caller's own name for this call: a repeat under it gets the first answer, and nothing is done twice. */
  readonly idempotencyKey?: string | undefined
  /** What the call of a disabled tool does; it fails when absent. `run` needs `runDisabled` in the agent's file. */
  readonly whenDisabled?: WhenDisabled | undefined
  onProgress?: ((progress: Progress) => void) | undefined
}

export interface ToolboxOptions {
  /** Answers questions of tools. Where absent, a tool that must ask fails because it cannot get an answer. */
  ask?: ((question: PersonQuestion | UrlQuestion, signal: AbortSignal) => Promise<Answer>) | undefined
}

/**
 * The tools of one agent as they are now, for whatever runs it: in this process or behind a running `up`, with the same answers
 * either way. Every framework's tools are derived from it.
 */
export interface Toolbox {
  /** What the agent has now, in its order. The same array until something has changed. */
  tools(): Promise<readonly ToolboxTool[]>
  /** The same and more in words, with what does not work now and why: what a prompt is made from. */
  view(): Promise<AgentView>
  /**
   * Calls a tool through the whole call path. What could not be run is a result as well: `isError`, words for the model, and
   * the error in `_meta["quartermaster/error"]`. Throws only for a tool that the agent does not have, where a question or an
   * approval gets no answer, and `CANCELLED` once the signal aborts.
   */
  call(name: string, input: unknown, options?: ToolboxCallOptions): Promise<ToolResult>
  /** Calls back when the tools are others than before. */
  onChange(listener: () => void): () => void
  close(): Promise<void>
}

/** A toolbox as it is opened, here or behind an `up`. */
export interface OpenToolbox extends Toolbox {
  /**
   * A page of a result that was cut: `_meta["quartermaster/kept"]` of such a result has its `resultId` and where it goes on, and a
   * page where the next one begins. Throws `RESULT_NOT_FOUND` for one that is forgotten or another agent's.
   */
  page(resultId: string, offset: number): Promise<Pick<ResultPage, 'text' | 'nextOffset'>>
}

/** Where an agent reads its own view over MCP. It is in no list: programs ask for it, and models have their prompt. */
export const VIEW_URI = 'quartermaster://view'

/** Where it reads a list of its tools with their state and, with a name behind it, everything about one: what commands are made from. */
export const VIEW_TOOLS_URI = `${VIEW_URI}/tools`

/**
 * Where a result that is marked as an error for its size alone says, in its `_meta`, that the tool succeeded. On record it is said
 * of one that would have to be marked on the wire.
 */
export const SUCCEEDED_META = 'quartermaster/succeeded'

/** Where the answer of `read_docs` has, in its `_meta`, what its words were made from: a `DocsAnswer` without its text. */
export const DOCS_META = 'quartermaster/docs'

export function closedToolbox(): AppError {
  return new AppError('STOPPING', 'This toolbox is closed. Open another.')
}
