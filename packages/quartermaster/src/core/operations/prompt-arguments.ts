import { AppError, type Issue, issueText } from '../../contracts/index.ts'
import type { Prompt } from '../catalogue/index.ts'
import { didYouMean } from '../kernel/index.ts'

/** Checks the arguments of a prompt completely and gives what its `render` gets. */
export function checkArguments(prompt: Prompt, given: unknown): Readonly<Record<string, string>> {
  const values = new Map<string, unknown>(Object.entries(Object(given ?? {})))
  const names = prompt.arguments.map(({ name }) => name)
  const issues = [
    ...prompt.arguments.filter(({ name, required }) => required && !values.has(name)).map(({ name }) => missing(name)),
    ...[...values].flatMap(([name, value]) => issueWith(name, value, names)),
  ]
  if (issues.length === 0) return Object.fromEntries(values) as Record<string, string>
  const lines = issues.map(issueText)
  throw new AppError('INPUT_INVALID', `The arguments of the prompt "${prompt.name}" are wrong. ${lines.join(' ')}`, {
    details: { issues },
  })
}

function missing(name: string): Issue {
  return { path: [name], message: 'is required.' }
}

function issueWith(name: string, value: unknown, names: readonly string[]): Issue[] {
  if (!names.includes(name)) return [{ path: [name], message: `is not an argument.${didYouMean(name, names)}` }]
  return typeof value === 'string' ? [] : [{ path: [name], message: 'must be text.' }]
}
