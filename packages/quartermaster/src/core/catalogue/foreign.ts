import type { CapabilityResolver } from './capability.ts'
import { checkSchema, checkTexts } from './check-parts.ts'
import type { UnitPlace } from './check-place.ts'
import type { CatalogueCapability } from './generation.ts'

/**
 * A resolver that was not made by `defineCapability`: it says which tools there are and which MCP server has them.
 * It has nothing to call by itself.
 */
export function checkForeignResolver(resolver: CapabilityResolver, place: UnitPlace): CatalogueCapability | undefined {
  const subject = `capability:${String(resolver.key)}`
  const before = place.problems.errors
  checkTexts({ name: resolver.key, title: resolver.key, short: resolver.key }, subject, place.problems)
  for (const tool of resolver.tools) checkTexts(tool, subject, place.problems)
  const schema = resolver.configSchema
  const config = schema && checkSchema(schema, { subject, field: 'configSchema', side: 'input', root: 'object', place })
  if (place.problems.errors > before) return undefined
  return {
    ...place.origin,
    key: resolver.key,
    title: resolver.key,
    short: resolver.key,
    descriptors: resolver.tools.map(({ name, title, short }) => ({ name, title, short })),
    tools: [],
    prompts: [],
    resources: [],
    leftOut: [],
    unseen: undefined,
    inward: false,
    configSchema: config?.described,
    validateConfig: config?.validate,
    resolver,
    hash: place.deps.digest(JSON.stringify([resolver.key, resolver.tools, schema])),
    position: 0,
  }
}
