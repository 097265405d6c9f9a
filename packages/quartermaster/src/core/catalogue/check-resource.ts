import { ResourceFacts, ResourceMcpExtras, UpstreamResourceFacts } from '../../contracts/index.ts'
import { canonicalJson, didYouMean } from '../kernel/index.ts'
import { checkMcp } from './check-mcp.ts'
import { checkFields, unionOf } from './check-parts.ts'
import type { Bundle, UnitPlace } from './check-place.ts'
import type { Resource } from './generation.ts'
import type { ProblemList } from './problem-list.ts'
import type { Suggest } from './reading.ts'
import type { AnyResource } from './resource.ts'
import { parseUriTemplate } from './uri-template.ts'

const FIELDS = [...Object.keys(ResourceFacts.shape), 'suggest', 'read', 'watch', 'codeHash']

/** Checks one resource completely. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkResource(definition: AnyResource, bundle: Bundle, place: UnitPlace): Resource | undefined {
  const { problems } = place
  const subject = `resource:${String(definition?.uri ?? definition?.uriTemplate ?? definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from defineResource')
    return undefined
  }
  checkFields(definition, FIELDS, subject, problems)
  const mcp = checkMcp(definition.mcp, ResourceMcpExtras, { subject, place })
  const schema = place.kind === 'upstream' ? UpstreamResourceFacts : ResourceFacts
  const facts = schema.safeParse({ ...withDefaults(definition, bundle), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const address = facts.success ? addressOf(facts.data) : undefined
  const suggest = checkSuggest(definition.suggest ?? {}, address?.params, subject, problems)
  if (typeof definition.read !== 'function') problems.add(subject, 'read', 'must be a function')
  if (!['function', 'undefined'].includes(typeof definition.watch)) problems.add(subject, 'watch', 'must be a function')
  if (problems.errors > before || !facts.success || !address) return undefined
  return Object.freeze({
    ...facts.data,
    ...address,
    ...place.origin,
    capability: bundle.key,
    claimedAt: place.claimed?.get(address.key),
    read: definition.read.bind(definition) as Resource['read'],
    watch: definition.watch?.bind(definition) as Resource['watch'],
    suggest,
    hash: place.deps.digest(canonicalJson({ ...facts.data, codeHash: definition.codeHash ?? place.unitHash })),
  })
}

function withDefaults(resource: AnyResource, bundle: Bundle): object {
  return {
    name: resource.name,
    title: resource.title ?? resource.name,
    short: resource.short ?? '',
    icon: resource.icon,
    mimeType: resource.mimeType,
    uri: resource.uri,
    uriTemplate: resource.uriTemplate,
    requires: unionOf(bundle.requires, resource.requires ?? []),
  }
}

function addressOf({ uri, uriTemplate }: ResourceFacts): Pick<Resource, 'key' | 'match' | 'params'> {
  if (uriTemplate !== undefined) return { key: uriTemplate, ...parseUriTemplate(uriTemplate) }
  return { key: uri ?? '', params: [], match: other => (other === uri ? {} : undefined) }
}

function checkSuggest(
  given: unknown,
  params: readonly string[] | undefined,
  subject: string,
  problems: ProblemList,
): Map<string, Suggest> {
  if (typeof given !== 'object' || given === null)
    problems.add(subject, 'suggest', 'must have a function for each name')
  const suggest = new Map<string, Suggest>()
  for (const [name, helper] of Object.entries(Object(given) as Record<string, unknown>)) {
    const field = `suggest.${name}`
    if (params && !params.includes(name))
      problems.add(subject, field, `is not a name of its template.${didYouMean(name, params)}`)
    if (typeof helper === 'function') suggest.set(name, helper.bind(given))
    else if (helper !== undefined) problems.add(subject, field, 'must be a function')
  }
  return suggest
}
