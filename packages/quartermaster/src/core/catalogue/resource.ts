import type { Caller, ResourceContents, ResourceMcpExtras } from '../../contracts/index.ts'
import type { PassedContents } from './passed.ts'
import type { ReadingContext, Suggest } from './reading.ts'

/** The names between the braces of a template. */
export type TemplateParam<T extends string> = string extends T
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
  /** Helps whoever types what stands for a name of the template. */
  suggest?: { readonly [K in TemplateParam<T>]?: Suggest<Config> }
  /** What MCP clients are told beside all this, word for word. */
  mcp?: ResourceMcpExtras
  /** Changes whenever the code behind it does; the hash of its file when absent. */
  codeHash?: string
  read(request: ResourceRequest<T>, context: ReadingContext<Config>): ResourceOutput | Promise<ResourceOutput>
  /**
   * Called while somebody watches an address: once for each caller, however many of their clients do. It tells of every
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
