import {
  type Answer,
  type Caller,
  type McpExtras,
  type PromptMessage,
  type PromptResult,
  type Question,
  type QuestionKind,
  type ResourceContents,
  type ResourceMcpExtras,
  type ToolResult,
} from '../../contracts/index.ts'
import { type Log } from '../kernel/index.ts'
import { brandedClass } from './brand.ts'
import { type AskOptions } from './tool.ts'

/** What rendering a prompt or reading a resource gets beside the request. */
export interface ReadingContext<Config = unknown> {
  readonly caller: Caller
  /** Identifies the requesting client of this caller; opaque, the same text for the same client. */
  readonly client: string
  /** The capability's configuration for this agent. */
  readonly config: Config
  /** Aborts when the caller disconnects or the deadline passes. Pass it on to everything you await. */
  readonly signal: AbortSignal
  /** When the request times out, in epoch milliseconds. */
  readonly deadline: number
  /** Asks the person behind the request. Throws `ANSWER_UNAVAILABLE` if no answer can be had. */
  ask(question: Question, options?: AskOptions): Promise<Answer>
  /** Whether questions of this kind can be answered; otherwise `ask` throws. */
  canAnswer(kind: QuestionKind): boolean
  readonly log: Log
}

export interface SuggestContext<Config = unknown>
  extends Pick<ReadingContext<Config>, 'caller' | 'client' | 'config' | 'signal'> {
  readonly arguments: Readonly<Record<string, string>>
}

/** Completions, best first: all of them, or some with the total or whether there are more. */
export type Suggested =
  | readonly string[]
  | {
      readonly values: readonly string[]
      readonly total?: number | undefined
      readonly hasMore?: boolean | undefined
    }

/** Completes the `value` being typed. */
export type Suggest<Config = unknown> = (
  value: string,
  context: SuggestContext<Config>,
) => Suggested | Promise<Suggested>

type TemplateParam<T extends string> = string extends T
  ? string
  : T extends `${string}{${infer P}}${infer Rest}`
    ? P | TemplateParam<Rest>
    : never

/** The URI being read, and its values of the template's names. */
export interface ResourceRequest<T extends string = string> {
  readonly uri: string
  readonly params: { readonly [K in TemplateParam<T>]: string }
}

/** What `read` may return: a text, bytes, or contents with URIs of their own. */
type ResourceOutput = string | Uint8Array | ResourceContents | readonly ResourceContents[] | PassedContents

export interface WatchContext<Config = unknown> {
  readonly caller: Caller
  readonly config: Config
}

/** A resource as its author writes it: something to read at one URI, or at all URIs of a template. */
export interface ResourceDefinition<T extends string = string, Config = unknown> {
  name: string
  /** For people; made from the name by default. */
  title?: string
  short?: string
  icon?: string
  mimeType?: string
  /** Dependencies that must be up. */
  requires?: readonly string[]
  /** Its URI. Either this or a template. */
  uri?: string
  /** Its URIs, with `{name}` for the variables: RFC 6570, level 1; all levels for upstreams. */
  uriTemplate?: T
  /** Completes a value for a name of the template. */
  suggest?: { readonly [K in TemplateParam<T>]?: Suggest<Config> }
  /** Additional MCP fields, passed to clients verbatim. */
  mcp?: ResourceMcpExtras
  /** Changes whenever the code changes; the hash of its file by default. */
  codeHash?: string
  read(request: ResourceRequest<T>, context: ReadingContext<Config>): ResourceOutput | Promise<ResourceOutput>
  /**
   * Called while a URI is watched: once per caller, however many of its clients watch. It reports every change until it is stopped,
   * across reconnects.
   */
  watch?(uri: string, onUpdated: () => void, context: WatchContext<Config>): () => void
}

export interface AnyResource extends Omit<ResourceDefinition, 'suggest' | 'read' | 'watch'> {
  suggest?: { readonly [name: string]: Suggest<never> | undefined }
  read(request: never, context: ReadingContext<never>): unknown
  watch?(uri: string, onUpdated: () => void, context: WatchContext<never>): () => void
}

