import { isOwnHeader } from '../../core/kernel/index.ts'
import { freeNames, nameOf } from './names.ts'
import { type Node, recordsIn, textIn, Unmappable } from './node.ts'
import type { FoundOperation } from './operations.ts'
import { isScalar, type Schemas } from './schema.ts'

/** One parameter of an operation and where its value goes. */
export interface MappedParameter {
  /** In the declaration. */
  readonly name: string
  /** What the API calls it. */
  readonly field: string
  readonly place: 'path' | 'query' | 'header'
  readonly schema: Node
  readonly isRequired: boolean
  readonly example: unknown
}

export interface MappedParameters {
  readonly parameters: readonly MappedParameter[]
  readonly notes: readonly string[]
}

/** The parameters of the path and of the operation itself. Throws `Unmappable` where one that is needed cannot be sent. */
export function parametersOf({ node, item }: FoundOperation, options: Schemas): MappedParameters {
  const all = [...recordsOf(item, options), ...recordsOf(node, options)]
  // What the operation says counts more.
  const unique = new Map(all.map(one => [`${one.in} ${one.name}`, one]))
  const notes: string[] = []
  const parameters: MappedParameter[] = []
  const free = freeNames()
  for (const one of unique.values()) {
    const field = String(one.name)
    const why = obstacle(one, options)
    if (why === 'ignored') continue
    if (why !== undefined) {
      if (one.required === true) throw new Unmappable(`Its parameter "${field}" ${why}.`)
      notes.push(`Left out: the parameter "${field}", which ${why}.`)
      continue
    }
    const name = free(nameOf(field))
    parameters.push(mapped(one, { name, field, options }))
  }
  return { parameters, notes }
}

function recordsOf({ parameters }: Node, { references }: Schemas): Node[] {
  return recordsIn(parameters).map(one => references.follow(one))
}

/** Why a value cannot be put there, behind the name of the parameter. */
function obstacle(one: Node, options: Schemas): string | undefined {
  const { in: place, name, style, explode, schema } = one
  if (place === 'header' && /^(?:accept|content-type|authorization)$/i.test(String(name))) return 'ignored'
  if (place === 'cookie') return 'is a cookie, and none are sent'
  if (place !== 'path' && place !== 'query' && place !== 'header') return `is in "${String(place)}", which is no place`
  if (schema === undefined) return 'is written in a content type of its own'
  const { follow } = options.references
  const outer = follow(schema)
  if (isScalar(outer))
    return place === 'header' && isOwnHeader(String(name)) ? 'is a header that is set by itself' : undefined
  const isList = outer.type === 'array' && isScalar(follow(outer.items))
  if (place === 'query' && isList && (style ?? 'form') === 'form' && explode !== false) return undefined
  return 'is a list or an object in a form that is not written here'
}

function mapped(
  one: Node,
  { name, field, options }: { name: string; field: string; options: Schemas },
): MappedParameter {
  const schema = options.plain(one.schema)
  const description = textIn(one, 'description') ?? textIn(schema, 'description')
  return {
    name,
    field,
    place: one.in as MappedParameter['place'],
    schema: { ...schema, ...(description && { description }) },
    isRequired: one.in === 'path' || one.required === true,
    example: exampleOf(one, options),
  }
}

/** What the document gives as an example, of the parameter or of its schema. */
export function exampleOf(one: Node, { references }: Schemas): unknown {
  if (one.example !== undefined) return one.example
  const [first] = Object.values((one.examples ?? {}) as Node).map(example => references.follow(example))
  if (first?.value !== undefined) return first.value
  const schema = references.follow(one.schema)
  if (schema.example !== undefined) return schema.example
  const [listed] = Array.isArray(schema.examples) ? schema.examples : []
  return listed ?? schema.default
}
