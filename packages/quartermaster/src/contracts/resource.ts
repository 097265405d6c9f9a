import { z } from 'zod'
import { Name } from './names.ts'
import { ToolFacts } from './tool.ts'

const OWN_SCHEME = /^quartermaster:/i
const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s{}]+$/
const VARIABLE = /\{[A-Za-z_][A-Za-z0-9_]*\}/g

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
}

/** Everything about a resource but its code. Checked when definitions load. */
export const ResourceFacts = z
  .strictObject({ ...shape, requires: z.array(Name) })
  .refine(({ uri, uriTemplate }) => (uri === undefined) !== (uriTemplate === undefined), {
    path: ['uri'],
    message: 'or uriTemplate must be there, and not both',
  })
export type ResourceFacts = z.infer<typeof ResourceFacts>

const contents = { uri: z.string().min(1), mimeType: z.string().optional() }

/** What a resource holds: text, or bytes as base64. Unknown fields pass through: they may matter to the client. */
export const ResourceContents = z.union(
  [z.looseObject({ ...contents, text: z.string() }), z.looseObject({ ...contents, blob: z.base64() })],
  'must have a uri, and a text or a blob of base64',
)
export type ResourceContents = z.infer<typeof ResourceContents>

/** A resource as discovery shows it; it needs nothing running. */
export const ResourceDescriptor = z.object(shape).omit({ icon: true })
export type ResourceDescriptor = z.infer<typeof ResourceDescriptor>

/** Two parts side by side could be told apart in many ways, and one that comes twice might disagree with itself. */
function isTemplate(value: string): boolean {
  const variables = value.match(VARIABLE) ?? []
  const isAlone = !/\}\{/.test(value) && new Set(variables).size === variables.length
  return variables.length > 0 && isAlone && ABSOLUTE.test(value.replace(VARIABLE, 'x')) && /^[^{]*:/.test(value)
}
