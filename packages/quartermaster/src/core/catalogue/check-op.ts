import { OpId, ToolFacts } from '../../contracts/index.ts'
import { checkFields, checkSchema } from './check-parts.ts'
import type { UnitPlace } from './check-place.ts'
import type { CatalogueOp } from './generation.ts'
import type { Op, OpFacts } from './op.ts'

/** What an op does not say is left to its declarations. */
const Facts = ToolFacts.pick({
  mutates: true,
  idempotent: true,
  retry: true,
  requires: true,
  consent: true,
  timeoutMs: true,
  maxResultBytes: true,
  asTask: true,
})
  .partial()
  .extend({ short: ToolFacts.shape.short })
const FUNCTIONS = ['check', 'dependencies', 'facts'] as const
const SCHEMAS = ['settings', 'input', 'output'] as const
const FIELDS = ['id', 'handler', 'revision', ...Object.keys(Facts.shape), ...FUNCTIONS, ...SCHEMAS]

/** Checks one op. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkOp(op: Op, place: UnitPlace): CatalogueOp | undefined {
  const { problems } = place
  const subject = `op:${String(op.id)}`
  const before = problems.errors
  checkFields(op, FIELDS, subject, problems)
  if (!Number.isInteger(op.revision ?? 1)) problems.add(subject, 'revision', 'must be a whole number')
  const id = OpId.safeParse(op.id)
  if (!id.success) problems.addIssues(subject, 'id', id.error.issues)
  const facts = Facts.safeParse(Object.fromEntries(Object.entries(op).filter(([field]) => field in Facts.shape)))
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  if (typeof op.handler !== 'function') problems.add(subject, 'handler', 'must be a function')
  for (const name of FUNCTIONS)
    if (op[name] !== undefined && typeof op[name] !== 'function') problems.add(subject, name, 'must be a function')
  const at = { subject, place, root: 'object' } as const
  const settings = op.settings && checkSchema(op.settings, { ...at, field: 'settings', side: 'input' })
  const input = op.input && checkSchema(op.input, { ...at, field: 'input', side: 'input' })
  if (op.output) checkSchema(op.output, { subject, place, field: 'output', side: 'output' })
  if (problems.errors > before || !facts.success) return undefined
  const { short, ...said } = facts.data
  return Object.freeze({
    ...place.origin,
    id: op.id,
    short,
    facts: said as OpFacts,
    settings,
    input,
    definition: op,
    hash: place.deps.digest([op.id, place.unitHash].join('\n')),
    code: [place.sources, op.revision ?? 1],
  })
}
