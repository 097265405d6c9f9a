import type { AppError, ErrorCode } from '../../contracts/index.ts'
import { nextStep } from './next-step.ts'
import type { Hints, Session } from './session.ts'

/** What somebody can do about an error who is not the owner: what only the owner can do is not proposed. */
export function stepWithToken(error: AppError, hints: Hints, { from }: Pick<Session, 'from'>): string | undefined {
  if (AS_FOR_ALL.has(error.code)) return nextStep(error, hints, { from })
  // Nobody was reached at all.
  if (error.code === 'DEPENDENCY_UNAVAILABLE' && from === undefined)
    return 'If it listens elsewhere, put its address into QUARTERMASTER_URL.'
  return STEPS[error.code]
}

/** Those that lead to commands which everybody has who could run into them. */
const AS_FOR_ALL: ReadonlySet<ErrorCode> = new Set(['INPUT_INVALID', 'NAME_UNKNOWN', 'EDIT_CONFLICT'])

const STEPS: { readonly [K in ErrorCode]?: string } = {
  TOKEN_INVALID: 'Ask the owner for a token that counts, and put it into QUARTERMASTER_TOKEN.',
  TOOL_NOT_FOUND: 'See what you have: quartermaster do',
  TOOL_DISABLED: 'It comes back by itself when what it needs is there.',
  CONSENT_REQUIRED: 'Ask the owner to allow it.',
  DEPENDENCY_UNAVAILABLE: 'Try it again later.',
  OUTCOME_UNKNOWN: 'It may have happened. Look at what it changes before you run it again.',
}
