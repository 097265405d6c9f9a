import { UnitFacts, UnitPath } from '../../contracts/index.ts'
import { checkFields } from './check-parts.ts'
import type { UnitPlace } from './check-place.ts'
import type { Knowledge } from './generation.ts'
import type { WrittenUnit } from './written.ts'

const FIELDS = Object.keys(UnitFacts.shape)

/** Checks one piece of written knowledge. A bad one is left out, with everything that is wrong with it in the problems. */
export function checkKnowledge({ path, front, body, lines }: WrittenUnit, place: UnitPlace): Knowledge | undefined {
  const { kind, origin, problems, unitHash } = place
  const subject = `unit:${path}`
  const before = problems.errors
  const named = UnitPath.safeParse(path)
  if (!named.success) problems.addIssues(subject, 'path', named.error.issues)
  checkFields(front, FIELDS, subject, problems)
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => FIELDS.includes(field)))
  const facts = UnitFacts.safeParse(known)
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  if (problems.errors > before || !facts.success) return undefined
  const isBuiltin = kind === 'builtin'
  return Object.freeze({ ...origin, ...facts.data, path, isBuiltin, body, lines, hash: unitHash })
}
