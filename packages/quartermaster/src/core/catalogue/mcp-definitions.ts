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

/** All that filling in a prompt or reading a resource is told beside what was asked for. */
export interface ReadingContext<Config = unknown> {
  readonly caller: Caller
  /** Which of the caller's clients asks: the same text for the same one, and otherwise without a meaning. */
  readonly client: string
  /** The capability's configuration for this agent. */
  readonly config: Config
  /** Aborts when the caller goes away or the time is over. Pass it on to whatever you wait for. */
  readonly signal: AbortSignal
  /** When it ends at the latest, as epoch milliseconds. */
  readonly deadline: number
  /** Asks the person behind the request. Throws `ANSWER_UNAVAILABLE` where no answer can be had. */
  ask(question: Question, options?: AskOptions): Promise<Answer>
  /** Whether questions of this kind can be answered at all; otherwise `ask` throws. */
  canAnswer(kind: QuestionKind): boolean
  readonly log: Log
}

/** What is known while someone is still typing. */
export interface SuggestContext<Config = unknown>
  extends Pick<ReadingContext<Config>, 'caller' | 'client' | 'config' | 'signal'> {
  /** What the other arguments are so far. */
  readonly arguments: Readonly<Record<string, string>>
}

/** What may stand there, the best first: all of it, or some, with how many there are and whether there are more. */
export type Suggested =
  | readonly string[]
  | {
      readonly values: readonly string[]
      readonly total?: number | undefined
      readonly hasMore?: boolean | undefined
    }

/** What may stand where `value` is being typed. */
export type Suggest<Config = unknown> = (
  value: string,
  context: SuggestContext<Config>,
) => Suggested | Promise<Suggested>

/** The names between the braces of a template. */
type TemplateParam<T extends string> = string extends T
  ? string
  : T extends `${string}{${infer P}}${infer Rest}`
    ? P | TemplateParam<Rest>
    : never

/** What is being read: the whole address, and what stands in it for the template's names. */
export interface ResourceRequest<T extends string = string> {
  readonly uri: string
  readonly params: { readonly [K in TemplateParam<T>]: string }
}

/** What `read` may give back: a text, bytes, or contents with addresses of their own. */
export type ResourceOutput = string | Uint8Array | ResourceContents | readonly ResourceContents[] | PassedContents

/** Who watches an address, and with which configuration. */
export interface WatchContext<Config = unknown> {
  readonly caller: Caller
  readonly config: Config
}

/** A resource as its author writes it: something to read, at one address or at all those of a template. */
export interface ResourceDefinition<T extends string = string, Config = unknown> {
  name: string
  /** For people; made from the name when absent. */
  title?: string
  /** One sentence: what is to be read there. */
  short?: string
  icon?: string
  mimeType?: string
  /** Dependencies that must be there. */
  requires?: readonly string[]
  /** Its address. Either this or a template. */
  uri?: string
  /** Its addresses, `{name}` for what differs: RFC 6570, level 1; of an upstream all of it. */
  uriTemplate?: T
  /** Completes a value for a name of the template. */
  suggest?: { readonly [K in TemplateParam<T>]?: Suggest<Config> }
  /** What MCP clients are told beside all this, word for word. */
  mcp?: ResourceMcpExtras
  /** Changes whenever the code behind it does; the hash of its file when absent. */
  codeHash?: string
  read(request: ResourceRequest<T>, context: ReadingContext<Config>): ResourceOutput | Promise<ResourceOutput>
  /**
   * Called while an address is watched: once for each caller, however many of their clients do. It tells of every
   * change until it is stopped, over whatever happens to the connection behind it.
   */
  watch?(uri: string, onUpdated: () => void, context: WatchContext<Config>): () => void
}

/** Any resource, whatever its types. */
export interface AnyResource extends Omit<ResourceDefinition, 'suggest' | 'read' | 'watch'> {
  suggest?: { readonly [name: string]: Suggest<never> | undefined }
  read(request: never, context: ReadingContext<never>): unknown
  watch?(uri: string, onUpdated: () => void, context: WatchContext<never>): () => void
}

