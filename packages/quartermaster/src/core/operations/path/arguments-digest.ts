import { AppError, issueText } from '../../../contracts/index.ts'
import type { Tool } from '../../catalogue/index.ts'
import { canonicalJson, type Digest } from '../../kernel/index.ts'

/**
 * The digest of what a call was given. What is digested is what a person is shown, and what is run again after a wait, so
 * it has to be all that is run now: a number that JSON cannot say, such as 1e400, would be null there. Throws
 * `INPUT_INVALID`. (-0 is 0 there, and nothing that a tool is asked for hangs on that.)
 */
export function digestOf(tool: Tool, input: unknown, digest: Digest): string {
  const text = textOf(tool, input)
  // Each of them was written as null: the others need no second look.
  const path = text.includes('null') ? endlessIn(input, []) : undefined
  if (path === undefined) return digest(text)
  const issue = { path, message: 'The number is too large, or none at all.' }
  throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" are wrong. ${issueText(issue)}`, {
    details: { issues: [issue] },
  })
}

function textOf(tool: Tool, input: unknown): string {
  try {
    return canonicalJson(input ?? {})
  } catch (error) {
    throw new AppError('INPUT_INVALID', `The arguments of "${tool.name}" cannot be written as JSON.`, {
      cause: error,
    })
  }
}

type Path = readonly string[]

/** Where the first number is that is not finite. It was written before, so that there are no circles. */
function endlessIn(value: unknown, path: Path): Path | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : path
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    const found = endlessIn(item, [...path, key])
    if (found) return found
  }
  return undefined
}