export interface PromptArgumentDefinition<Config = unknown> {
  name: string
  title?: string
  short?: string
  required?: boolean
  suggest?: Suggest<Config>
}

/** The arguments that `render` gets: required ones always, others maybe. */
type PromptArguments<A extends readonly { name: string; required?: boolean }[]> = {
  readonly [K in A[number] as K extends { required: true } ? K['name'] : never]: string
} & {
  readonly [K in A[number] as K extends { required: true } ? never : K['name']]?: string
}

/** What `render` may return: a text, which becomes one user message, or messages. */
type PromptOutput = string | readonly PromptMessage[] | PromptResult

/** A prompt as its author writes it: a text with arguments that a person picks and an agent reads. */
export interface PromptDefinition<
  A extends readonly PromptArgumentDefinition<Config>[] = readonly PromptArgumentDefinition[],
  Config = unknown,
> {
  name: string
  /** For people; made from the name by default. */
  title?: string
  /** One sentence: the MCP description, verbatim. */
  short: string
  icon?: string
  /** Dependencies that must be up. */
  requires?: readonly string[]
  arguments?: A
  /** Additional MCP fields, passed to clients verbatim. */
  mcp?: McpExtras
  /** Changes whenever the code changes; the hash of its file by default. */
  codeHash?: string
  render(args: PromptArguments<A>, context: ReadingContext<Config>): PromptOutput | Promise<PromptOutput>
}

export interface AnyPrompt extends Omit<PromptDefinition, 'arguments' | 'render'> {
  arguments?: readonly (Omit<PromptArgumentDefinition, 'suggest'> & { suggest?: Suggest<never> })[]
  render(args: never, context: ReadingContext<never>): unknown
}

/** Everything that a foreign server returned for a resource. */
export interface PassedContents {
  readonly contents: readonly ResourceContents[]
  readonly _meta?: Record<string, unknown>
}

// Answers of foreign servers arrive as JSON and leave as JSON, so they are passed on as they are, unknown fields included:
// validating or serializing every field would cost more than the rest of the call.

/** A tool result of a foreign server. Structured content is still validated against the output schema. */
export function passedResult(value: unknown): ToolResult {
  return pass(value, 'content') as ToolResult
}

/** A prompt as a foreign server rendered it. */
export function passedPrompt(value: unknown): PromptResult {
  return pass(value, 'messages') as PromptResult
}

/** Resource contents of a foreign server. */
export function passedContents(value: unknown): PassedContents {
  return pass(value, 'contents') as unknown as PassedContents
}

/** Fields that are only valid on the connection to that server, and a key that no author means as a field. */
const DROPPED_FIELDS: ReadonlySet<string> = new Set(['resultType', 'cacheScope', '__proto__'])

const Passed = brandedClass('passed')

/** A value that is no object is reported later, where the definition can be named. */
function pass(value: unknown, list: string): object {
  const copy = new Passed()
  if (typeof value !== 'object' || value === null) {
    copy[list] = value
    return Object.freeze(copy)
  }
  const given = value as Record<string, unknown>
  for (const key of Object.keys(given)) {
    if (!DROPPED_FIELDS.has(key)) copy[key] = key === '_meta' ? withoutReserved(given[key]) : given[key]
  }
  if (list === 'content') copy.content ??= []
  return Object.freeze(copy)
}

/**
 * Removes keys under our prefix and MCP's: both are for the two ends of one connection (`serverInfo`, `subscriptionId`,
 * `related-task`), and no other code may define anything there.
 */
export function withoutReserved(meta: unknown): unknown {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return meta
  const keys = Object.keys(meta)
  return keys.some(isReserved) ? Object.fromEntries(Object.entries(meta).filter(([key]) => !isReserved(key))) : meta
}

function isReserved(key: string): boolean {
  return key.startsWith('io.modelcontextprotocol/') || key.startsWith('quartermaster/')
}
