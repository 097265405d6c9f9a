import type { Health } from '../health/index.ts'
import type { Digest } from '../kernel/index.ts'
import type { Skill } from '../knowledge/index.ts'
import type { PromptGrant, Resolution, ResourceGrant } from './grants.ts'

/** The prompts and resources that one agent can see now. */
export interface ReadingsView {
  /** Granted, and what they need is there; in order of definition. */
  readonly prompts: readonly PromptGrant[]
  /** Changes whenever a client that listed the prompts should list them again. */
  readonly promptsVersion: string
  /** Those at one address and those of a template. */
  readonly resources: readonly ResourceGrant[]
  /** Changes whenever a client that listed the resources should list them again. */
  readonly resourcesVersion: string
  /** The directions among the resources, as skills. */
  readonly skills: readonly Skill[]
}

/** Lays health over what a resolution gives to read. */
export function renderReadings(
  resolution: Pick<Resolution, 'prompts' | 'resources' | 'skills'>,
  { health, digest }: { health: Pick<Health, 'availability'>; digest: Digest },
): ReadingsView {
  const prompts = [...resolution.prompts.values()].filter(({ prompt }) => health.availability(prompt).active)
  const resources = [...resolution.resources.values()].filter(({ resource }) => health.availability(resource).active)
  const versionOf = (hashes: readonly string[]) => digest(hashes.join('\n')).slice(0, 16)
  return {
    prompts,
    promptsVersion: versionOf(prompts.map(({ prompt }) => prompt.hash)),
    resources,
    resourcesVersion: versionOf(resources.map(({ resource }) => resource.hash)),
    skills: resolution.skills,
  }
}

/** The resource at this address: the one that is exactly there, else the first whose template fits. */
export function findResource(
  resources: Resolution['resources'],
  uri: string,
): { grant: ResourceGrant; params: Readonly<Record<string, string>> } | undefined {
  const exact = resources.get(uri)
  if (exact?.resource.uri === uri) return { grant: exact, params: {} }
  for (const grant of resources.values()) {
    const params = grant.resource.uriTemplate === undefined ? undefined : grant.resource.match(uri)
    if (params) return { grant, params }
  }
  return undefined
}
