import { DECLARATION_SCHEMA, DeclarationFacts, Name } from '../../contracts/index.ts'
import { checkFields } from './check-parts.ts'
import type { UnitPlace } from './check-place.ts'
import type { Declaration } from './declaration.ts'
import { ProblemList } from './problem-list.ts'
import type { WrittenUnit } from './written.ts'

const NO_FOLDER = 'is needed, or a folder around the file: it says which tools belong together'
/** A file of this name stands for its folder. */
const INDEX = /[/\\]index\.md$/i
const NO_TOOL = 'is needed: "index.md" is the page of its folder, and that is in no other. Give the file another name'
const FIELDS = Object.keys(DeclarationFacts.shape)

/**
 * Checks what a declaration says by itself. One that is wrong is kept by name as far as it has one, so that an agent that
 * lists its tool is told of a tool that is wrong, and not of one that never was.
 */
export function checkDeclaration(written: WrittenUnit, place: UnitPlace): Declaration | undefined {
  const problems = new ProblemList(place.origin.unit, [], 'error', written.lines?.fields)
  const declaration = checkWritten(written, place, problems)
  place.problems.take(problems)
  return declaration
}

function checkWritten(
  { path, front, body, lines }: WrittenUnit,
  { origin, unitHash }: UnitPlace,
  problems: ProblemList,
): Declaration | undefined {
  const subject = `declaration:${path}`
  const facts = readFacts(front, subject, problems)
  const names = path.split('/')
  const name = nameOf(front.name, names.at(-1))
  const section = nameOf(front.section, names.at(-2))
  const capability = nameOf(front.capability, section)
  if (name === undefined && front.name === undefined)
    problems.add(subject, 'name', 'is needed: the name of the file is none that a tool can have')
  if (section === undefined && front.section === undefined)
    problems.add(subject, 'section', INDEX.test(origin.unit) ? NO_TOOL : NO_FOLDER)
  if (name === undefined || section === undefined || capability === undefined) return undefined
  const sound = problems.errors > 0 ? undefined : facts
  return Object.freeze({ ...origin, path, name, capability, section, facts: sound, body, lines, hash: unitHash })
}

function readFacts(front: WrittenUnit['front'], subject: string, problems: ProblemList): DeclarationFacts | undefined {
  // Of another version nothing that follows would be true.
  if (front.schema !== undefined && front.schema !== DECLARATION_SCHEMA) {
    const text = `is ${JSON.stringify(front.schema)}, and declarations are read in version ${DECLARATION_SCHEMA} here`
    problems.add(subject, 'schema', text, `Write "schema: ${DECLARATION_SCHEMA}", or update Quartermaster.`)
    return undefined
  }
  checkFields(front, FIELDS, subject, problems)
  for (const field of ['parameters', 'fixed']) checkNames(front[field], { subject, field, problems })
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => FIELDS.includes(field)))
  const facts = DeclarationFacts.safeParse(known)
  if (facts.success) return facts.data
  for (const issue of facts.error.issues) {
    const { path } = issue
    if (path[0] === 'schema')
      problems.add(subject, 'schema', 'is needed', `Write "schema: ${DECLARATION_SCHEMA}" at its head.`)
    else problems.addIssues(subject, '', [isMissing(known, path) ? { path, message: 'is needed' } : issue])
  }
  return undefined
}

function isMissing(known: Record<string, unknown>, path: readonly PropertyKey[]): boolean {
  return path.length === 1 && known[String(path[0])] === undefined
}

/** The library passes over this one without a word. */
const PASSED_OVER = '__proto__'

interface NamesAt {
  readonly subject: string
  readonly field: string
  readonly problems: ProblemList
}

function checkNames(values: unknown, { subject, field, problems }: NamesAt): void {
  if (typeof values === 'object' && values !== null && Object.hasOwn(values, PASSED_OVER))
    problems.add(subject, `${field}.${PASSED_OVER}`, 'is a name that nothing can have')
}

/** What is said, or what stands in for it, where it is a name. */
function nameOf(said: unknown, otherwise: string | undefined): string | undefined {
  const name = Name.safeParse(said ?? otherwise)
  return name.success ? name.data : undefined
}
