import { AppError, type Issue, issueText } from '../../../contracts/index.ts'
import type { Prompt } from '../../catalogue/index.ts'
import { didYouMean, type FoundIssue, fewIssues } from '../../kernel/index.ts'

/** Checks the arguments of a prompt completely and gives what its `render` gets. */
export function checkArguments(prompt: Prompt, given: unknown): Readonly<Record<string, string>> {
  const values = new Map<string, unknown>(Object.entries(Object(given ?? {})))
  const names = prompt.arguments.map(({ name }) => name)
  const found = [
    ...prompt.arguments.filter(({ name, required }) => required && !values.has(name)).map(({ name }) => missing(name)),
    ...[...values].flatMap(([name, value]) => issueWith(name, value, names)),
  ]
  if (found.length === 0) return Object.fromEntries(values) as Record<string, string>
  const issues = fewIssues(found).map(issue => suggesting(issue, names))
  const lines = issues.map(issueText)
  throw new AppError('INPUT_INVALID', `The arguments of the prompt "${prompt.name}" are wrong. ${lines.join(' ')}`, {
    details: { issues },
  })
}

function missing(name: string): FoundIssue {
  return { path: [name], message: 'is missing (a string).' }
}

function issueWith(name: string, value: unknown, names: readonly string[]): FoundIssue[] {
  if (!names.includes(name)) return [{ path: [name], message: NO_ARGUMENT }]
  return typeof value === 'string' ? [] : [{ path: [name], message: 'must be a string.' }]
}

const NO_ARGUMENT = 'is not an argument.'

/** Looked for only where it will be read: it takes longer than all the rest. */
function suggesting({ path, message }: Issue, names: readonly string[]): Issue {
  return message === NO_ARGUMENT
    ? { path, message: `${message}${didYouMean(String(path[0]), names)}` }
    : { path, message }
}