/** One argument of a prompt as its author writes it. */
export interface PromptArgumentDefinition<Config = unknown> {
  name: string
  /** For people; the name when absent. */
  title?: string
  /** One sentence: what to put here. */
  short?: string
  required?: boolean
  /** Completes a value of this argument. */
  suggest?: Suggest<Config>
}

/** What `render` gets: the required arguments for certain, the others perhaps. */
export type PromptArguments<A extends readonly { name: string; required?: boolean }[]> = {
  readonly [K in A[number] as K extends { required: true } ? K['name'] : never]: string
} & {
  readonly [K in A[number] as K extends { required: true } ? never : K['name']]?: string
}

/** What `render` may give back: a text, which becomes one message of the user, or messages. */
export type PromptOutput = string | readonly PromptMessage[] | PromptResult

/** A prompt as its author writes it: a text with gaps that a person picks and an agent reads. */
export interface PromptDefinition<
  A extends readonly PromptArgumentDefinition<Config>[] = readonly PromptArgumentDefinition[],
  Config = unknown,
> {
  name: string
  /** For people; made from the name when absent. */
  title?: string
  /** One sentence: the MCP description, word for word. */
  short: string
  icon?: string
  /** Dependencies that must be there. */
  requires?: readonly string[]
  arguments?: A
  /** What MCP clients are told beside all this, word for word. */
  mcp?: McpExtras
  /** Changes whenever the code behind it does; the hash of its file when absent. */
  codeHash?: string
  render(args: PromptArguments<A>, context: ReadingContext<Config>): PromptOutput | Promise<PromptOutput>
}

/** Any prompt, whatever its types. */
export interface AnyPrompt extends Omit<PromptDefinition, 'arguments' | 'render'> {
  arguments?: readonly (Omit<PromptArgumentDefinition, 'suggest'> & { suggest?: Suggest<never> })[]
  render(args: never, context: ReadingContext<never>): unknown
}

/** What reading an address of someone else's server gave, whole. */
export interface PassedContents {
  readonly contents: readonly ResourceContents[]
  readonly _meta?: Record<string, unknown>
}

// What a server of someone else answers has been JSON a moment ago and will be JSON again. It is handed on as it is, fields
// that are unknown here included: looking at every field, or writing it just to see whether it can be written, would cost
// more than the rest of the call.

/** A tool's result as someone else's server gave it. Structured content is checked against the output schema. */
export function passedResult(value: unknown): ToolResult {
  return pass(value, 'content') as ToolResult
}

/** A prompt as someone else's server filled it in. */
export function passedPrompt(value: unknown): PromptResult {
  return pass(value, 'messages') as PromptResult
}

/** What someone else's server has at an address. */
export function passedContents(value: unknown): PassedContents {
  return pass(value, 'contents') as unknown as PassedContents
}

/**
 * What belongs to the connection it came over, and means something else on the one it goes to; and what is no name of a field to
 * its author.
 */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['resultType', 'cacheScope', '__proto__'])

const Passed = brandedClass('passed')

/** What is no object is told where the definition can be named. */
function pass(value: unknown, list: string): object {
  const copy = new Passed()
  if (typeof value !== 'object' || value === null) {
    copy[list] = value
    return Object.freeze(copy)
  }
  const given = value as Record<string, unknown>
  for (const key of Object.keys(given)) {
    if (!LEFT_BEHIND.has(key)) copy[key] = key === '_meta' ? withoutReserved(given[key]) : given[key]
  }
  if (list === 'content') copy.content ??= []
  return Object.freeze(copy)
}

/**
 * Without what only we may say: who answered, and what of it is kept here. All that MCP defines under its own prefix is between the
 * two ends of one connection (`serverInfo`, `subscriptionId`, `related-task`), and no other code may define anything there.
 */
export function withoutReserved(meta: unknown): unknown {
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return meta
  const keys = Object.keys(meta)
  return keys.some(isReserved) ? Object.fromEntries(Object.entries(meta).filter(([key]) => !isReserved(key))) : meta
}

function isReserved(key: string): boolean {
  return key.startsWith('io.modelcontextprotocol/') || key.startsWith('quartermaster/')
}
