import type { ResourceContents } from '../../contracts/index.ts'
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
export type ResourceOutput = string | Uint8Array | ResourceContents | readonly ResourceContents[]

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
  /** Its addresses, `{name}` for what differs: RFC 6570, level 1. */
  uriTemplate?: T
  /** Helps whoever types what stands for a name of the template. */
  suggest?: { readonly [K in TemplateParam<T>]?: Suggest<Config> }
  read(request: ResourceRequest<T>, context: ReadingContext<Config>): ResourceOutput | Promise<ResourceOutput>
}

/** Any resource, whatever its types. */
export interface AnyResource extends Omit<ResourceDefinition, 'suggest' | 'read'> {
  suggest?: { readonly [name: string]: Suggest<never> | undefined }
  read(request: never, context: ReadingContext<never>): unknown
}
