import { AppError } from '../../contracts/index.ts'

/** What a tool is called with: nothing at all is an empty object, and what is no object is refused in the same words everywhere. */
export function inputObject(tool: string, input: unknown): Record<string, unknown> {
  const given = input ?? {}
  if (typeof given === 'object' && !Array.isArray(given)) return given as Record<string, unknown>
  const message = `must be an object, not ${Array.isArray(given) ? 'an array' : `a ${typeof given}`}.`
  throw new AppError('INPUT_INVALID', `The arguments of "${tool}" ${message}`, {
    details: { issues: [{ path: [], message }] },
  })
}
