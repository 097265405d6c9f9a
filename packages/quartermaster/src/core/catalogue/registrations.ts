import { AppError } from '../../contracts/index.ts'
import { atOnce } from '../kernel/index.ts'
import { kindOf } from './brand.ts'
import type { Capability, CapabilityResolver } from './capability.ts'
import { type CheckDeps, type UnitPlace } from './check-place.ts'
import { type CheckedUnit, checkUnit } from './check-unit.ts'
import { checkForeignResolver } from './foreign.ts'
import type { Op } from './op.ts'
import { ProblemList } from './problem-list.ts'

/** The unit of a capability that was registered by the host program rather than loaded from a file. */
export function checkRegistered(resolver: CapabilityResolver, deps: CheckDeps): CheckedUnit {
  refuseOtherThings(resolver)
  const unit = `registered:${resolver.key}`
  const checked =
    kindOf(resolver) === 'capability'
      ? atOnce(checkOwn(resolver as Capability, unit, deps))
      : checkForeign(resolver, unit, deps)
  return withoutProblems(checked)
}

/** The same for an op. */
export function checkRegisteredOp(op: Op, deps: CheckDeps): CheckedUnit {
  if (kindOf(op) !== 'op')
    throw new AppError('DEFINITION_INVALID', 'What was registered is no op. Make it with registerOp.')
  const unit = `registered:${op.id}`
  const definitions = { capabilities: [], dependencies: [], injections: [], ops: [op] }
  return withoutProblems(atOnce(checkUnit({ id: unit, hash: unit, definitions }, SOURCE, deps)))
}

function withoutProblems(checked: CheckedUnit): CheckedUnit {
  if (checked.problems.length === 0) return checked
  const lines = checked.problems.map(problem => problem.message)
  throw new AppError('DEFINITION_INVALID', lines.join('\n'), { details: { problems: checked.problems } })
}

function refuseOtherThings(resolver: unknown): void {
  const given = resolver as Partial<CapabilityResolver> | null | undefined
  const isResolver = typeof given?.resolve === 'function' && Array.isArray(given.tools)
  const hasHandlers = isResolver && kindOf(given) === undefined && given.tools?.some(tool => 'handler' in Object(tool))
  if (isResolver && !hasHandlers) return
  const what = hasHandlers
    ? 'Its tools have handlers, so make it with defineCapability.'
    : 'It has no "tools" or no "resolve".'
  throw new AppError('DEFINITION_INVALID', `What was registered is no capability. ${what}`)
}

const SOURCE = { source: 'registered', kind: 'code' } as const

function checkOwn(capability: Capability, unit: string, deps: CheckDeps): Generator<void, CheckedUnit, void> {
  const definitions = { capabilities: [capability], dependencies: [], injections: [] }
  return checkUnit({ id: unit, hash: unit, definitions }, SOURCE, deps)
}

function checkForeign(resolver: CapabilityResolver, unit: string, deps: CheckDeps): CheckedUnit {
  const origin = { source: SOURCE.source, unit }
  const problems = new ProblemList(unit)
  const place: UnitPlace = { kind: SOURCE.kind, origin, unitHash: unit, problems, deps }
  const capability = checkForeignResolver(resolver, place)
  const capabilities = capability ? [capability] : []
  return {
    ...origin,
    kind: SOURCE.kind,
    hash: unit,
    capabilities,
    injections: [],
    dependencies: [],
    consentOperations: [],
    knowledge: [],
    ops: [],
    declarations: [],
    claims: [],
    problems: problems.all,
  }
}
