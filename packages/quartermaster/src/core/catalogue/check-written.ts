import type { z } from 'zod'
import { DECLARATION_SCHEMA, DeclarationFacts, Name, UnitFacts, UnitPath } from '../../contracts/index.ts'
import { type CheckContext, checkFields, ProblemList } from './checks.ts'
import { type Declaration, type Knowledge, type WrittenUnit } from './generation.ts'

const KNOWLEDGE_FIELDS = Object.keys(UnitFacts.shape)

/** Checks one Markdown unit of knowledge. A bad unit is left out, with all its problems reported. */
export function checkKnowledge(
  { path, front, body, lines }: WrittenUnit,
  context: CheckContext,
): Knowledge | undefined {
  const { kind, origin, deps } = context
  const subject = `unit:${path}`
  const problems = new ProblemList(origin.unit, [], 'error', lines?.fields)
  const named = UnitPath.safeParse(path)
  if (!named.success) problems.addIssues(subject, 'path', named.error.issues)
  checkFields(front, KNOWLEDGE_FIELDS, subject, problems)
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => KNOWLEDGE_FIELDS.includes(field)))
  const facts = UnitFacts.safeParse(known)
  const issues = facts.error?.issues.map(issue => plainIssue(issue, known)) ?? []
  problems.addIssues(subject, '', issues)
  context.problems.take(problems)
  if (problems.errors > 0 || !facts.success) return undefined
  const isBuiltin = kind === 'builtin'
  // The hash of this page alone, not of the whole unit: a reader may see only this page.
  const hash = deps.digest(JSON.stringify([path, facts.data, body, lines]))
  return Object.freeze({ ...origin, ...facts.data, path, isBuiltin, body, lines, hash })
}

type FactsIssue = z.core.$ZodIssue

/** Words an issue for people who write Markdown and do not know schemas. */
function plainIssue(issue: FactsIssue, known: Readonly<Record<string, unknown>>): FactsIssue {
  if (issue.code === 'custom') return issue
  const { path } = issue
  if (isMissing(known, path)) return { ...issue, message: 'is needed' }
  if (issue.code === 'invalid_value') return { ...issue, message: `must be one of ${issue.values.join(', ')}` }
  if (issue.code === 'invalid_type') return { ...issue, message: `must be ${TYPES[issue.expected] ?? issue.expected}` }
  if (issue.code === 'too_big') return { ...issue, message: `is longer than ${issue.maximum}` }
  if (issue.code === 'too_small') return { ...issue, message: 'is empty' }
  return issue
}

const TYPES: Readonly<Record<string, string>> = { string: 'a text', array: 'a list' }

const NO_FOLDER = 'is needed, or a folder around the file: it says which tools belong together'
/** A file of this name is the page of its folder. */
const INDEX = /[/\\]index\.md$/i
const NO_TOOL = 'is needed: "index.md" is the page of its folder, and that is in no other. Give the file another name'
const DECLARATION_FIELDS = Object.keys(DeclarationFacts.shape)

/**
 * Checks a declaration without its op. A wrong declaration keeps its name, if it has one, so that an agent that lists the tool
 * learns that it is wrong rather than unknown.
 */
export function checkDeclaration(
  { path, front, body, lines }: WrittenUnit,
  { origin, unitHash, problems: all }: CheckContext,
): Declaration | undefined {
  const problems = new ProblemList(origin.unit, [], 'error', lines?.fields)
  const subject = `declaration:${path}`
  const facts = readFacts(front, subject, problems)
  const names = path.split('/')
  const name = nameOrFallback(front.name, names.at(-1))
  const section = nameOrFallback(front.section, names.at(-2))
  const capability = nameOrFallback(front.capability, section)
  if (name === undefined && front.name === undefined)
    problems.add(subject, 'name', 'is needed: the name of the file is none that a tool can have')
  if (section === undefined && front.section === undefined)
    problems.add(subject, 'section', INDEX.test(origin.unit) ? NO_TOOL : NO_FOLDER)
  all.take(problems)
  if (name === undefined || section === undefined || capability === undefined) return undefined
  const sound = problems.errors > 0 ? undefined : facts
  return Object.freeze({ ...origin, path, name, capability, section, facts: sound, body, lines, hash: unitHash })
}

function readFacts(front: WrittenUnit['front'], subject: string, problems: ProblemList): DeclarationFacts | undefined {
  // The checks below hold for this version only.
  if (front.schema !== undefined && front.schema !== DECLARATION_SCHEMA) {
    const text = `is ${JSON.stringify(front.schema)}, and declarations are read in version ${DECLARATION_SCHEMA} here`
    problems.add(subject, 'schema', text, `Write "schema: ${DECLARATION_SCHEMA}", or update Quartermaster.`)
    return undefined
  }
  checkFields(front, DECLARATION_FIELDS, subject, problems)
  for (const field of ['parameters', 'fixed'])
    if (Object.hasOwn(Object(front[field]), PROTO))
      problems.add(subject, `${field}.${PROTO}`, 'is a name that nothing can have')
  const known = Object.fromEntries(Object.entries(front).filter(([field]) => DECLARATION_FIELDS.includes(field)))
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

function isMissing(known: Readonly<Record<string, unknown>>, path: readonly PropertyKey[]): boolean {
  return path.length === 1 && known[String(path[0])] === undefined
}

/** zod skips this key silently. */
const PROTO = '__proto__'

function nameOrFallback(said: unknown, otherwise: string | undefined): string | undefined {
  const name = Name.safeParse(said ?? otherwise)
  return name.success ? name.data : undefined
}
