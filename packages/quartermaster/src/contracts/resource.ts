import { z } from 'zod'
import { Name } from './names.ts'
import { McpExtras, ToolFacts } from './tool.ts'

const OWN_SCHEME = /^quartermaster:/i
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s{}]+$/
const VARIABLE = /\{[A-Za-z_][A-Za-z0-9_]*\}/g
/** RFC 6570 §2.2 to §2.4: an operator, and names with a length or a star. */
const EXPRESSION = /\{[+#./;?&]?[\w.%]+(?::\d{1,4}|\*)?(?:,[\w.%]+(?::\d{1,4}|\*)?)*\}/g

const notOurs = (value: string) => !OWN_SCHEME.test(value)
const OURS = 'has the scheme "quartermaster:", which is ours'

/** The address of one resource. The scheme is anything but ours. */
export const ResourceUri = z
  .string()
  .max(2048)
  .regex(ABSOLUTE, 'must be absolute, like "docs://handbook", without spaces and braces')
  .refine(notOurs, OURS)

/** The addresses of many resources: RFC 6570, level 1. */
export const ResourceUriTemplate = z
  .string()
  .max(2048)
  .refine(isTemplate, 'must be an absolute address with parts like {name}, each once, and text between them')
  .refine(notOurs, OURS)

/** The same for what someone else wrote: RFC 6570, all of it. */
const UpstreamUriTemplate = z
  .string()
  .max(2048)
  .refine(isAnyTemplate, 'must be an absolute address with expressions of RFC 6570')
  .refine(notOurs, OURS)

/** What MCP clients are told about a resource beside its facts, word for word. */
export const ResourceMcpExtras = McpExtras.extend({ size: z.number().int().nonnegative().optional() })
export type ResourceMcpExtras = z.infer<typeof ResourceMcpExtras>

/** What every resource says about itself. */
const shape = {
  name: z.string().min(1).max(200),
  title: z.string().min(1).max(200),
  /** One sentence: the MCP description, word for word. */
  short: z.string().max(1024),
  icon: ToolFacts.shape.icon,
  mimeType: z
    .string()
    .regex(/^[\w.+-]+\/[\w.+*-]+( *;.*)?$/, 'must look like "text/markdown"')
    .optional(),
  uri: ResourceUri.optional(),
  uriTemplate: ResourceUriTemplate.optional(),
  requires: z.array(Name),
  mcp: ResourceMcpExtras.optional(),
}

const hasOneAddress = ({ uri, uriTemplate }: { uri?: string | undefined; uriTemplate?: string | undefined }) =>
  (uri === undefined) !== (uriTemplate === undefined)
const ONE_ADDRESS = { path: ['uri'], message: 'or uriTemplate must be there, and not both' }

/** Everything about a resource but its code. Checked when definitions load. */
export const ResourceFacts = z.strictObject(shape).refine(hasOneAddress, ONE_ADDRESS)
export type ResourceFacts = z.infer<typeof ResourceFacts>

/** The same for resources that someone else wrote. */
export const UpstreamResourceFacts = z
  .strictObject({
    ...shape,
    name: z.string().min(1).max(1024),
    short: z.string().max(16 * 1024),
    mimeType: z.string().max(200).optional(),
    uriTemplate: UpstreamUriTemplate.optional(),
  })
  .refine(hasOneAddress, ONE_ADDRESS)

const contents = { uri: z.string().min(1), mimeType: z.string().optional() }

/** What a resource holds: text, or bytes as base64. Unknown fields pass through: they may matter to the client. */
export const ResourceContents = z.union(
  [z.looseObject({ ...contents, text: z.string() }), z.looseObject({ ...contents, blob: z.base64() })],
  'must have a uri, and a text or a blob of base64',
)
export type ResourceContents = z.infer<typeof ResourceContents>

/** A resource as discovery shows it; it needs nothing running. */
export const ResourceDescriptor = z.object({
  name: z.string(),
  title: z.string(),
  short: z.string(),
  mimeType: z.string().optional(),
  uri: z.string().optional(),
  uriTemplate: z.string().optional(),
})
export type ResourceDescriptor = z.infer<typeof ResourceDescriptor>

/** Two parts side by side could be told apart in many ways, and one that comes twice might disagree with itself. */
function isTemplate(value: string): boolean {
  const variables = value.match(VARIABLE) ?? []
  const isAlone = !/\}\{/.test(value) && new Set(variables).size === variables.length
  return variables.length > 0 && isAlone && ABSOLUTE.test(value.replace(VARIABLE, 'x')) && /^[^{]*:/.test(value)
}

/** The scheme is no gap: a template that could be any address would take everybody's. */
function isAnyTemplate(value: string): boolean {
  const text = value.replace(EXPRESSION, 'x')
  return text !== value && ABSOLUTE.test(text) && /^[^{]*:/.test(value)
}
