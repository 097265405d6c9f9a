import type { McpExtras, PromptMessage, PromptResult } from '../../contracts/index.ts'
import type { ReadingContext, Suggest } from './reading.ts'

/** One argument of a prompt as its author writes it. */
export interface PromptArgumentDefinition<Config = unknown> {
  name: string
  /** For people; the name when absent. */
  title?: string
  /** One sentence: what to put here. */
  short?: string
  required?: boolean
  /** Helps whoever types it. */
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
