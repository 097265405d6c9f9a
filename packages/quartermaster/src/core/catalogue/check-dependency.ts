import { z } from 'zod'
import { Name } from '../../contracts/index.ts'
import { canonicalJson } from '../kernel/index.ts'
import { checkFields, type UnitPlace } from './checks.ts'
import type { DependencyDefinition, Probe } from './definitions.ts'
import type { Dependency } from './generation.ts'

const Facts = z.object({
  name: Name,
  title: z.string().min(1).max(100).optional(),
  dependsOn: z.array(Name).optional(),
  timeoutMs: z.number().int().min(10).max(60_000).optional(),
  recoveringMs: z.number().int().min(0).max(600_000).optional(),
  watchIntervalMs: z.number().int().min(1_000).max(86_400_000).optional(),
  fix: z.string().min(1).max(500).optional(),
})
const FIELDS = [...Object.keys(Facts.shape), 'probe', 'onChange', 'isUsed']

/** Checks one dependency; `undefined` after having said what is wrong. */
export function checkDependency(definition: DependencyDefinition, place: UnitPlace): Dependency | undefined {
  const { problems, deps } = place
  const subject = `dependency:${String(definition.name)}`
  const before = problems.errors
  checkFields(definition, FIELDS, subject, problems)
  const facts = Facts.safeParse(definition)
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const probe = probeOf(definition.probe)
  if (!probe) problems.add(subject, 'probe', 'must be a function, or one of the ready-made probes')
  const { onChange, isUsed } = definition
  if (onChange !== undefined && typeof onChange !== 'function') problems.add(subject, 'onChange', 'must be a function')
  if (isUsed !== undefined && typeof isUsed !== 'function') problems.add(subject, 'isUsed', 'must be a function')
  if (problems.errors > before || !facts.success || !probe) return undefined
  const { name, title, dependsOn = [], timeoutMs, recoveringMs, watchIntervalMs, fix } = facts.data
  // A ready-made probe is known by what it looks at; the code of a custom one only by its file.
  const describe = probe.describe ? canonicalJson(probe.describe) : `custom ${place.unitHash}`
  const hash = deps.digest(canonicalJson({ name, dependsOn, timeoutMs, recoveringMs, describe }))
  return {
    ...place.origin,
    name,
    title: title ?? name,
    dependsOn,
    timeoutMs,
    recoveringMs,
    watchIntervalMs,
    fix,
    probe: probe.run,
    onChange: onChange?.bind(definition),
    isUsed: isUsed?.bind(definition),
    describe,
    hash,
  }
}

function probeOf(
  probe: DependencyDefinition['probe'],
): { run: Probe['run']; describe?: Probe['describe'] } | undefined {
  if (typeof probe === 'function') return { run: probe }
  return typeof probe?.run === 'function' ? probe : undefined
}
